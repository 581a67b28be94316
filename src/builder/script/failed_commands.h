#pragma once
// Records failed commands of a running script for the next run. Layer: builder.
// docs/decisions/0012-resuming-a-build.md; GNU make's manual, "Errors in Recipes"; ninja's FAILED lines.

#include <cstdint>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "builder/resume/work_layout.h"

namespace ptpkg::builder {

/// Targets of a failed make or ninja command, as named in a line of their output:
/// "table.txt" of "make: *** [Makefile:3: table.txt] Error 1", "a.o" of "FAILED: a.o ". Empty: `line` tells
/// of no such command.
std::vector<std::string> FailedTargets(std::string_view line);

struct FailedCommands {
  std::optional<std::int64_t> first_ns = {};  ///< Unix time at which the first one was reported.
  /// Targets of these commands, without "." and "..": absolute, or relative to an unknown directory.
  std::set<std::string, std::less<>> targets = {};

  /// True if one of the targets can be the file `path` below `root`: a relative one is its end.
  [[nodiscard]] bool Name(const AbsPath& root, const RelPath& path) const;
};

/// Path in the work directory, outside of the sources and the prefix.
AbsPath FailedCommandsFile(const WorkLayout& layout);

/// Record of the last script there. Empty where nothing was recorded: by an older ptpkg, or with no room
/// for it. Errors: kIo.
Result<FailedCommands> ReadFailedCommands(Fs& fs, const AbsPath& file);

/// Writes them. The room for it is taken before the script starts: a full disk is what makes commands fail.
class FailedCommandsWriter {
 public:
  /// Empties the record. Errors: kIo.
  static Result<FailedCommandsWriter> Start(Env& env, const AbsPath& file);

  /// A line of the script's output: what it names is on the disk when this returns.
  void ReadOutputLine(std::string_view line) { Add(FailedTargets(line)); }
  /// Adds files that are known to be half-written. The first 64 KiB of names are kept.
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
