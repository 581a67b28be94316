#include "verify/wheel/policy_libraries.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"
#include "verify/policy_libraries_yaml.h"  // generated from data/policy_libraries.yaml

namespace ptpkg::verify {
namespace {

std::vector<std::string> GlobsIn(std::string_view text) {
  std::vector<std::string> globs = Split(text, ' ');
  std::erase(globs, "");
  return globs;
}

constexpr std::string_view kNever = "never";

Error NoVersion(const YamlEntry& entry) {
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a glibc version", entry.key))
      .At(entry.key_span);
}

}  // namespace

Result<PolicyLibraries::Symbols> PolicyLibraries::ParseSymbols(const YamlNode* table) {
  Symbols symbols;
  if (table == nullptr) return symbols;
  for (const YamlEntry& library : table->entries) {
    for (const YamlEntry& entry : library.value.entries) {
      // "never" stays nullopt: no policy admits the symbol.
      const auto policy = GlibcVersion::Parse(entry.key);
      if (!policy && entry.key != kNever) return NoVersion(entry);
      for (const std::string& symbol : GlobsIn(entry.value.scalar)) symbols[library.key][symbol] = policy;
    }
  }
  return symbols;
}

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
    if (!policy) return NoVersion(entry);
    libraries.manylinux_[*policy] = GlobsIn(entry.value.scalar);
  }
  libraries.musllinux_ = GlobsIn(musllinux->scalar);
  if (const YamlNode* internal = root.Find("internal_symbols"); internal != nullptr) {
    PTPKG_TRY(libraries.internal_manylinux_, ParseSymbols(internal->Find("manylinux")));
    PTPKG_TRY(libraries.internal_musllinux_, ParseSymbols(internal->Find("musllinux")));
  }
  return libraries;
}

Result<PolicyLibraries> PolicyLibraries::BuiltIn() {
  return Parse(kPolicyLibrariesYaml, "policy_libraries.yaml");
}

bool PolicyLibraries::IsOfManylinux(std::string_view library,
                                    const std::optional<GlibcVersion>& policy) const {
  return std::any_of(manylinux_.begin(), manylinux_.end(), [&](const auto& row) {
    // A policy includes the libraries of all older ones.
    return (!policy || row.first <= *policy) && MatchesAnyGlob(row.second, library);
  });
}

bool PolicyLibraries::IsOfMusllinux(std::string_view library) const {
  return MatchesAnyGlob(musllinux_, library);
}

std::optional<GlibcVersion> PolicyLibraries::OldestManylinux(std::string_view library) const {
  for (const auto& [policy, globs] : manylinux_) {
    if (MatchesAnyGlob(globs, library)) return policy;
  }
  return std::nullopt;
}

std::vector<std::string> PolicyLibraries::InternalSymbols(const std::string& library) const {
  std::vector<std::string> names;
  // Both tables, because the C library of a file is known only after its symbols have been read.
  for (const Symbols* table : {&internal_manylinux_, &internal_musllinux_}) {
    const auto symbols = table->find(library);
    if (symbols == table->end()) continue;
    for (const auto& [name, policy] : symbols->second) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

PolicyLibraries::Forbidden PolicyLibraries::FindForbiddenSymbol(const std::string& library,
                                                                const std::string& symbol, bool musl) const {
  const Symbols& table = musl ? internal_musllinux_ : internal_manylinux_;
  const auto symbols = table.find(library);
  if (symbols == table.end()) return {};
  const auto found = symbols->second.find(symbol);
  if (found == symbols->second.end()) return {};
  return {.forbidden = true, .until = found->second};
}

}  // namespace ptpkg::verify
