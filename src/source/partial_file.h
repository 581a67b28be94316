#pragma once
// Partial download in the cache. Layer: source.
//
// - DIR/.partial-<16 hex digits of the URL's sha256>: the bytes
// - DIR/.partial-<16 hex digits of the URL's sha256>.version: the server's version of the file
//
// Neither name is scratch: the files outlive a killed run, and the next run resumes.

#include <memory>
#include <string>

#include "support/digest/hash.h"
#include "support/env.h"

namespace ptpkg::source {

class PartialFile final : public ByteSink {
 public:
  /// Opens the partial file of `url`, or an empty one. REQUIRES: the caller alone uses `folder`'s partial
  /// files. Errors: kIo.
  static Result<PartialFile> Open(Env& env, const AbsPath& folder, const std::string& url,
                                  HashChoice choice = {});

  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }
  /// For HttpRequest::resume_version; "" where nothing can be resumed.
  [[nodiscard]] const std::string& version() const { return version_; }

  /// HttpRequest::on_begin: bytes beyond `begin.offset` are dropped.
  Result<void> Begin(const HttpBegin& begin);
  Result<void> Write(Bytes bytes) override;
  /// Digests of all bytes. Errors: kIo.
  Result<Digests> Digest();
  /// Syncs, and gives the file its name, which it replaces. Errors: kIo.
  Result<void> MoveTo(const AbsPath& target) &&;
  /// Forgets all bytes. Errors: kIo.
  Result<void> Drop();

 private:
  PartialFile(Env& env, AbsPath path, std::unique_ptr<File> file, HashChoice choice)
      : env_(&env), path_(std::move(path)), file_(std::move(file)), choice_(choice) {}
  [[nodiscard]] AbsPath VersionPath() const;

  Env* env_;
  AbsPath path_;
  std::unique_ptr<File> file_;
  HashChoice choice_;
  std::uint64_t size_bytes_ = 0;
  std::string version_;
  std::unique_ptr<HashingSink> hasher_;  // has seen every byte; null when some are of an earlier run
};

/// Removes all partial files of `folder`, after one of them became whole. Errors: kIo.
Result<void> RemovePartialFiles(Fs& fs, const AbsPath& folder);

/// True for the names of PartialFile's files.
bool IsPartialFileName(std::string_view name);

}  // namespace ptpkg::source
