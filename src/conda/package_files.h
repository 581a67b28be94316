#pragma once
// Writes the two package containers from finished tar streams. Layer: conda. Source: CEP 35.

#include <memory>
#include <string>
#include <string_view>

#include "archive/codec/codec.h"
#include "archive/zip/zip_writer.h"
#include "conda/package.h"
#include "support/files/atomic_file.h"

namespace ptpkg::conda {

/// A .conda: WriteMetadata, then for each part Begin, the tar into the sink, End; then Finish. Each part is
/// one zstd frame of known content size.
class CondaFile {
 public:
  /// `stem`: "name-version-build". `mtime`: time of the zip members, Unix seconds. Borrows `env`.
  CondaFile(Env& env, AtomicFile file, std::string stem, std::int64_t mtime, const WriteOptions& options);
  ~CondaFile();

  Result<void> WriteMetadata();
  /// Returns the sink for the tar of `tar_bytes` that becomes "<part>-<stem>.tar.zst".
  Result<ByteSink*> Begin(std::string_view part, std::uint64_t tar_bytes);
  Result<void> End();
  /// Completes the file, still under its scratch name. Returns the digests of its bytes.
  Result<Digests> Finish();
  AtomicFile& file() { return file_; }

 private:
  class CrcSink;

  Env& env_;
  AtomicFile file_;
  archive::ZipWriter zip_;
  std::string stem_;
  WriteOptions options_;
  std::unique_ptr<CrcSink> crc_;
  std::unique_ptr<archive::CodecSink> codec_;
};

/// A .tar.bz2: the tar into sink(), then Finish.
class TarBz2File {
 public:
  TarBz2File(Env& env, AtomicFile file, const WriteOptions& options);

  ByteSink& sink() { return *codec_; }
  /// As CondaFile::Finish; the digests are taken while the file is written.
  Result<Digests> Finish();
  AtomicFile& file() { return file_; }

 private:
  AtomicFile file_;
  FileSink sink_;
  HashingSink hash_;
  std::unique_ptr<archive::CodecSink> codec_;
};

}  // namespace ptpkg::conda
