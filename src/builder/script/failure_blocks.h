#pragma once
// Finds the first failed command in build output. Layer: builder. Knows: ninja's FAILED blocks, make's "***
// […] Error" with the compilers' errors before it, CMake errors, Python tracebacks, errors of compilers and
// linkers.

#include <cstddef>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace ptpkg::builder {

[[nodiscard]] inline bool ContainsText(std::string_view line, std::string_view text) {
  return line.find(text) != std::string_view::npos;
}

/// Some lines of a block: its first ones, and those from its first error on; what is between is counted.
class BlockLines {
 public:
  void Add(std::string line, bool is_error);
  [[nodiscard]] bool empty() const { return head_.empty(); }
  /// Each line after a line break and two blanks.
  [[nodiscard]] std::string Text() const;

 private:
  std::vector<std::string> head_;
  std::deque<std::string> rest_;
  std::size_t left_out_ = 0;
  bool found_error_ = false;  // rest_ begins with it
};

/// Memory is bounded, whatever is printed: some 100 lines of at most 600 bytes.
class FailureBlocks {
 public:
  /// Each line of the output, as it comes; linear in its length.
  void ReadOutputLine(std::string_view output);
  /// A new tool begins: what failed before was put up with, or encloses what comes.
  void Restart();

  /// The block of the first command that failed, or, without one, the first CMake error and the last
  /// traceback: as BlockLines::Text. "" when none was recognised.
  [[nodiscard]] std::string Block() const;
  /// Errors of compilers and linkers that belong to no known command, at most ten: as Block.
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

 private:
  enum class Open : unsigned char { kNothing, kNinja, kCMake, kTraceback, kTracebackEnded };

  bool Continue(const std::string& line, std::string_view text, std::size_t indent);
  bool ContinueTraceback(const std::string& line, std::string_view text, std::size_t indent);
  void Begin(const std::string& line, std::string_view text, std::size_t indent);
  void RememberError(const std::string& line, std::string_view text);
  void TakeMakeError(const std::string& line);

  Open open_ = Open::kNothing;
  std::size_t indent_ = 0;  // of the open block's first line
  BlockLines command_;      // ninja's or make's
  BlockLines before_restart_;
  BlockLines cmake_;
  BlockLines traceback_;
  std::vector<std::string> errors_;
  std::size_t follows_error_ = 0;  // lines that may still belong to the last error
  std::deque<std::string> recent_;
};

/// True if `text` is make's error line, without blanks before it: "make[2]: *** [Makefile:10: a.o] Error 1".
bool IsMakeError(std::string_view text);

/// True if a line reports an error of a compiler, linker or tool: "x.cpp:3:1: error: …".
bool IsErrorLine(std::string_view line);

}  // namespace ptpkg::builder
