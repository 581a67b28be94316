// A build that runs out of memory rarely reports it: the kernel sends signal 9 to a compiler, and make shows
// a failed target. Two kinds of evidence are combined:
//
// - lines of gcc, clang, nvcc, collect2, bash, make and ninja about a killed program, or a failed allocation
// - the kernel's counters of processes that it ended, before and after the script, in the own control group
//   and on the machine
//
// The own group's counter alone is proof. The machine's counter needs a line about a killed program, because
// another process may have died while this build failed for its own reasons. If counters exist and did not
// rise, something else sent the signal, and the hint says so.

#include "builder/script/memory_shortage.h"

#include <algorithm>
#include <array>
#include <csignal>
#include <fmt/core.h>

#include "builder/script/failure_blocks.h"
#include "support/text/display_text.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr int kKilledStatus = 128 + SIGKILL;  // 137, as shells and containers say it

/// The word behind `lead` in the line, without quotes and the like.
std::string WordAfter(std::string_view line, std::string_view lead) {
  constexpr std::string_view kEnds = " ')\"`;:,";
  std::string_view rest = line.substr(line.find(lead) + lead.size());
  rest = rest.substr(std::min(rest.find_first_not_of(kEnds), rest.size()));
  return std::string(rest.substr(0, rest.find_first_of(kEnds)));
}

/// The word before `tail` in the line.
std::string WordBefore(std::string_view line, std::string_view tail) {
  constexpr std::string_view kEnds = " '(\"`:";
  std::string_view rest = line.substr(0, line.find(tail));
  const std::size_t last = rest.find_last_not_of(kEnds);
  if (last == std::string_view::npos) return "";
  rest = rest.substr(0, last + 1);
  const std::size_t begin = rest.find_last_of(kEnds);
  return std::string(begin == std::string_view::npos ? rest : rest.substr(begin + 1));
}

/// "line 7: 4242 Killed                  c++ -c a.cpp", as bash says it.
bool IsKilledInShell(std::string_view line) {
  const std::size_t at = line.find(" Killed");
  if (at == std::string_view::npos || !ContainsText(line.substr(0, at), ": line ")) return false;
  const std::string_view rest = line.substr(at + 7);
  return rest.empty() || rest.front() == ' ';
}

/// Program whose death the line reports; "" for an unnamed one, nullopt if it reports none.
std::optional<std::string> KilledProgram(std::string_view line) {
  constexpr std::string_view kGcc = "Killed signal terminated program ";
  constexpr std::string_view kOldGcc = "internal compiler error: Killed (program ";
  constexpr std::string_view kCollect = " terminated with signal 9";
  constexpr std::string_view kNvcc = " died due to signal 9";
  if (ContainsText(line, kGcc)) return WordAfter(line, kGcc);
  if (ContainsText(line, kOldGcc)) return WordAfter(line, kOldGcc);
  if (ContainsText(line, kCollect)) return WordBefore(line, kCollect);
  if (ContainsText(line, kNvcc)) return WordBefore(line, kNvcc);
  if (ContainsText(line, "unable to execute command: Killed")) return "clang";
  if (ContainsText(line, "fatal error: Killed")) return "";
  const bool by_status = IsKilledInShell(line) || line.ends_with("] Error 137") ||
                         line.ends_with("] Killed") || ContainsText(line, "FAILED: [code=137]");
  return by_status ? std::optional<std::string>("") : std::nullopt;
}

bool IsAllocationFailure(std::string_view line) {
  constexpr std::array<std::string_view, 8> kSigns = {
      "virtual memory exhausted",  "Cannot allocate memory", "out of memory allocating", "std::bad_alloc",
      "LLVM ERROR: out of memory", ": memory exhausted",     "ld: out of memory",        "MemoryError"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return ContainsText(line, sign); });
}

std::uint64_t Rise(const std::optional<std::uint64_t>& before, const std::optional<std::uint64_t>& after) {
  return before && after && *after > *before ? *after - *before : 0;
}

std::string HintFor(const MemoryFacts& facts) {
  const int fit = JobsForMemory(facts);
  if (fit == 0) {
    return "a single job needs more memory than there is: free some, raise the limit of the cgroup, or build "
           "on a larger machine";
  }
  const std::string room =
      facts.free_bytes == 0 ? "" : fmt::format(" within {}", HumanBytes(facts.free_bytes));
  return fmt::format(
      "it ran with {}{}: try --jobs {}, and set the memory per job in the recipe "
      "(extra.ptpkg.memory_per_job)",
      Plural(static_cast<std::uint64_t>(facts.jobs), "job"), room, fit);
}

}  // namespace

void MemorySigns::ReadOutputLine(std::string_view line) {
  // A status without a name may still be followed by a line that names the program.
  if (kind_ != Kind::kNone && !program_.empty()) return;
  if (const auto killed = KilledProgram(line)) {
    kind_ = Kind::kKilled;
    program_ = DisplayLine(*killed, 100);
  } else if (kind_ == Kind::kNone && IsAllocationFailure(line)) {
    kind_ = Kind::kRefused;
    const std::size_t colon = line.find(':');
    const bool names =
        colon != std::string_view::npos && colon < 40 && !ContainsText(line.substr(0, colon), " ");
    program_ = names ? DisplayLine(line.substr(0, colon), 100) : "";
    if (const std::size_t slash = program_.rfind('/'); slash != std::string::npos)
      program_.erase(0, slash + 1);
  }
}

int JobsForMemory(const MemoryFacts& facts) {
  if (facts.jobs < 2) return 0;
  int fit = facts.jobs / 2;
  if (facts.bytes_per_job > 0 && facts.free_bytes > 0) {
    const std::uint64_t room = facts.free_bytes / facts.bytes_per_job;
    if (room < static_cast<std::uint64_t>(fit)) fit = static_cast<int>(room);
  }
  return std::max(1, fit);
}

MemoryDiagnosis DiagnoseMemoryShortage(const MemorySigns& signs, const ExitStatus& status,
                                       const MemoryFacts& facts) {
  using Kind = MemorySigns::Kind;
  const bool script_killed = status.signal == SIGKILL || status.code == kKilledStatus;
  Kind kind = signs.kind();
  if (script_killed && kind == Kind::kNone) kind = Kind::kKilled;
  const std::uint64_t in_group = Rise(facts.before.of_group, facts.after.of_group);
  const std::uint64_t ended = std::max(in_group, Rise(facts.before.of_machine, facts.after.of_machine));
  const std::string who =
      signs.program().empty() ? "one of its programs" : fmt::format("'{}'", signs.program());
  if (kind == Kind::kRefused) return {who + " ran out of memory", HintFor(facts)};
  // Elsewhere on the machine somebody may die while a build fails of its own; not so in the own group.
  if (kind == Kind::kNone && in_group == 0) return {};
  if (ended > 0) {
    const std::string count = ended == 1 ? "1 process" : fmt::format("{} processes", ended);
    return {fmt::format("{} was killed: out of memory (the kernel ended {})", who, count), HintFor(facts)};
  }
  const bool counted = facts.after.of_group || facts.after.of_machine;
  if (counted) {
    return {fmt::format("{} was killed (signal 9)", who),
            "the kernel's out-of-memory killer ended no process: find out which program sends signals here"};
  }
  return {fmt::format("{} was killed (signal 9), probably because memory ran out", who), HintFor(facts)};
}

}  // namespace ptpkg::builder
