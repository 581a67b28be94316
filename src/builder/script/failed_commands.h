#pragma once
// Records failed commands of a running script for the next run. Layer: builder. Sources:
// docs/decisions/0012-resuming-a-build.md; GNU make's manual, "Errors in Recipes", and ninja's FAILED lines.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "builder/resume/work_layout.h"

namespace ptpkg::builder {

/// Targets of a failed make or ninja command, as named in a line of their output: "table.txt" of "make: ***
/// [Makefile:3: table.txt] Error 1", "a.o" of "FAILED: a.o ". Empty if `line` reports no such command.
std::vector<std::string> FailedTargets(std::string_view line);

struct FailedCommands {
  std::optional<std::int64_t> first_ns = {};  ///< Unix time at which the first one was reported.
  /// Targets of these commands, without "." and "..": absolute, or relative to an unknown directory.
  std::set<std::string, std::less<>> targets = {};

  /// True if one of the targets can be the file `path` below `root`: a relative target matches the end of the
  /// path.
  [[nodiscard]] bool Name(const AbsPath& root, const RelPath& path) const;
};

/// Path in the work directory, outside of the sources and the prefix.
AbsPath FailedCommandsFile(const WorkLayout& layout);

/// Record of the last script there. Empty without a record: an older ptpkg, or a full disk. Errors: kIo.
Result<FailedCommands> ReadFailedCommands(Fs& fs, const AbsPath& file);

/// Writes them. Reserves its disk space before the script starts, because a full disk makes commands fail.
class FailedCommandsWriter {
 public:
  /// Empties the record. Errors: kIo.
  static Result<FailedCommandsWriter> Start(Env& env, const AbsPath& file);

  /// Reads a line of the script's output. Its targets are on the disk when this returns.
  void ReadOutputLine(std::string_view line) { Add(FailedTargets(line)); }
  /// Adds files that are known to be half-written. Keeps the first 64 KiB of names.
  void Add(const std::vector<std::string>& targets);
  /// True if everything was written.
  [[nodiscard]] bool is_complete() const { return complete_; }

 private:
  FailedCommandsWriter(Env& env, std::unique_ptr<File> file) : env_(&env), file_(std::move(file)) {}
  void Append(const std::string& text);

  Env* env_;
  std::unique_ptr<File> file_;
  std::uint64_t size_ = 0;
  bool complete_ = true;
};

}  // namespace ptpkg::builder
