#pragma once
// Detects builds that failed because memory ran out. Layer: builder.

#include <string>
#include <string_view>

#include "support/process/machine.h"
#include "support/process/process.h"

namespace ptpkg::builder {

/// Reads the signs that compilers, linkers and shells leave.
class MemorySigns {
 public:
  enum class Kind : std::uint8_t {
    kNone,
    kKilled,   ///< Something ended a program with signal 9, as the kernel does when memory runs out.
    kRefused,  ///< A program asked for memory and got none.
  };
  /// Each line of the output. The first sign counts; one of a program's own name outweighs a status.
  void ReadOutputLine(std::string_view line);
  [[nodiscard]] Kind kind() const { return kind_; }
  /// "cc1plus", "ld", "cicc"; "" when nothing says whom it met.
  [[nodiscard]] const std::string& program() const { return program_; }

 private:
  Kind kind_ = Kind::kNone;
  std::string program_;
};

struct MemoryFacts {
  OomKills before = {};
  OomKills after = {};
  int jobs = 1;                     ///< Number that the script was told to use.
  std::uint64_t bytes_per_job = 0;  ///< Memory per job for which they were chosen; 0 = not known.
  std::uint64_t free_bytes = 0;     ///< Free memory at its start; 0 = not known.
};

struct MemoryDiagnosis {
  std::string
      what;  ///< "'cc1plus' was killed for lack of memory (the kernel ended 2 processes)"; "" = no shortage.
  std::string hint;  ///< "with --jobs 2 it would fit; it ran with 6". Not empty if `what` is not.
};

/// Diagnoses a script that failed. A program that was killed while the kernel counts no process that it
/// ended for lack of memory is reported as killed, and no more.
MemoryDiagnosis DiagnoseMemoryShortage(const MemorySigns& signs, const ExitStatus& status,
                                       const MemoryFacts& facts);

/// The most jobs for a second try: under half of those that ran, and no more than the memory has room for. 0:
/// one job alone was too many.
int JobsForMemory(const MemoryFacts& facts);

}  // namespace ptpkg::builder
