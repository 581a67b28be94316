#pragma once
// Destination of log and progress; tests use a recorder. Layer: cli.

#include <cstddef>
#include <optional>
#include <string_view>

namespace ptpkg::cli {

class LogSink {
 public:
  virtual ~LogSink() = default;
  /// Writes the text unchanged, at once.
  virtual void Write(std::string_view text) = 0;
  /// Current columns of the terminal; nullopt when it is not a terminal.
  [[nodiscard]] virtual std::optional<std::size_t> Width() = 0;
};

/// stderr.
LogSink& StderrSink();

}  // namespace ptpkg::cli
