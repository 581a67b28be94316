#pragma once
// Copies a range of one file into another. Layer: support.

#include <cstdint>
#include <functional>

#include "support/files/fs.h"

namespace ptpkg {

/// A file with a kernel descriptor: every file of the real file system.
class DescriptorFile {
 public:
  virtual ~DescriptorFile() = default;
  [[nodiscard]] virtual int descriptor() const = 0;
};

struct CopiedRange {
  std::uint64_t from = 0;  ///< Offset in the source.
  std::uint64_t to = 0;    ///< Offset in the target.
  std::uint64_t size_bytes = 0;
};

/// Size of one copy step, so that people see progress and an interrupt takes effect. A multiple of any file
/// system's block size, so that the next step can share blocks too.
inline constexpr std::uint64_t kCopyStepBytes = 64U << 20U;

/// Copies bytes of `source` into `target`. Between files of the real file system, the kernel copies them
/// (copy_file_range(2)). It shares blocks if the file system can and both offsets have the same position in
/// their blocks. Otherwise the bytes go through memory. `on_copied` is called after each step with its size.
/// Errors: any from `on_copied`, kIo, also when `source` ends before.
Result<void> CopyRange(File& source, File& target, const CopiedRange& range,
                       const std::function<Result<void>(std::uint64_t)>& on_copied);

}  // namespace ptpkg
