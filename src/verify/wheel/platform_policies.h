#pragma once
// System requirements allowed by manylinux policies. Layer: verify. Source: PEP 600, data/manylinux.yaml.

#include <compare>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "elf/read/image.h"
#include "support/result.h"

namespace ptpkg::verify {

struct GlibcVersion {
  unsigned major = 2;
  unsigned minor = 0;

  [[nodiscard]] std::string str() const;
  /// "2.17"; nullopt for anything but two numbers below 1000.
  static std::optional<GlibcVersion> Parse(std::string_view text);
  auto operator<=>(const GlibcVersion&) const = default;
};

/// The name that platform tags and the policies give to the machine of an image: "x86_64", "ppc64le"; "" for
/// one that Linux wheels have no name for (device code, for instance).
std::string_view MachineName(std::uint16_t machine, elf::ByteOrder order);

/// True for machines that run no Linux: GPUs, signal processors and the kernel's BPF. Their files travel
/// inside packages for any machine.
bool IsDeviceMachine(std::uint16_t machine);

class PlatformPolicies {
 public:
  /// Result for one required version.
  struct Verdict {
    bool judged = false;                 ///< False: the policies do not cover the family or machine.
    std::optional<GlibcVersion> policy;  ///< The lowest policy that allows it; nullopt: none does.
  };

  /// Errors: kInvalidInput with the place in `name` (not a table of this shape).
  static Result<PlatformPolicies> Parse(std::string_view text, const std::string& name);
  /// The table built into the program.
  static Result<PlatformPolicies> BuiltIn();

  /// `version`: "GLIBC_2.14". A GLIBC version above the table's last is its own policy, as PEP 600 has it; so
  /// is "GLIBC_ABI_GNU2_TLS" (GlibcOf).
  [[nodiscard]] Verdict Judge(std::string_view machine, std::string_view version) const;
  /// The lowest policy of `machine`: what a file gets that requires nothing. nullopt for an unknown machine.
  [[nodiscard]] std::optional<GlibcVersion> Lowest(std::string_view machine) const;
  /// "manylinux_2_17_x86_64", "manylinux2014_x86_64" → 2.17; nullopt for other platforms.
  [[nodiscard]] std::optional<GlibcVersion> PolicyOfTag(std::string_view platform) const;
  /// Baseline that conda packages may assume.
  [[nodiscard]] GlibcVersion conda_baseline() const { return conda_baseline_; }

 private:
  struct Machine {
    GlibcVersion lowest;
    GlibcVersion highest;
    std::map<std::string, GlibcVersion, std::less<>> versions;  ///< "GLIBC_2.14" → policy
    std::map<std::string, bool, std::less<>> families;          ///< "GLIBC"
  };
  std::map<std::string, Machine, std::less<>> machines_;
  std::map<std::string, GlibcVersion, std::less<>> aliases_;
  GlibcVersion conda_baseline_;
};

/// The C library version that `version` ("GLIBC_2.14", "GLIBC_ABI_DT_RELR") asks for; nullopt for other
/// families and for GLIBC_PRIVATE.
std::optional<GlibcVersion> GlibcOf(std::string_view version);

/// The machine at the end of a Linux platform tag: "manylinux_2_17_ppc64le", "linux_x86_64",
/// "musllinux_1_2_i686";
/// "" for others ("any", "win_amd64").
std::string_view MachineOfTag(std::string_view platform);

/// False for a tag of Linux, macOS, Windows, iOS or Android that pip offers on no such system: an unknown
/// machine, a number with leading zeros, glibc before 2.5 (2.17 on machines other than x86_64 and i686), a
/// musl other than 1, macOS 11.1. True for other systems. Source: packaging 26.3.
bool IsPossiblePlatform(std::string_view platform);

/// True if the Python package index accepts an upload of a wheel with this one platform tag. Source:
/// pypi/warehouse, warehouse/forklift/legacy.py, _valid_platform_tag, as of 2026-08-19.
bool PyPiAcceptsPlatform(std::string_view platform);

}  // namespace ptpkg::verify
