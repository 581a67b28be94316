#pragma once
// Reads the platform that an artifact declares. Layer: verify.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/load/isa_level.h"
#include "verify/elf/elf_tree_map.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::verify {

enum class DeclarationSource : std::uint8_t { kNone, kWheel, kConda };

struct DeclaredPlatform {
  DeclarationSource kind = DeclarationSource::kNone;
  std::string words;  ///< For messages: "the tag 'manylinux_2_28_x86_64'".
  std::optional<GlibcVersion>
      glibc;          ///< The oldest C library that installers will accept; nullopt: not said.
  bool musl = false;  ///< A wheel for musl systems only.
  std::set<std::string, std::less<>> machines;  ///< "x86_64"; empty: not said.
  elf::IsaLevel isa = elf::IsaLevel::kBaseline;
  /// kConda: name of a dependency → its version specs, "" for any.
  std::map<std::string, std::vector<std::string>, std::less<>> specs = {};
};

/// Platform declared by a wheel's tags: it is installed where any of them fits, so the lowest counts.
DeclaredPlatform DeclaredByTags(const PlatformPolicies& policies, const std::vector<std::string>& platforms);

/// From a conda package's 'depends' and 'constrains' texts: '__glibc >=2.28', '__archspec 1=x86_64_v3',
/// '_x86_64-microarch-level >=3'; and by its subdir, "linux-64".
DeclaredPlatform DeclaredBySpecs(const std::vector<std::string>& specs, const std::string& subdir);

/// From an unpacked wheel (*.dist-info/WHEEL) or conda package (info/index.json); kNone for any other tree.
/// Unreadable files declare nothing: the checks of their format report them. Errors: kIo.
Result<DeclaredPlatform> DeclaredByTree(Env& env, const ElfTree& tree, const PlatformPolicies& policies);

}  // namespace ptpkg::verify
