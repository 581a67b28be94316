#include "verify/elf/load_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <map>

#include "support/text/globs.h"
#include "support/text/text.h"
#include "verify/elf/elf_tables.h"
#include "verify/file_findings.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kRebuild = "link the file again, or fetch an undamaged copy";

std::string_view IdOf(elf::LoadFault::Part part) {
  static constexpr std::array<std::string_view, 5> kIds = {"elf-header", "elf-segments", "elf-dynamic",
                                                           "elf-relocation", "elf-start"};
  return kIds.at(static_cast<std::size_t>(part));
}

void CheckFaults(const ElfMember& member, FileFindings findings) {
  std::map<std::string_view, std::vector<std::string>> by_id;
  // One finding per part: a damaged header usually has several faults with one cause.
  for (const elf::LoadFault& fault : member.faults) by_id[IdOf(fault.part)].push_back(fault.message);
  for (const auto& [id, messages] : by_id) {
    findings.Add(std::string(id), Severity::kError,
                 fmt::format("ld.so cannot load the file: {}", Join(messages, "; ")), std::string(kRebuild));
  }
}

void CheckOpening(const ElfMember& member, FileFindings findings) {
  if (IsProgram(member)) return;
  // Both flags count when ld.so loads the file. The kernel starts a program without looking at them.
  if ((member.facts.flags_1 & elf::kFlag1NoOpen) != 0) {
    findings.Add("elf-no-dlopen", Severity::kError,
                 "has the flag DF_1_NOOPEN, so dlopen and Python's import fail", "link without -z nodlopen");
  }
  if ((member.facts.flags_1 & elf::kFlag1Pie) != 0) {
    findings.Add(
        "elf-no-dlopen", Severity::kError,
        "has the flag DF_1_PIE: ld.so says \"cannot dynamically load position-independent executable\"",
        "link with -shared, without -pie");
  }
}

void CheckFilters(const ElfTree& tree, std::size_t index, const ResolvedLibraries& loads,
                  std::vector<Finding>& list) {
  const ElfMember& member = tree.members[index];
  for (const ElfFilter& filter : member.filters) {
    const NeedOutcome& outcome = loads.Of(index, filter.name);
    // ld.so searches a filtee like a NEEDED library. It fails without a DT_FILTER, and continues without a
    // DT_AUXILIARY.
    const bool is_there = !outcome.missing && outcome.missing_where.empty() && !outcome.refused;
    if (is_there || MatchesAnyGlob(SystemLibraries(), filter.name)) continue;
    FileFindings(list, member)
        .Add("elf-filter", filter.is_auxiliary ? Severity::kWarning : Severity::kError,
             fmt::format("{} names '{}', which is not on the search path",
                         filter.is_auxiliary ? "DT_AUXILIARY" : "DT_FILTER", filter.name),
             "pack the library into a directory of the search path, or link without -F and -f");
  }
}

/// The loader that programs of glibc have on the processor of `member`; "" where several are in use.
std::string_view OnlyLoaderFor(const ElfMember& member) {
  const bool is_64 = member.elf_class == elf::ElfClass::k64;
  if (member.machine == elf::kMachineX8664 && is_64) return "/lib64/ld-linux-x86-64.so.2";
  if (member.machine == elf::kMachineAarch64 && is_64) return "/lib/ld-linux-aarch64.so.1";
  return member.machine == elf::kMachine386 ? "/lib/ld-linux.so.2" : "";
}

/// Checks the path of each C library's loader, which is the same on every distribution.
void CheckInterpreter(const ElfMember& member, FileFindings findings) {
  constexpr std::array<std::string_view, 12> kLoaders = {"/lib64/ld-linux-x86-64.so.2",
                                                         "/lib/ld-linux.so.2",
                                                         "/lib/ld-linux-aarch64.so.1",
                                                         "/lib/ld-linux-armhf.so.3",
                                                         "/lib64/ld64.so.2",
                                                         "/lib/ld64.so.1",
                                                         "/lib/ld-linux-riscv64-lp64d.so.1",
                                                         "/lib64/ld-linux-loongarch-lp64d.so.1",
                                                         "/libx32/ld-linux-x32.so.2",
                                                         "/lib/ld-linux.so.3",
                                                         "/lib/ld.so.1",
                                                         "/lib64/ld-linux-loongarch64.so.1"};
  const std::string interpreter = member.facts.interpreter.value_or("");
  if (!member.facts.interpreter || !IsProgram(member)) return;
  if (std::find(kLoaders.begin(), kLoaders.end(), interpreter) != kLoaders.end()) {
    const std::string_view only = OnlyLoaderFor(member);
    if (only.empty() || only == interpreter) return;
    findings.Add(
        "elf-interpreter", Severity::kError,
        fmt::format("uses the program interpreter '{}', which is for another processor", interpreter),
        fmt::format("set its own: patchelf --set-interpreter {}", only));
    return;
  }
  if (GlobMatch("/lib/ld-musl-*.so.1", interpreter) || interpreter.starts_with("/system/bin/linker")) return;
  findings.Add("elf-interpreter", Severity::kError,
               fmt::format("uses the program interpreter '{}', which other machines don't have", interpreter),
               "link it with the interpreter of its C library, or set one with patchelf --set-interpreter");
}

}  // namespace

void CheckMapping(const ElfTree& tree, const ResolvedLibraries& loads, std::vector<Finding>& findings) {
  for (std::size_t i = 0; i < tree.members.size(); ++i) {
    const FileFindings here(findings, tree.members[i]);
    CheckFaults(tree.members[i], here);
    CheckOpening(tree.members[i], here);
    CheckFilters(tree, i, loads, findings);
    CheckInterpreter(tree.members[i], here);
  }
}

}  // namespace ptpkg::verify
