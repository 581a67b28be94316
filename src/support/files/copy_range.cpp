#include "support/files/copy_range.h"

#include <algorithm>
#include <cerrno>
#include <fmt/core.h>
#include <unistd.h>
#include <vector>

namespace ptpkg {
namespace {

constexpr std::uint64_t kBufferBytes = 1U << 20U;

/// Number of bytes the kernel has copied: all, or as many as it could. The copy through memory then meets
/// the same obstacle, and reports it.
std::uint64_t CopyInKernel(File& source, File& target, const CopiedRange& range) {
  const auto* const in = dynamic_cast<const DescriptorFile*>(&source);
  const auto* const out = dynamic_cast<const DescriptorFile*>(&target);
  if (in == nullptr || out == nullptr) return 0;
  std::uint64_t done = 0;
  while (done < range.size_bytes) {
    auto from = static_cast<off64_t>(range.from + done);
    auto to = static_cast<off64_t>(range.to + done);
    const auto want = range.size_bytes - done;
    // With offsets of its own: other threads read the same descriptors.
    const ssize_t moved = ::copy_file_range(in->descriptor(), &from, out->descriptor(), &to, want, 0);
    if (moved < 0 && errno == EINTR) continue;
    // EXDEV, EOPNOTSUPP and others: the file systems don't go together. 0 is the end of the file, or /proc.
    if (moved <= 0) break;
    done += static_cast<std::uint64_t>(moved);
  }
  return done;
}

Result<void> CopyStep(File& source, File& target, const CopiedRange& range) {
  std::uint64_t done = CopyInKernel(source, target, range);
  std::vector<std::byte> memory(std::min(range.size_bytes - done, kBufferBytes));
  while (done < range.size_bytes) {
    const auto want = std::min(range.size_bytes - done, kBufferBytes);
    const MutableBytes buffer = MutableBytes(memory).first(want);
    PTPKG_TRY(const std::size_t got, source.ReadAt(range.from + done, buffer));
    if (got != want) {
      return Error(ErrorCode::kIo,
                   fmt::format("the file to copy has only {} bytes", range.from + done + got));
    }
    PTPKG_CHECK(target.WriteAt(range.to + done, buffer));
    done += want;
  }
  return Ok();
}

}  // namespace

Result<void> CopyRange(File& source, File& target, const CopiedRange& range,
                       const std::function<Result<void>(std::uint64_t)>& on_copied) {
  for (std::uint64_t done = 0; done < range.size_bytes;) {
    const std::uint64_t step = std::min(range.size_bytes - done, kCopyStepBytes);
    PTPKG_CHECK(
        CopyStep(source, target, {.from = range.from + done, .to = range.to + done, .size_bytes = step}));
    done += step;
    PTPKG_CHECK(on_copied(step));
  }
  return Ok();
}

}  // namespace ptpkg
