#include "support/error.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fmt/core.h>
#include <system_error>

#include "support/secret.h"
#include "support/text/display_text.h"

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

std::string_view ErrorCodeName(ErrorCode code) {
  static constexpr auto kNames = std::to_array<std::string_view>(
      {"usage", "invalid_input", "not_found", "already_exists", "hash_mismatch", "corrupt", "unsupported",
       "io", "command_failed", "network", "refused", "check_failed", "cancelled", "internal"});
  // An enumerator without a name doesn't compile.
  static_assert(kNames.size() == static_cast<std::size_t>(ErrorCode::kInternal) + 1);
  return kNames[static_cast<std::size_t>(code)];
}

namespace {

ErrorCode CodeOfErrno(int sys_errno) {
  switch (sys_errno) {
    case ENOENT:
    // "a/b" doesn't exist if "a" is a file.
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
      return "free space on that file system, or choose another directory";
    case EDQUOT:
      return "your disk quota is used up: remove files, or choose another directory";
    case EACCES:
    case EPERM:
      return "check the owner and the permissions of the path and its parent directories";
    case EMFILE:
      return "the limit of open files is too low: raise it, for example with 'ulimit -n 1024'";
    case EROFS:
      return "the file system is mounted read-only: choose another directory";
    default:
      return "";
  }
}

constexpr std::string_view kCut = "…";
constexpr std::size_t kShownBytes = 160;
constexpr std::size_t kShownBefore = 60;

/// The part of a line that is shown, and where the caret stands in it.
struct ShownLine {
  std::string text;
  std::size_t column = 0;
  std::size_t length = 1;
};

bool IsInsideCharacter(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
}

/// Position of byte `at` of `text` in MaskCredentials(text); for a masked byte, the start of the mask.
std::size_t PlaceInMasked(std::string_view text, std::size_t at) {
  // Each mask before `at` shifts it by the difference of the two lengths.
  std::size_t place = at;
  for (const TextRange& range : CredentialsIn(text)) {
    if (range.begin >= at) break;
    place -= std::min(range.end, at) - range.begin;
    if (at >= range.end) place += kCredentialMask.size();
  }
  return place;
}

/// A minified document is one line of megabytes: what is far from the place is cut off, at whole characters.
ShownLine ShowLine(const SourceSpan& span) {
  const std::string_view written = span.excerpt.view();
  // The span counts in the line as written, and the masked line is shown: hence PlaceInMasked.
  const std::string line = MaskCredentials(written);
  const std::size_t begins = std::min(static_cast<std::size_t>(std::max(span.column, 1)) - 1, written.size());
  const std::size_t ends = begins + static_cast<std::size_t>(std::max(span.length, 1));
  ShownLine shown{.text = {}, .column = PlaceInMasked(written, begins), .length = 1};
  shown.length = std::max<std::size_t>(PlaceInMasked(written, ends) - shown.column, 1);
  if (line.size() <= kShownBytes) {
    shown.text = line;
    return shown;
  }
  std::size_t begin = shown.column - std::min(shown.column, kShownBefore);
  while (begin > 0 && IsInsideCharacter(line, begin)) --begin;
  std::size_t end = std::min(begin + kShownBytes, line.size());
  while (end > shown.column && IsInsideCharacter(line, end)) --end;
  shown.length = std::min(shown.length, std::max<std::size_t>(end - shown.column, 1));
  shown.column -= begin;
  if (begin > 0) {
    shown.text = kCut;
    shown.column += 1;  // the mark is one column wide, whatever its bytes
  }
  shown.text.append(line, begin, end - begin);
  if (end < line.size()) shown.text += kCut;
  return shown;
}

/// Text before and under the caret keeps its tabs, so that the columns meet in any terminal.
std::string CaretLine(const ShownLine& shown) {
  std::string line;
  // kCut has three bytes and one column.
  const std::size_t mark = shown.text.starts_with(kCut) ? kCut.size() - 1 : 0;
  for (std::size_t i = 0; i < shown.column; ++i) {
    const std::size_t at = i + (i > 0 ? mark : 0);
    line += at < shown.text.size() && shown.text[at] == '\t' ? '\t' : ' ';
  }
  line += '^';
  line.append(shown.length - 1, '~');
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
  if (error.span() && !error.span()->file.empty()) {
    const SourceSpan& span = *error.span();
    const std::string number = fmt::format("{:>5}", span.line);
    text = fmt::format("{}:{}:{}: error: {}", span.file.view(), span.line, span.column, error.message());
    if (!span.excerpt.empty()) {
      const ShownLine shown = ShowLine(span);
      text += fmt::format("\n{} | {}\n{} | {}", number, shown.text, std::string(number.size(), ' '),
                          CaretLine(shown));
    }
  } else {
    text = fmt::format("error: {}", error.message());
  }
  for (const std::string& frame : error.context()) text += fmt::format("\n  note: {}", frame);
  if (!error.hint().empty()) text += fmt::format("\n  hint: {}", error.hint());
  // Masked as a whole, because any part can quote foreign text: the message, a note, the line of a file.
  return DisplayText(MaskAllSecrets(text));
}

}  // namespace ptpkg
