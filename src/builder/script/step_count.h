#pragma once
// Parses step counters such as [3/10] from build output. Layer: builder. Sources: ninja's NINJA_STATUS
// "[%f/%t] ", also in the output of meson, setuptools and pip (indented); CMake's Makefiles "[ 45%] ". For
// make without counts, it counts the lines of compilers and kernel-like "  CC  x.o".

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptpkg::builder {

enum class StepKind : std::uint8_t {
  kSteps,    ///< "[45/90] Building …"
  kPercent,  ///< "[ 45%] Building …": done of 100.
  kCommand,  ///< A compiler was called: one step more, of an unknown number.
};

struct StepMark {
  StepKind kind = StepKind::kSteps;
  std::uint64_t done = 0;
  std::uint64_t total = 0;
  /// The build system regenerates its own files ("Re-running CMake"), then starts again with other totals.
  bool regenerates = false;
};

/// Step mark in `line`. Returns nullopt for most lines. Allows leading blanks, but not escape sequences.
/// Linear.
std::optional<StepMark> ReadStepMark(std::string_view line);

/// Follows the counts of one script, which can run several tools one after the other, or inside one another.
class StepCount {
 public:
  struct State {
    StepKind kind = StepKind::kSteps;
    std::uint64_t done = 0;
    std::uint64_t total = 0;  ///< 0: unknown (kCommand).
    int part = 0;             ///< Number of the count in the script, from 1; 0: none yet.
  };
  enum class Change : std::uint8_t {
    kNone,
    kAdvanced,
    kRestarted,  ///< A new tool counts from its beginning: the script tolerated earlier failures.
  };

  /// `line` as for ReadStepMark. The count of a part never falls. state() stays unchanged for hidden counts:
  /// - a tool with less than a tenth of the steps of the largest before it, such as `ninja install` after the
  ///   build
  /// - a tool that runs inside a step of another and ends with it, as soon as the outer tool continues
  /// - the steps of a build system's regeneration
  Change ReadOutputLine(std::string_view line);
  [[nodiscard]] const State& state() const { return state_; }

 private:
  Change Advance(const StepMark& mark);
  Change Restart(const StepMark& mark);
  [[nodiscard]] bool IsRestart(const StepMark& mark) const;

  State state_;                   // as shown
  std::optional<State> current_;  // the tool that runs now, shown or not
  std::optional<State> outer_;    // the tool that current_ may run inside of
  std::uint64_t largest_total_ = 0;
  bool hidden_ = false;  // current_ is not shown
};

}  // namespace ptpkg::builder
