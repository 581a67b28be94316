// Deflates a chunk that several slices share only once.
//
// A key enters the map before its chunk exists, with an empty place: other threads that want the chunk wait
// instead of deflating it too. When the maker is done, it publishes the place, or erases the key if the
// chunk was not kept. Then one of the waiting threads makes the chunk itself.
//
// Invariant: a key with an empty place always has a running maker. The guard settles the key on every way
// out of the function, including an error and an exception, or the waiting threads would hang.

#include "archive/deflate/deflate_cache.h"

#include "archive/member_content.h"

namespace ptpkg::archive {

Result<std::unique_ptr<DeflateCache>> DeflateCache::Create(Env& env, const AbsPath& folder) {
  PTPKG_TRY(std::unique_ptr<File> file, OpenScratch(env, folder));
  return std::unique_ptr<DeflateCache>(new DeflateCache(std::move(file)));
}

Result<std::string> DeflateCache::Read(const Place& place) const {
  std::string deflated(place.size_bytes, '\0');
  PTPKG_TRY(const std::size_t got, file_->ReadAt(place.offset, std::as_writable_bytes(std::span(deflated))));
  if (got != deflated.size())
    return Error(ErrorCode::kIo, "a scratch file is shorter than the data written to it");
  return deflated;
}

/// Appends `deflated` to the file and returns its place; an empty one if it has no room.
DeflateCache::Place DeflateCache::Keep(const std::string& deflated) {
  Place place;
  {
    // Only the range is reserved under the lock. The write itself can overlap with others.
    const std::lock_guard lock(mutex_);
    if (deflated.size() > kMostBytes - end_) return {};
    place = {.offset = end_, .size_bytes = deflated.size()};
    end_ += deflated.size();
  }
  return file_->WriteAt(place.offset, AsBytes(deflated)) ? place : Place();
}

Result<std::string> DeflateCache::FindOrMake(const Key& key,
                                             const std::function<Result<std::string>()>& make) {
  {
    std::unique_lock lock(mutex_);
    const auto is_settled = [&] {
      const auto found = places_.find(key);
      return found == places_.end() || found->second.size_bytes != 0;
    };
    made_.wait(lock, is_settled);
    const auto found = places_.find(key);
    if (found != places_.end()) {
      const Place place = found->second;
      lock.unlock();
      // The cache saves time only: a chunk that cannot be read back is made again.
      Result<std::string> known = Read(place);
      return known ? std::move(known) : make();
    }
    places_.try_emplace(key);
  }
  Place place;  // of nothing, unless it is kept; also when memory ends
  const auto settle = [&](const Key* made) {
    {
      const std::lock_guard lock(mutex_);
      if (place.size_bytes != 0) {
        places_[*made] = place;
      } else {
        places_.erase(*made);
      }
    }
    made_.notify_all();
  };
  const std::unique_ptr<const Key, decltype(settle)> guard(&key, settle);
  Result<std::string> deflated = make();
  if (deflated) place = Keep(*deflated);
  return deflated;
}

}  // namespace ptpkg::archive
