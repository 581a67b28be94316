#pragma once
// Where log and progress go; tests put a recorder here. Layer: cli.

#include <cstddef>
#include <optional>
#include <string_view>

namespace ptpkg::cli {

class LogSink {
 public:
  virtual ~LogSink() = default;
  /// Writes the text unchanged, at once.
  virtual void Write(std::string_view text) = 0;
  /// Columns of the terminal at this moment; nullopt when it is none.
  [[nodiscard]] virtual std::optional<std::size_t> Width() = 0;
};

/// stderr.
LogSink& StderrSink();

}  // namespace ptpkg::cli
