#pragma once
// Archives made by hand, byte by byte, for what no writer would write; and other helpers of these tests.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "archive/zip_format.h"
#include "support/env.h"
#include "support/fs.h"
#include "support/stream.h"

namespace ptpkg::archive::test {

/// `count` bytes that no compressor shrinks; equal for equal seeds.
std::string RandomText(std::size_t count, std::uint64_t seed = 1);
/// Of one block and of several, of words, noise and one repeated byte: seeds of deflate streams.
std::vector<std::string> TextsToDeflate();
/// `count` bytes that shrink well but not to nothing.
std::string WordyText(std::size_t count, std::uint64_t seed = 1);

/// A full disk.
class FailingSink final : public ByteSink {
 public:
  Result<void> Write(Bytes) override { return Error(ErrorCode::kIo, "no space left on device"); }
};

/// A program of the machine, run in `cwd`. Nothing if it is not installed.
std::optional<ExitStatus> RunTool(Env& env, const std::vector<std::string>& argv, const AbsPath& cwd);

/// A ustar header, with a right checksum.
struct TarHeader {
  std::string name;
  char type = '0';
  std::uint64_t size_bytes = 0;
  std::string link_target = "";
  std::uint32_t mode = 0644;
};
std::string ToText(const TarHeader& header);
/// Header and content, padded to blocks.
std::string TarFile(const std::string& name, const std::string& content, std::uint32_t mode = 0644);
std::string TarLink(const std::string& name, const std::string& target);
std::string TarHardLink(const std::string& name, const std::string& target);
std::string TarFolder(const std::string& name);
/// A PAX header of one record for the member that follows.
std::string TarPax(const std::string& key, const std::string& value);
std::string TarEnd();

/// A member of a hand-made zip. Stored unless `method` says otherwise; then `content` is taken as it is.
struct ZipMemberText {
  std::string name;
  std::string content = "";
  std::uint32_t unix_mode = 0100644;
  std::uint16_t method = 0;
  std::uint16_t flags = 0;
  std::uint16_t version_needed = 20;
  std::optional<std::string> local_name = std::nullopt;
  std::optional<std::uint32_t> local_crc = std::nullopt;
  std::optional<std::uint32_t> crc = std::nullopt;  ///< In both directories.
  std::optional<std::uint32_t> local_size = std::nullopt;
  std::optional<std::uint32_t> size = std::nullopt;  ///< In both directories.
  std::optional<std::uint32_t> local_stored = std::nullopt;
  std::optional<std::uint16_t> local_method = std::nullopt;
  std::optional<std::uint32_t> offset = std::nullopt;  ///< In the central directory.
  std::string local_extra = "";
  std::string central_extra = "";
  std::string comment = "";
  std::string after = "";  ///< Behind the content.
  bool in_central = true;
};
struct ZipText {
  std::vector<ZipMemberText> members;
  std::string prefix = "";      ///< Before the first local header.
  std::string before_end = "";  ///< Between central directory and end record.
  std::string suffix = "";      ///< After the end record.
  std::string comment = "";
  std::optional<std::uint16_t> count = std::nullopt;
  std::optional<std::uint32_t> directory_offset = std::nullopt;
};
std::string ToText(const ZipText& zip);

/// The ZIP64 end record of a zip that was made as above, and its locator.
struct Zip64End {
  std::uint64_t record_size = 44;  ///< As the record states it.
  std::string between = "";        ///< Between record and locator.
  std::uint64_t count_more = 0;    ///< Than the plain end record says.
  std::uint32_t disks = 1;
};
/// `zip`, which has no comment, with ZIP64 end records before its end record.
std::string WithZip64End(const std::string& zip, const Zip64End& end);

std::uint32_t CrcOf(std::string_view text);

}  // namespace ptpkg::archive::test
