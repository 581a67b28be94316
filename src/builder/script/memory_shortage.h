#pragma once
// Detects builds that failed because memory ran out. Layer: builder.

#include <string>
#include <string_view>

#include "support/process/machine.h"
#include "support/process/process.h"

namespace ptpkg::builder {

/// Detects the traces that compilers, linkers and shells leave.
class MemorySigns {
 public:
  enum class Kind : std::uint8_t {
    kNone,
    kKilled,   ///< Signal 9 ended a program, as the kernel does when memory runs out.
    kRefused,  ///< A program requested memory and got none.
  };
  /// Reads each line of the output. The first sign counts, but a sign that names a program outweighs a
  /// status.
  void ReadOutputLine(std::string_view line);
  [[nodiscard]] Kind kind() const { return kind_; }
  /// "cc1plus", "ld", "cicc"; "" if the output does not name the program.
  [[nodiscard]] const std::string& program() const { return program_; }

 private:
  Kind kind_ = Kind::kNone;
  std::string program_;
};

struct MemoryFacts {
  OomKills before = {};
  OomKills after = {};
  int jobs = 1;                     ///< Number of jobs that the script got.
  std::uint64_t bytes_per_job = 0;  ///< Memory per job for which they were chosen; 0 = not known.
  std::uint64_t free_bytes = 0;     ///< Free memory at its start; 0 = not known.
};

struct MemoryDiagnosis {
  std::string
      what;  ///< "'cc1plus' was killed for lack of memory (the kernel ended 2 processes)"; "" = no shortage.
  std::string hint;  ///< "with --jobs 2 it would fit; it ran with 6". Not empty if `what` is not.
};

/// Diagnoses a script that failed. If a program was killed, but the kernel counts no process that it ended
/// for lack of memory, reports it only as killed.
MemoryDiagnosis DiagnoseMemoryShortage(const MemorySigns& signs, const ExitStatus& status,
                                       const MemoryFacts& facts);

/// The most jobs for a second try: under half as many as before, and only as many as fit into memory. 0 if a
/// single job was too many.
int JobsForMemory(const MemoryFacts& facts);

}  // namespace ptpkg::builder
