// Writes the zip container: local headers, the central directory and the end records (docs/formats/zip.md).
// libdeflate or the caller makes the contents. docs/decisions/0003-own-zip-writer.md explains why no
// library does this.
//
// Sizes and CRC are unknown when a member begins, and a data descriptor behind the content would be refused
// by PyPI. So the header is rewritten when the member ends. A ZIP64 field cannot be added then, so the
// caller reserves it in advance. Small members are completed while they are still in the buffer.
//
// Copied members are not read: adjacent ranges of the same source collect into one and go through
// CopyRange, where the kernel can share blocks.
//
// Invariant: `pending` follows the written bytes, and a collected copy follows `pending`. Whatever appends
// must settle the copy first. Source: APPNOTE 6.3.10, section numbers below.

#include "archive/zip/zip_writer.h"

#include <algorithm>
#include <fmt/core.h>
#include <unordered_set>

#include "archive/zip/zip_format.h"
#include "support/files/copy_range.h"

namespace ptpkg::archive {
namespace {

using zip::Fields;
using zip::kMax16;
using zip::kMax32;

// A member smaller than this gets its completed header while it is still in memory: one write per MiB of
// small members instead of three per member.
constexpr std::size_t kPendingBytes = 1U << 20U;

/// One member as both directories describe it.
struct Record {
  std::string name;
  std::uint32_t mode = 0;
  ZipMethod method = ZipMethod::kStored;
  ZipTime time = {};
  bool zip64 = false;  // of the local header
  std::uint64_t offset = 0;
  std::uint32_t crc32 = 0;
  std::uint64_t size_bytes = 0;
  std::uint64_t stored_bytes = 0;

  [[nodiscard]] std::uint16_t Flags() const { return IsAscii(name) ? 0 : zip::kFlagUtf8; }
};

std::string LocalHeader(const Record& record) {
  Fields fields;
  fields.U32(zip::kLocalSignature)
      .U16(record.zip64 ? zip::kVersionZip64 : zip::kVersionDeflate)
      .U16(record.Flags())
      .U16(static_cast<std::uint16_t>(record.method))
      .U16(record.time.time)
      .U16(record.time.date)
      .U32(record.crc32)
      .U32(record.zip64 ? kMax32 : record.stored_bytes)
      .U32(record.zip64 ? kMax32 : record.size_bytes)
      .U16(record.name.size())
      .U16(record.zip64 ? 20 : 0)
      .Text(record.name);
  // 4.5.3: the local field must hold both sizes.
  if (record.zip64) fields.U16(zip::kZip64ExtraId).U16(16).U64(record.size_bytes).U64(record.stored_bytes);
  return fields.str();
}

std::string CentralHeader(const Record& record) {
  // 4.5.3: only the fields that do not fit, in this order.
  Fields large;
  if (record.size_bytes >= kMax32) large.U64(record.size_bytes);
  if (record.stored_bytes >= kMax32) large.U64(record.stored_bytes);
  if (record.offset >= kMax32) large.U64(record.offset);
  const bool has_extra = !large.str().empty();
  // Not below the local header's: libzip's consistency check compares the two.
  const std::uint16_t version = record.zip64 || has_extra ? zip::kVersionZip64 : zip::kVersionDeflate;
  Fields fields;
  fields.U32(zip::kCentralSignature)
      .U16(static_cast<std::uint16_t>(zip::kMadeByUnix | version))
      .U16(version)
      .U16(record.Flags())
      .U16(static_cast<std::uint16_t>(record.method))
      .U16(record.time.time)
      .U16(record.time.date)
      .U32(record.crc32)
      .U32(std::min<std::uint64_t>(record.stored_bytes, kMax32))
      .U32(std::min<std::uint64_t>(record.size_bytes, kMax32))
      .U16(record.name.size())
      .U16(has_extra ? large.str().size() + 4 : 0)
      .U16(0)  // comment
      .U16(0)  // disk
      .U16(0)  // internal attributes
      .U32(std::uint64_t{record.mode} << 16U)
      .U32(std::min<std::uint64_t>(record.offset, kMax32))
      .Text(record.name);
  if (has_extra) fields.U16(zip::kZip64ExtraId).U16(large.str().size()).Text(large.str());
  return fields.str();
}

bool NeedsZip64(const ZipWriter::Copied& member) {
  return member.size_bytes >= kMax32 || member.stored_bytes >= kMax32;
}

struct Extent {
  std::uint64_t offset = 0;
  std::uint64_t size_bytes = 0;
};

std::string EndRecords(std::uint64_t count, Extent directory) {
  Fields fields;
  if (count >= kMax16 || directory.offset >= kMax32 || directory.size_bytes >= kMax32) {
    fields.U32(zip::kEnd64Signature)
        .U64(zip::kEnd64Bytes - 12)  // 4.3.14.1: without signature and this field
        .U16(zip::kMadeByUnix | zip::kVersionZip64)
        .U16(zip::kVersionZip64)
        .U32(0)
        .U32(0)
        .U64(count)
        .U64(count)
        .U64(directory.size_bytes)
        .U64(directory.offset);
    fields.U32(zip::kEnd64LocatorSignature).U32(0).U64(directory.offset + directory.size_bytes).U32(1);
  }
  fields.U32(zip::kEndSignature)
      .U16(0)
      .U16(0)
      .U16(std::min<std::uint64_t>(count, kMax16))
      .U16(std::min<std::uint64_t>(count, kMax16))
      .U32(std::min<std::uint64_t>(directory.size_bytes, kMax32))
      .U32(std::min<std::uint64_t>(directory.offset, kMax32))
      .U16(0);
  return fields.str();
}

}  // namespace

struct ZipWriter::State final : public ByteSink {
  State(File& file_in, ZipTime time_in) : file(file_in), time(time_in) {}

