#pragma once
// Deflated chunks that are kept for files with the same content in parts: the slices of one library have all
// its host code. Layer: archive.

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "support/env.h"
#include "support/hash.h"

namespace ptpkg::archive {

/// Any thread.
class DeflateCache {
 public:
  struct Key {
    Sha256 content;
    bool ends_stream = false;
    int level = 6;  ///< DeflateOptions::level
    auto operator<=>(const Key&) const = default;
  };

  /// In a file of `folder` without a name. Errors: kIo.
  static Result<std::unique_ptr<DeflateCache>> Create(Env& env, const AbsPath& folder);

  /// Errors: kIo.
  Result<std::optional<std::string>> Find(const Key& key);
  /// Keeps no more than kMostBytes in all. Errors: kIo.
  Result<void> Add(const Key& key, const std::string& deflated);

 private:
  // All of libtorch_cuda.so, deflated, and as much again.
  static constexpr std::uint64_t kMostBytes = 1ULL << 30U;

  struct Place {
    std::uint64_t offset = 0;
    std::size_t size_bytes = 0;  ///< 0: being written.
  };
  explicit DeflateCache(std::unique_ptr<File> file) : file_(std::move(file)) {}

  std::unique_ptr<File> file_;
  std::mutex mutex_;
  std::map<Key, Place> places_;
  std::uint64_t end_ = 0;
};

}  // namespace ptpkg::archive
