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
  /// A chunk by its place in the original that several files share (SharedRange): a digest of 240 MB for each
  /// slice of torch's largest library would take a fifth of a second.
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

  /// The chunk, made by `make` when it is not there. Who asks for one that another thread is making waits for
  /// it: slices that are made side by side ask for the same chunks at about the same time. What the disk
  /// cannot do, or has no room for (kMostBytes), is made again: the cache saves time alone. Errors: those of
  /// `make`.
  Result<std::string> FindOrMake(const Key& key, const std::function<Result<std::string>()>& make);

 private:
  // All of libtorch_cuda.so, deflated, and as much again.
  static constexpr std::uint64_t kMostBytes = 1ULL << 30U;

  struct Place {
    std::uint64_t offset = 0;
    std::size_t size_bytes = 0;  ///< 0: being made, or not kept.
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