  /// Content of the open member.
  Result<void> Write(Bytes bytes) override {
    PTPKG_ASSERT(open);
    records.back().stored_bytes += bytes.size();
    return Append(bytes);
  }

  [[nodiscard]] std::uint64_t offset() const { return flushed + pending.size() + copied.size_bytes; }

  Result<void> Append(Bytes bytes) {
    PTPKG_CHECK(SettleCopied());
    return AppendBytes(bytes);
  }

  Result<void> AppendBytes(Bytes bytes) {
    if (pending.size() + bytes.size() > kPendingBytes) PTPKG_CHECK(Flush());
    if (bytes.size() >= kPendingBytes) {
      PTPKG_CHECK(file.WriteAt(flushed, bytes));
      flushed += bytes.size();
      return Ok();
    }
    pending.append(AsText(bytes));
    return Ok();
  }

  Result<void> Flush() {
    if (pending.empty()) return Ok();
    PTPKG_CHECK(file.WriteAt(flushed, AsBytes(pending)));
    flushed += pending.size();
    pending.clear();
    return Ok();
  }

  /// Appends bytes of another file: remembered, because more of it may follow.
  Result<void> AppendCopied(File& source, std::uint64_t from, std::uint64_t size_bytes) {
    if (copied_from != &source || copied.from + copied.size_bytes != from) {
      PTPKG_CHECK(SettleCopied());
      copied_from = &source;
      copied.from = from;
    }
    copied.size_bytes += size_bytes;
    return Ok();
  }

  Result<void> SettleCopied() {
    if (copied.size_bytes == 0) return Ok();
    CopiedRange range = std::exchange(copied, {});
    if (range.size_bytes < kPendingBytes) {
      std::string bytes(range.size_bytes, '\0');
      PTPKG_TRY(const std::size_t got,
                copied_from->ReadAt(range.from, std::as_writable_bytes(std::span(bytes))));
      if (got != bytes.size()) return Error(ErrorCode::kCorrupt, "the zip that is copied from is truncated");
      PTPKG_CHECK(AppendBytes(AsBytes(bytes)));
      return on_copied(range.size_bytes);
    }
    PTPKG_CHECK(Flush());
    range.to = flushed;
    PTPKG_CHECK(CopyRange(*copied_from, file, range, on_copied));
    flushed += range.size_bytes;
    return Ok();
  }

