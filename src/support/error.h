#pragma once
// Error value with code, message, hints and position. Layer: support. Every fallible function returns
// Result<T> (result.h). An exception that crosses our functions is a bug or a lack of memory; main() and the
// executor's nodes turn it into kInternal (internal_error.h).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/shared_text.h"

namespace ptpkg {

/// Why an operation failed. A code exists only if a caller or the exit code of the program depends on it
/// (cli/exit_code.cpp).
enum class ErrorCode : std::uint8_t {
  kUsage,          ///< The command line is wrong. Never retry.
  kInvalidInput,   ///< A recipe, variant file, wheel or argument violates its format. Never retry.
  kNotFound,       ///< A named file, package, program or URL does not exist.
  kAlreadyExists,  ///< The target exists with other content; nothing was overwritten.
  kHashMismatch,   ///< Bytes differ from the digest that was declared for them.
  kCorrupt,        ///< A binary or archive is damaged or hostile (ELF, zip, tar, bzip2, zstd).
  kUnsupported,    ///< Valid, but outside what ptpkg handles.
  kIo,             ///< The operating system refused: permission, full disk, read error.
  kCommandFailed,  ///< A child process ended with a non-zero status, or by a signal.
  kNetwork,        ///< The transfer failed after its retries. The caller may try again later.
  kRefused,        ///< A server refused, an input changed after its plan, or a build is known to fail.
  kCheckFailed,    ///< An artifact did not pass its checks; it was not published.
  kCancelled,      ///< The user interrupted. Nothing half-made has its final name.
  kInternal,       ///< A broken invariant of ptpkg itself.
};

/// Place of an error in a text. Lines and columns count from 1; columns count bytes.
struct SourceSpan {
  SharedText file;
  int line = 1;
  int column = 1;
  int length = 1;      ///< Bytes to underline, at least 1, never past the end of the line.
  SharedText excerpt;  ///< The whole line without its line break, for the diagnostic.

  bool operator==(const SourceSpan&) const = default;
};

/// Description of a failure, its place and its remedy. A copyable value; never subclassed.
class Error {
 public:
  /// `message`: one sentence, lower case, names quoted with ', no final period.
  Error(ErrorCode code, std::string message) : code_(code), message_(std::move(message)) {}

  [[nodiscard]] ErrorCode code() const { return code_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  /// Outermost frame last: "while relinking 'lib/libtorch.so'".
  [[nodiscard]] const std::vector<std::string>& context() const { return context_; }
  [[nodiscard]] const std::optional<SourceSpan>& span() const { return span_; }
  [[nodiscard]] const std::string& hint() const { return hint_; }
  [[nodiscard]] int sys_errno() const { return sys_errno_; }

  /// Adds the next outer frame, worded "while ...".
  Error WithContext(std::string frame) &&;
  /// Adds a remedy for the user. One sentence; the last call wins.
  Error WithHint(std::string hint) &&;
  Error At(SourceSpan span) &&;
  Error WithErrno(int sys_errno) &&;

  bool operator==(const Error&) const = default;

 private:
  ErrorCode code_;
  std::string message_;
  std::vector<std::string> context_;
  std::optional<SourceSpan> span_;
  std::string hint_;
  int sys_errno_ = 0;
};

/// The enumerator's name without its k, in snake case: "hash_mismatch". Used by JSON output.
std::string_view ErrorCodeName(ErrorCode code);

/// `what` + ": " + the text of `sys_errno`. ENOENT → kNotFound, EEXIST → kAlreadyExists, all
/// others → kIo; ENOSPC, EDQUOT, EACCES, EPERM and EROFS carry a hint.
Error ErrnoError(int sys_errno, std::string what);

/// The diagnostic in the form of a compiler:
///
///     path:line:col: error: message
///       3 |   versoin: 1
///         |   ^~~~~~~
///     note: while ...
///     hint: ...
///
/// Without a span the first line is "error: message". A long line is cut to the 160 bytes around the place.
/// Ends without a line break. Contains no colour and nothing that a terminal would act on (display_text.h).
std::string FormatError(const Error& error);

}  // namespace ptpkg
