#pragma once
// Rejects tar features that readers interpret differently. Layer: archive.

#include <array>
#include <optional>
#include <string>

#include "support/digest/stream.h"

namespace ptpkg::archive {

/// Passes the bytes of `below` (borrowed) through. Devices and pipes pass too: TarReader's caller refuses
/// them. Read errors: any error from `below`; kCorrupt for members that tar readers skip or unpack in
/// different ways:
/// - sparse files (type 'S', PAX keys "GNU.sparse.*")
/// - types other than files, links, directories, devices and headers
/// - content behind a link or directory
/// - global PAX headers with a name or size, PAX names that are empty or hold a NUL byte
/// - anything behind the end mark
/// - a tar without a single block, or with a cut one where a header begins (Python's tarfile refuses both)
class StrictTar final : public ByteSource {
 public:
  explicit StrictTar(ByteSource& below) : below_(below) {}
  Result<std::size_t> Read(MutableBytes buffer) override;

 private:
  static constexpr std::size_t kBlock = 512;

  Result<void> Take(Bytes bytes);
  Result<void> TakeHeader();
  [[nodiscard]] Result<void> CheckEnd() const;
  Result<void> TakePax();

  ByteSource& below_;
  std::array<std::byte, kBlock> header_{};
  std::size_t header_bytes_ = 0;
  std::uint64_t content_left_ = 0;     // with its padding
  std::optional<std::uint64_t> size_;  // of the next member, from a PAX header
  bool begun_ = false;
  bool ended_ = false;
  char pax_kind_ = '\0';         // 'x' or 'g' while such a header's content passes
  std::uint64_t pax_bytes_ = 0;  // of it, without the padding
  std::string pax_;
};

}  // namespace ptpkg::archive
