// Single members of a zip, by name. Layer: archive.

#include <fmt/core.h>
#include <map>

#include "archive/entry_set.h"
#include "archive/extract.h"
#include "archive/zip_directory.h"
#include "archive/zip_handle.h"

namespace ptpkg::archive {
namespace {

constexpr std::uint16_t kStoredMethod = 0;

}  // namespace

struct ZipReader::State {
  AbsPath path;
  std::unique_ptr<File> file;
  zip::Handle handle;  // after the file, which it borrows
  std::vector<Member> members;
  std::map<std::string, std::size_t, std::less<>> index;
};

ZipReader::ZipReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
ZipReader::ZipReader(ZipReader&&) noexcept = default;
ZipReader::~ZipReader() = default;

Result<ZipReader> ZipReader::Open(Fs& fs, const AbsPath& archive) {
  PTPKG_TRY(std::unique_ptr<File> file, fs.Open(archive, OpenMode::kRead));
  PTPKG_TRY(const zip::Directory directory, zip::ReadDirectory(*file, archive.str()));
  PTPKG_CHECK(zip::CheckLocalHeaders(*file, directory, archive.str()));
  PTPKG_TRY(zip::Handle handle, zip::Handle::Open(*file, archive.str()));
  auto state = std::unique_ptr<State>(new State{
      .path = archive, .file = std::move(file), .handle = std::move(handle), .members = {}, .index = {}});
  for (const zip::CentralRecord& record : directory.records) {
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

const ZipReader::Member* ZipReader::Find(std::string_view name) const {
  const auto found = state_->index.find(name);
  return found == state_->index.end() ? nullptr : &state_->members[found->second];
}

Result<std::string> ZipReader::ReadText(std::string_view name, std::uint64_t limit_bytes) const {
  const Member* member = Find(name);
  if (member != nullptr && member->size_bytes > limit_bytes) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("'{}': member '{}' has {} bytes, more than the {} that fit its kind",
                             state_->path.str(), Printable(name), member->size_bytes, limit_bytes));
  }
  PTPKG_TRY(const std::unique_ptr<ByteSource> source, OpenMember(name));
  StringSink text;
  PTPKG_TRY(const std::uint64_t size_bytes, Pump(*source, text));
  if (size_bytes != member->size_bytes) {
    return Error(ErrorCode::kCorrupt,
                 fmt::format("'{}': member '{}' is cut off", state_->path.str(), Printable(name)));
  }
  return text.str();
}

Result<std::unique_ptr<ByteSource>> ZipReader::OpenMember(std::string_view name) const {
  const auto found = state_->index.find(name);
  if (found == state_->index.end()) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' has no member '{}'", state_->path.str(), Printable(name)));
  }
  return state_->handle.OpenMember(found->second);
}

}  // namespace ptpkg::archive
