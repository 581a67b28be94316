#include "archive/deflate_cache.h"

#include "archive/member_content.h"

namespace ptpkg::archive {

Result<std::unique_ptr<DeflateCache>> DeflateCache::Create(Env& env, const AbsPath& folder) {
  PTPKG_TRY(std::unique_ptr<File> file, OpenScratch(env, folder));
  return std::unique_ptr<DeflateCache>(new DeflateCache(std::move(file)));
}

Result<std::optional<std::string>> DeflateCache::Find(const Key& key) {
  Place place;
  {
    const std::lock_guard lock(mutex_);
    const auto found = places_.find(key);
    if (found == places_.end() || found->second.size_bytes == 0) return std::optional<std::string>();
    place = found->second;
  }
  std::string deflated(place.size_bytes, '\0');
  PTPKG_TRY(const std::size_t got, file_->ReadAt(place.offset, std::as_writable_bytes(std::span(deflated))));
  if (got != deflated.size()) return Error(ErrorCode::kIo, "a scratch file is shorter than what was written");
  return std::optional(std::move(deflated));
}

Result<void> DeflateCache::Add(const Key& key, const std::string& deflated) {
  Place place{.offset = 0, .size_bytes = deflated.size()};
  {
    const std::lock_guard lock(mutex_);
    if (deflated.size() > kMostBytes - end_ || !places_.try_emplace(key).second) return Ok();
    place.offset = end_;
    end_ += deflated.size();
  }
  Result<void> written = file_->WriteAt(place.offset, AsBytes(deflated));
  const std::lock_guard lock(mutex_);
  if (written) {
    places_[key] = place;
  } else {
    places_.erase(key);
  }
  return written;
}

}  // namespace ptpkg::archive
