#pragma once
// System requirements of one ELF file. Layer: verify.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/load/isa_level.h"
#include "elf/symbols/symbol_versions.h"
#include "verify/wheel/platform_policies.h"

namespace ptpkg::verify {

struct FileNeeds {
  std::string file;
  std::string machine;                ///< "x86_64"; "" for device code and other systems.
  std::optional<GlibcVersion> glibc;  ///< The C library that it requires; nullopt: any.
  std::optional<GlibcVersion>
      policy;  ///< The lowest manylinux policy that admits it; nullopt: see fits_policy.
  /// False when it requires a version that no policy admits; then `policy` is nullopt.
  bool fits_policy = true;
  bool uses_glibc = false;
  bool uses_musl = false;
  elf::IsaLevel isa = elf::IsaLevel::kUnstated;
  std::vector<elf::RequiredVersion>
      set_by;                        ///< The versions that set `policy`, or `glibc` where no policy applies.
  std::vector<std::string> symbols;  ///< "memcpy@GLIBC_2.14", some symbols bound to `set_by`.
  /// Unversioned names that set `policy`: libraries that older policies do not list ("libexpat.so.1"), and
  /// symbols that are not part of a library's interface ("zcalloc of libz.so.1").
  std::vector<std::string> set_by_names = {};
  /// Among these, the symbols that no policy for the file's C library admits.
  std::vector<std::string> internal_symbols = {};

  /// NEEDED → the files of the tree that provide it, by path; none when it comes from elsewhere or is
  /// missing.
  std::map<std::string, std::set<std::string>> needed = {};

  /// "manylinux_2_17_x86_64"; "" when no policy admits it or none is known for the machine.
  [[nodiscard]] std::string PolicyTag() const;
  /// Names that set `policy` or fit none, for people: `symbols`, or the versions if no symbol was looked up,
  /// then `set_by_names`: "'memcpy@GLIBC_2.14', 'libexpat.so.1'".
  [[nodiscard]] std::string LimitingNames() const;
};

}  // namespace ptpkg::verify