  /// Takes a record up. Errors: kInvalidInput for a name that no zip may have, or that this one has already.
  Result<void> AddRecord(Record record) {
    if (record.name.size() > kMax16) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("archive member '{}...' has a name of more than 65535 bytes",
                               Printable(record.name.substr(0, 60))));
    }
    if (HasControlCharacter(record.name) || !IsUtf8(record.name)) {
      return Error(
          ErrorCode::kInvalidInput,
          fmt::format("archive member '{}' has a name that is not printable UTF-8", Printable(record.name)));
    }
    if (!names.insert(record.name).second) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("archive member '{}' was already added", record.name));
    }
    records.push_back(std::move(record));
    return Ok();
  }

  /// Replaces bytes that were appended before, in the buffer or in the file.
  Result<void> Overwrite(std::uint64_t at, std::string_view bytes) {
    if (at < flushed) {
      // A header lies either wholly in the file or wholly in the buffer: Append never splits its input.
      PTPKG_ASSERT(at + bytes.size() <= flushed);
      return file.WriteAt(at, AsBytes(bytes));
    }
    pending.replace((at - flushed), bytes.size(), bytes);
    return Ok();
  }

  File& file;
  ZipTime time;
  std::vector<Record> records;
  std::unordered_set<std::string> names;
  std::string pending;
  std::uint64_t flushed = 0;
  File* copied_from = nullptr;
  CopiedRange copied = {};  // of copied_from, to be appended behind `pending`; `to` is not known yet
  std::function<Result<void>(std::uint64_t)> on_copied = [](std::uint64_t) { return Ok(); };
  bool open = false;
};

ZipWriter::ZipWriter(File& file, std::int64_t mtime)
    : state_(std::make_unique<State>(file, ZipTimeOf(mtime))) {}
ZipWriter::~ZipWriter() = default;

Result<ByteSink*> ZipWriter::Begin(const Member& member) {
  PTPKG_ASSERT(!state_->open);
  PTPKG_CHECK(state_->AddRecord({.name = member.name.str(),
                                 .mode = zip::kModeRegular | (member.mode & 0777U),
                                 .method = member.method,
                                 .time = state_->time,
                                 .zip64 = member.zip64,
                                 .offset = state_->offset()}));
  PTPKG_CHECK(state_->Append(AsBytes(LocalHeader(state_->records.back()))));
  state_->open = true;
  return static_cast<ByteSink*>(state_.get());
}

Result<void> ZipWriter::End(std::uint32_t crc32, std::uint64_t size_bytes) {
  PTPKG_ASSERT(state_->open);
  state_->open = false;
  Record& record = state_->records.back();
  record.crc32 = crc32;
  record.size_bytes = size_bytes;
  if (record.method == ZipMethod::kStored && record.stored_bytes != size_bytes) {
    return Error(ErrorCode::kInternal, fmt::format("stored member '{}' got {} bytes, not {}", record.name,
                                                   record.stored_bytes, size_bytes));
  }
  if (!record.zip64 && (size_bytes >= kMax32 || record.stored_bytes >= kMax32)) {
    return Error(ErrorCode::kInternal,
                 fmt::format("member '{}' outgrew 4 GiB without a reserved ZIP64 field", record.name));
  }
  return state_->Overwrite(record.offset, LocalHeader(record));
}

Result<void> ZipWriter::Copy(File& source, const Copied& member) {
  PTPKG_ASSERT(!state_->open);
  PTPKG_CHECK(state_->AddRecord({.name = member.name.str(),
                                 .mode = member.mode & (zip::kModeType | 0777U),
                                 .method = member.method,
                                 .time = member.time,
                                 .zip64 = member.header_bytes != 0 ? member.zip64 : NeedsZip64(member),
                                 .offset = state_->offset(),
                                 .crc32 = member.crc32,
                                 .size_bytes = member.size_bytes,
                                 .stored_bytes = member.stored_bytes}));
  if (member.header_bytes == 0) PTPKG_CHECK(state_->Append(AsBytes(LocalHeader(state_->records.back()))));
  return state_->AppendCopied(source, member.data_offset - member.header_bytes,
                              member.header_bytes + member.stored_bytes);
}

void ZipWriter::OnCopied(std::function<Result<void>(std::uint64_t)> on_copied) {
  state_->on_copied = std::move(on_copied);
}

Result<std::uint64_t> ZipWriter::Finish() {
  PTPKG_ASSERT(!state_->open);
  Extent directory{.offset = state_->offset(), .size_bytes = 0};
  for (const Record& record : state_->records) {
    PTPKG_CHECK(state_->Append(AsBytes(CentralHeader(record))));
  }
  directory.size_bytes = state_->offset() - directory.offset;
  PTPKG_CHECK(state_->Append(AsBytes(EndRecords(state_->records.size(), directory))));
  PTPKG_CHECK(state_->Flush());
  return state_->flushed;
}

}  // namespace ptpkg::archive
