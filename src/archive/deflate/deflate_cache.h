#pragma once
// Caches deflated chunks shared by several slices of one library. Layer: archive.

#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "support/env.h"

namespace ptpkg::archive {

/// Any thread.
class DeflateCache {
 public:
  /// A chunk, identified by its range in the original that several files share (SharedRange). Hashing 240 MB
  /// for each slice of torch's largest library would take a fifth of a second.
  struct Key {
    std::string name;  ///< Name of the entry. All entries of a name that use one cache share one original.
    std::uint64_t from = 0;
    std::uint64_t size_bytes = 0;
    bool ends_stream = false;
    int level = 6;  ///< DeflateOptions::level
    auto operator<=>(const Key&) const = default;
  };

  /// Opens a cache in an unnamed file of `folder`. Errors: kIo.
  static Result<std::unique_ptr<DeflateCache>> Create(Env& env, const AbsPath& folder);

  /// Returns the chunk, made by `make` if it is not cached. If another thread is making the same chunk, waits
  /// for it: slices made in parallel ask for the same chunks at about the same time. On a disk error or a
  /// full cache (kMostBytes), calls `make` again: the cache only saves time. Errors: any error from `make`.
  Result<std::string> FindOrMake(const Key& key, const std::function<Result<std::string>()>& make);

 private:
  // All of libtorch_cuda.so, deflated, and as much again.
  static constexpr std::uint64_t kMostBytes = 1ULL << 30U;

  struct Place {
    std::uint64_t offset = 0;
    std::size_t size_bytes = 0;  ///< 0: being made, or not cached.
  };
  [[nodiscard]] Result<std::string> Read(const Place& place) const;
  Place Keep(const std::string& deflated);
  explicit DeflateCache(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;
  std::mutex mutex_;
  std::condition_variable made_;
  std::map<Key, Place> places_;
  std::uint64_t end_ = 0;
};

}  // namespace ptpkg::archive
