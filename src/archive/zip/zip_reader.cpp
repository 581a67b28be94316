// Single members of a zip, by name. Layer: archive.

#include <fmt/core.h>
#include <unordered_map>

#include "archive/entry_set.h"
#include "archive/extract.h"
#include "archive/zip/zip_content.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint16_t kStoredMethod = 0;

}  // namespace

struct ZipReader::State {
  AbsPath path;
  std::unique_ptr<ZipContent> content;
  std::optional<zip::Handle> handle;  // once it is needed: for a large archive it takes longer than all else
  std::vector<Member> members;
  std::unordered_map<std::string_view, std::size_t> index;  // by the name in the directory

  [[nodiscard]] Result<std::size_t> IndexOf(std::string_view name) const {
    const auto found = index.find(name);
    if (found != index.end()) return found->second;
    return Error(ErrorCode::kNotFound, fmt::format("'{}' has no member '{}'", path.str(), Printable(name)));
  }
};

ZipReader::ZipReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipReader::ZipReader(ZipReader&&) noexcept = default;
ZipReader::~ZipReader() = default;

Result<ZipReader> ZipReader::Open(Fs& fs, const AbsPath& archive) {
  // Whoever reads a member says how large it may be.
  const ExtractLimits limits{.max_bytes = UINT64_MAX};
  PTPKG_TRY(std::unique_ptr<ZipContent> content, ZipContent::Open(fs, archive, limits));
  auto state = std::make_unique<State>(
      State{.path = archive, .content = std::move(content), .handle = {}, .members = {}, .index = {}});
  const std::vector<zip::CentralRecord>& records = state->content->directory().records;
  state->members.reserve(records.size());
  state->index.reserve(records.size());
  for (const zip::CentralRecord& record : records) {
    // Readers differ in which of two equal names they take.
    if (!state->index.emplace(record.name, state->members.size()).second) {
      return Error(ErrorCode::kCorrupt,
                   fmt::format("'{}': member '{}' occurs twice", archive.str(), Printable(record.name)));
    }
    state->members.push_back({.name = record.name,
                              .size_bytes = record.size_bytes,
                              .stored_bytes = record.stored_bytes,
                              .crc32 = record.crc32,
                              .stored = record.method == kStoredMethod,
                              .mode = record.UnixMode()});
  }
  return ZipReader(std::move(state));
}

const std::vector<ZipReader::Member>& ZipReader::members() const { return state_->members; }

Result<Sha256> ZipReader::DirectoryDigest() const {
  const zip::Directory& directory = state_->content->directory();
  PTPKG_TRY(const std::string bytes,
            zip::ReadRange(state_->content->file(), directory.offset, directory.file_bytes - directory.offset,
                           state_->path.str()));
  return HashText(bytes);
}

const ZipReader::Member* ZipReader::Find(std::string_view name) const {
  const auto found = state_->index.find(name);
  return found == state_->index.end() ? nullptr : &state_->members[found->second];
}

Result<std::string> ZipReader::ReadText(std::string_view name, std::uint64_t limit_bytes) const {
  PTPKG_TRY(const std::size_t index, state_->IndexOf(name));
  if (const Member& member = state_->members[index]; member.size_bytes > limit_bytes) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("'{}': member '{}' has {} bytes, more than the limit of {}", state_->path.str(),
                             Printable(name), member.size_bytes, limit_bytes));
  }
  StringSink text;
  PTPKG_CHECK(state_->content->Stream(index, [&](ByteSource& content) -> Result<void> {
    PTPKG_TRY([[maybe_unused]] const std::uint64_t size_bytes, Pump(content, text));
    return Ok();
  }));
  return text.str();
}

Result<std::unique_ptr<ByteSource>> ZipReader::OpenMember(std::string_view name) const {
  PTPKG_TRY(const std::size_t index, state_->IndexOf(name));
  if (!state_->handle) {
    PTPKG_TRY(state_->handle, zip::Handle::Open(state_->content->file(), state_->path.str()));
  }
  return state_->handle->OpenMember(index);
}

}  // namespace ptpkg::archive
