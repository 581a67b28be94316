#include "verify/policy_libraries.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text.h"
#include "support/yaml.h"
#include "verify/elf_tables.h"
#include "verify/policy_libraries_yaml.h"  // generated from data/policy_libraries.yaml

namespace ptpkg::verify {
namespace {

std::vector<std::string> GlobsIn(std::string_view text) {
  std::vector<std::string> globs = Split(text, ' ');
  std::erase(globs, "");
  return globs;
}

}  // namespace

Result<PolicyLibraries> PolicyLibraries::Parse(std::string_view text, const std::string& name) {
  PTPKG_TRY(const YamlNode root, ParseYaml(text, name));
  const YamlNode* manylinux = root.Find("manylinux");
  const YamlNode* musllinux = root.Find("musllinux");
  if (manylinux == nullptr || musllinux == nullptr) {
    return Error(ErrorCode::kInvalidInput, "a table of policies' libraries has 'manylinux' and 'musllinux'")
        .At(root.span);
  }
  PolicyLibraries libraries;
  for (const YamlEntry& entry : manylinux->entries) {
    const auto policy = GlibcVersion::Parse(entry.key);
    if (!policy) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is no version of glibc", entry.key))
          .At(entry.key_span);
    }
    libraries.manylinux_[*policy] = GlobsIn(entry.value.scalar);
  }
  libraries.musllinux_ = GlobsIn(musllinux->scalar);
  return libraries;
}

Result<PolicyLibraries> PolicyLibraries::BuiltIn() {
  return Parse(kPolicyLibrariesYaml, "policy_libraries.yaml");
}

bool PolicyLibraries::IsOfManylinux(std::string_view library,
                                    const std::optional<GlibcVersion>& policy) const {
  return std::any_of(manylinux_.begin(), manylinux_.end(), [&](const auto& row) {
    return (!policy || row.first <= *policy) && MatchesAny(row.second, library);
  });
}

bool PolicyLibraries::IsOfMusllinux(std::string_view library) const {
  return MatchesAny(musllinux_, library);
}

}  // namespace ptpkg::verify
