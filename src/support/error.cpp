#include "support/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/core.h>
#include <system_error>

namespace ptpkg {

Error Error::WithContext(std::string frame) && {
  context_.push_back(std::move(frame));
  return std::move(*this);
}

Error Error::WithHint(std::string hint) && {
  hint_ = std::move(hint);
  return std::move(*this);
}

Error Error::At(SourceSpan span) && {
  span_ = std::move(span);
  return std::move(*this);
}

Error Error::WithErrno(int sys_errno) && {
  sys_errno_ = sys_errno;
  return std::move(*this);
}

Error Error::Retryable() && {
  retryable_ = true;
  return std::move(*this);
}

std::string_view ErrorCodeName(ErrorCode code) {
  static constexpr std::array<std::string_view, 14> kNames = {
      "usage", "invalid_input",  "not_found", "already_exists", "hash_mismatch", "corrupt", "unsupported",
      "io",    "command_failed", "network",   "refused",        "cancelled",     "internal"};
  return kNames[static_cast<std::size_t>(code)];
}

namespace {

ErrorCode CodeOfErrno(int sys_errno) {
  switch (sys_errno) {
    case ENOENT:
    case ENOTDIR:
      return ErrorCode::kNotFound;
    case EEXIST:
    case ENOTEMPTY:
      return ErrorCode::kAlreadyExists;
    default:
      return ErrorCode::kIo;
  }
}

std::string_view HintOfErrno(int sys_errno) {
  switch (sys_errno) {
    case ENOSPC:
      return "free space on that file system, or choose another folder";
    case EDQUOT:
      return "your disk quota is used up: remove files, or choose another folder";
    case EACCES:
    case EPERM:
      return "check the owner and the permissions of the path and of the folders above it";
    case EROFS:
      return "the file system is mounted read-only: choose another folder";
    default:
      return "";
  }
}

/// Text before and under the caret keeps its tabs, so that the columns meet in any terminal.
std::string CaretLine(const SourceSpan& span) {
  const auto column = static_cast<std::size_t>(std::max(span.column, 1)) - 1;
  std::string line;
  for (std::size_t i = 0; i < std::min(column, span.excerpt.size()); ++i) {
    line += span.excerpt[i] == '\t' ? '\t' : ' ';
  }
  line += '^';
  for (int i = 1; i < span.length; ++i) line += '~';
  return line;
}

}  // namespace

Error ErrnoError(int sys_errno, std::string what) {
  Error error(CodeOfErrno(sys_errno),
              fmt::format("{}: {}", what, std::generic_category().message(sys_errno)));
  return std::move(error).WithErrno(sys_errno).WithHint(std::string(HintOfErrno(sys_errno)));
}

std::string FormatError(const Error& error) {
  std::string text;
  if (error.span()) {
    const SourceSpan& span = *error.span();
    const std::string number = fmt::format("{:>5}", span.line);
    text = fmt::format("{}:{}:{}: error: {}", span.file, span.line, span.column, error.message());
    if (!span.excerpt.empty()) {
      text += fmt::format("\n{} | {}\n{} | {}", number, span.excerpt, std::string(number.size(), ' '),
                          CaretLine(span));
    }
  } else {
    text = fmt::format("error: {}", error.message());
  }
  for (const std::string& frame : error.context()) text += fmt::format("\n  note: {}", frame);
  if (!error.hint().empty()) text += fmt::format("\n  hint: {}", error.hint());
  return text;
}

}  // namespace ptpkg
