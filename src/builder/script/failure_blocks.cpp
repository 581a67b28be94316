// The last lines of a parallel build seldom show why it failed: other jobs run on, and make prints its own
// errors after the compiler's. This reader finds the first failed command while the lines come, in bounded
// memory.
//
// - ninja prints FAILED with the command and its output, up to its next step or message.
// - make names only the target. The compilers' errors before it explain it, else the lines before.
// - A CMake error goes on while lines are indented, and a traceback up to its exception.
//
// The first failed command wins, but only within one tool: when another tool starts to count, the script has
// tolerated the earlier failure (Restart). If ninja then stops without a failure of its own, that tool ran
// inside one of its steps, and the earlier failure was the cause. A long block keeps its head and the lines
// from its first error on.

#include "builder/script/failure_blocks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "builder/script/step_count.h"
#include "support/text/display_text.h"
#include "support/text/plural.h"

namespace ptpkg::builder {

namespace {

constexpr std::size_t kHeadLines = 20;
constexpr std::size_t kRestLines = 20;
constexpr std::size_t kMostErrors = 10;
constexpr std::size_t kErrorLines = 3;   // after an error: the source line, and what points into it
constexpr std::size_t kRecentLines = 8;  // before an error of make that no compiler explains
constexpr std::size_t kLineBytes = 600;  // bytes of a line: the command of an object has thousands

bool IsChainOfTracebacks(std::string_view text) {
  return text.starts_with("Traceback (most recent call last)") ||
         text.starts_with("During handling of the above exception") ||
         text.starts_with("The above exception was the direct cause");
}

std::string AsLine(const std::string& line) { return "\n  " + line; }

}  // namespace

/// Also "gmake: *** No rule to make target 'x'.  Stop."
bool IsMakeError(std::string_view text) {
  const std::size_t stars = text.find(": *** ");
  // The program's name and level come first: "make[2]: *** ". Further in, the text is output.
  if (stars == std::string_view::npos || stars > 40) return false;
  return ContainsText(text.substr(0, stars), "make") && !text.substr(stars).starts_with(": *** Waiting");
}

bool IsErrorLine(std::string_view line) {
  constexpr std::array<std::string_view, 12> kSigns = {"error:",
                                                       "error :",
                                                       "Error:",
                                                       "Killed",
                                                       "died due to signal",
                                                       "undefined reference to",
                                                       "cannot find -l",
                                                       "relocation truncated to fit",
                                                       "No space left on device",
                                                       "Cannot allocate memory",
                                                       "Segmentation fault",
                                                       "ptxas fatal"};
  return std::any_of(kSigns.begin(), kSigns.end(),
                     [&](std::string_view sign) { return ContainsText(line, sign); });
}

void BlockLines::Add(std::string line, bool is_error) {
  if (head_.size() < kHeadLines) {
    found_error_ = found_error_ || (is_error && !head_.empty());  // the first line names the block
    head_.push_back(std::move(line));
    return;
  }
  if (is_error && !found_error_) {
    found_error_ = true;
    left_out_ += rest_.size();
    rest_.clear();
  }
  if (found_error_ && rest_.size() >= kRestLines) return;  // the first error tells more than the last
  rest_.push_back(std::move(line));
  if (rest_.size() <= kRestLines) return;
  rest_.pop_front();
  ++left_out_;
}

std::string BlockLines::Text() const {
  std::string text;
  for (const std::string& line : head_) text += AsLine(line);
  if (left_out_ > 0) text += fmt::format("\n  … {} …", Plural(left_out_, "line"));
  for (const std::string& line : rest_) text += AsLine(line);
  return text;
}

void FailureBlocks::ReadOutputLine(std::string_view output) {
  std::string line = DisplayLine(output, kLineBytes);
  line.resize(line.find_last_not_of(' ') + 1);  // ninja's "FAILED: a.o " ends with one
  const std::size_t indent = std::min(line.find_first_not_of(' '), line.size());
  const std::string_view text = std::string_view(line).substr(indent);
  if (Continue(line, text, indent)) return;
  Begin(line, text, indent);
  if (open_ == Open::kNothing || open_ == Open::kTracebackEnded) RememberError(line, text);
  recent_.push_back(line);
  if (recent_.size() > kRecentLines) recent_.pop_front();
}

void FailureBlocks::Restart() {
  if (open_ == Open::kNinja) open_ = Open::kNothing;
  if (!command_.empty()) before_restart_ = std::move(command_);
  command_ = {};
  cmake_ = {};
  traceback_ = {};
  errors_.clear();
}

/// True if the line belongs to the open block.
bool FailureBlocks::Continue(const std::string& line, std::string_view text, std::size_t indent) {
  if (open_ == Open::kTraceback || open_ == Open::kTracebackEnded)
    return ContinueTraceback(line, text, indent);
  if (open_ == Open::kNinja) {
    const auto mark = ReadStepMark(line);
    // The command itself is part of the block, so a compiler's call doesn't end it.
    const bool ends = (mark && mark->kind != StepKind::kCommand) || text.starts_with("ninja: ") ||
                      text.starts_with("FAILED: ");
    if (ends) open_ = Open::kNothing;
    if (ends) return false;
    command_.Add(line, IsErrorLine(line));
    return true;
  }
  if (open_ == Open::kCMake) {
    const bool inside = text.empty() || indent > indent_ || text.starts_with("Call Stack (most recent");
    if (!inside) open_ = Open::kNothing;
    if (inside && !text.empty()) cmake_.Add(line, IsErrorLine(line));
    return inside;
  }
  return false;
}

bool FailureBlocks::ContinueTraceback(const std::string& line, std::string_view text, std::size_t indent) {
  if (open_ == Open::kTracebackEnded) {
    if (text.empty()) return true;
    if (!IsChainOfTracebacks(text)) {
      open_ = Open::kNothing;
      return false;
    }
    traceback_.Add(line, false);
    if (text.starts_with("Traceback")) open_ = Open::kTraceback;
    return true;
  }
  traceback_.Add(line, false);
  // The first line that is not further in is the exception.
  if (!text.empty() && indent <= indent_) open_ = Open::kTracebackEnded;
  return true;
}

void FailureBlocks::Begin(const std::string& line, std::string_view text, std::size_t indent) {
  const auto begin = [&](Open kind, BlockLines& block) {
    open_ = kind;
    indent_ = indent;
    block.Add(line, false);
  };
  if (text.starts_with("FAILED: ")) {
    if (command_.empty()) begin(Open::kNinja, command_);
  } else if (text.starts_with("ninja: build stopped") && command_.empty()) {
    // The new count came from a tool inside another step: the failure before it stopped them all.
    command_ = std::move(before_restart_);
    before_restart_ = {};
  } else if (IsMakeError(text)) {
    TakeMakeError(line);
  } else if (text.starts_with("CMake Error")) {
    if (cmake_.empty()) begin(Open::kCMake, cmake_);
  } else if (text.starts_with("Traceback (most recent call last)")) {
    traceback_ = {};
    begin(Open::kTraceback, traceback_);
  }
}

void FailureBlocks::RememberError(const std::string& line, std::string_view text) {
  if (IsErrorLine(line) && !IsMakeError(text) && !text.starts_with("ninja: ")) {
    if (errors_.size() >= kMostErrors) return;
    // "x.cpp: In function 'int f()':" stands before the first error in it.
    if (!recent_.empty() && recent_.back().ends_with(':') && ContainsText(recent_.back(), ": In "))
      errors_.push_back(AsLine(recent_.back()));
    errors_.push_back(AsLine(line));
    follows_error_ = kErrorLines;
    return;
  }
  // "    3 |   x y;" and the line that points into it.
  const bool belongs =
      follows_error_ > 0 && text.size() < line.size() && ContainsText(line.substr(0, 16), "|");
  follows_error_ = belongs ? follows_error_ - 1 : 0;
  if (belongs && !errors_.empty()) errors_.back() += AsLine(line);
}

void FailureBlocks::TakeMakeError(const std::string& line) {
  if (!command_.empty()) return;
  for (const std::string& error : errors_) {
    // With their line breaks and blanks, which Text adds again.
    std::size_t begin = 0;
    while (begin < error.size()) {
      const std::size_t end = std::min(error.find("\n  ", begin + 1), error.size());
      command_.Add(error.substr(begin + 3, end - begin - 3), true);
      begin = end;
    }
  }
  if (errors_.empty()) {
    for (const std::string& before : recent_) command_.Add(before, false);
  }
  command_.Add(line, true);
}

std::string FailureBlocks::Block() const {
  if (!command_.empty()) return command_.Text();
  if (cmake_.empty()) return traceback_.Text();
  return cmake_.Text() + (traceback_.empty() ? "" : "\n  …" + traceback_.Text());
}

}  // namespace ptpkg::builder
