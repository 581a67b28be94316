// .conda and .tar.bz2 from one pass over the payload. Layer: conda. Source: CEP 35; docs/formats/conda.md.
//
// One tar stream of the payload feeds both formats, so each file is read once
// (docs/decisions/0005-conda-format-choices.md).
// - .tar.bz2: info/ and payload in one tar.
// - .conda: two tars, payload first. TarTee cuts the bytes of info/ off the shared stream, and info/ is
//   written again as a tar of its own at the end.
//
// No temporary tar exists. TarSize computes the size beforehand, because each zstd frame states it.
// Invariant: a file gets its name only when all files are complete. After a failed rename, earlier names go
// again, unless they replaced a file.

#include <fmt/core.h>

#include "archive/tar/tar_writer.h"
#include "conda/info/index_json.h"
#include "conda/info/info_files.h"
#include "conda/info/payload.h"
#include "conda/package.h"
#include "conda/package_files.h"
#include "conda/package_parts.h"
#include "support/text/plural.h"

namespace ptpkg::conda {
namespace {

using archive::Entry;
using archive::EntrySet;
using archive::TarWriter;

/// Feeds the tar stream to both codecs. The .tar.bz2 takes all of it; the payload part of the .conda begins
/// after the info members, `skip` bytes in. Also the place where progress and cancellation are seen.
class TarTee final : public ByteSink {
 public:
  TarTee(ByteSink* whole, ByteSink* payload, std::uint64_t skip)
      : whole_(whole), payload_(payload), skip_(skip) {}
  void Watch(Task& task, const CancelToken& cancel) {
    task_ = &task;
    cancel_ = &cancel;
  }

  Result<void> Write(Bytes bytes) override {
    if (cancel_ != nullptr) PTPKG_CHECK(cancel_->Check());
    if (whole_ != nullptr) PTPKG_CHECK(whole_->Write(bytes));
    if (task_ != nullptr) task_->Advance(bytes.size());
    const std::uint64_t skipped = std::min<std::uint64_t>(skip_, bytes.size());
    skip_ -= skipped;
    const Bytes rest = bytes.subspan(skipped);
    if (payload_ == nullptr || rest.empty()) return Ok();
    return payload_->Write(rest);
  }

 private:
  ByteSink* whole_;
  ByteSink* payload_;
  std::uint64_t skip_;
  Task* task_ = nullptr;
  const CancelToken* cancel_ = nullptr;
};

Result<void> WriteTar(Env& env, ByteSink& out, const std::vector<const EntrySet*>& parts) {
  PTPKG_TRY(TarWriter tar, TarWriter::Create(env, out, env.source_date_epoch));
  for (const EntrySet* part : parts) {
    for (const Entry* entry : part->Sorted()) {
      PTPKG_CHECK(tar.Append(*entry), fmt::format("while packing '{}'", entry->name.str()));
    }
  }
  return tar.Finish();
}

/// One package being written, in one or both formats.
class PackageWriter {
 public:
  PackageWriter(Env& env, const AbsPath& folder, std::string stem, const WriteOptions& options)
      : env_(env), folder_(folder), stem_(std::move(stem)), options_(options) {}

  Result<std::vector<Artifact>> Run(const EntrySet& info, const EntrySet& payload) {
    PTPKG_CHECK(RefuseExisting());
    PTPKG_CHECK(OpenFiles());
    PTPKG_CHECK(WriteContent(info, payload));
    // Both digests are known before either file has its name: the second file can still fail.
    PTPKG_CHECK(FinishFiles());
    return Commit();
  }

 private:
  struct Target {
    ArtifactFormat format;
    AbsPath path;
    bool existed;
  };

  AbsPath PathOf(ArtifactFormat format) const {
    return folder_ / (stem_ + std::string(ArtifactExtension(format)));
  }

  /// Before hours of compression, not after.
  Result<void> RefuseExisting() {
    for (const ArtifactFormat format : {ArtifactFormat::kConda, ArtifactFormat::kTarBz2}) {
      if (format == ArtifactFormat::kConda ? !options_.conda : !options_.tar_bz2) continue;
      const AbsPath path = PathOf(format);
      PTPKG_TRY(const bool exists, Exists(env_.fs, path));
      if (exists && options_.on_existing == ExistingFilePolicy::kRefuse) {
        return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", path.str()))
            .WithHint("raise the build number, or remove the file");
      }
      targets_.push_back({format, path, exists});
    }
    return Ok();
  }

  Result<void> OpenFiles() {
    for (const Target& target : targets_) {
      PTPKG_TRY(AtomicFile file, AtomicFile::Create(env_.fs, target.path));
      if (target.format == ArtifactFormat::kConda) {
        conda_ = std::make_unique<CondaFile>(env_, std::move(file), stem_, env_.source_date_epoch, options_);
      } else {
        tar_bz2_ = std::make_unique<TarBz2File>(env_, std::move(file), options_);
      }
    }
    return Ok();
  }

  Result<void> WriteContent(const EntrySet& info, const EntrySet& payload) {
    PTPKG_TRY(const std::uint64_t info_bytes, archive::TarSize(info));
    PTPKG_TRY(const std::uint64_t payload_bytes, archive::TarSize(payload));
    // The end mark of a tar follows the payload only. The size of info/ within the joint tar is without it.
    PTPKG_TRY(const std::uint64_t end_bytes, archive::TarSize(EntrySet()));
    const std::uint64_t before_payload = tar_bz2_ ? info_bytes - end_bytes : 0;
    Task task(env_.reporter,
              {.stage = "conda", .subject = stem_, .total_bytes = before_payload + payload_bytes});
    ByteSink* payload_sink = nullptr;
    if (conda_) {
      PTPKG_CHECK(conda_->WriteMetadata());
      PTPKG_TRY(payload_sink, conda_->Begin("pkg", payload_bytes));
    }
    TarTee tee(tar_bz2_ ? &tar_bz2_->sink() : nullptr, payload_sink, before_payload);
    tee.Watch(task, env_.cancel);
    std::vector<const EntrySet*> parts{&payload};
    if (tar_bz2_) parts.insert(parts.begin(), &info);
    PTPKG_CHECK(WriteTar(env_, tee, parts));
    if (conda_) {
      PTPKG_CHECK(conda_->End());
      // Last, so that a client can fetch it with one request for the end of the file.
      PTPKG_TRY(ByteSink * info_sink, conda_->Begin("info", info_bytes));
      PTPKG_CHECK(WriteTar(env_, *info_sink, {&info}));
      PTPKG_CHECK(conda_->End());
    }
    unpacked_bytes_ = payload.TotalBytes();
    task.Done(Plural(payload.size(), "file"));
    return Ok();
  }

  Result<void> FinishFiles() {
    for (const Target& target : targets_) {
      const bool conda = target.format == ArtifactFormat::kConda;
      PTPKG_TRY(const Digests digests, conda ? conda_->Finish() : tar_bz2_->Finish());
      artifacts_.push_back({.format = target.format,
                            .path = target.path,
                            .digests = digests,
                            .unpacked_bytes = unpacked_bytes_});
    }
    return Ok();
  }

  /// All are complete on disk by now.
  Result<std::vector<Artifact>> Commit() {
    for (std::size_t i = 0; i < targets_.size(); ++i) {
      AtomicFile& file = targets_[i].format == ArtifactFormat::kConda ? conda_->file() : tar_bz2_->file();
      auto committed = std::move(file).Commit(options_.on_existing);
      if (committed) continue;
      // A rename may have happened before the sync failed; a file that came meanwhile is not ours.
      const bool others = committed.error().code() == ErrorCode::kAlreadyExists;
      RemoveCommitted(others ? i : i + 1);
      return std::move(committed).error();
    }
    return std::move(artifacts_);
  }

  /// Takes back the first `count` targets, unless they replaced a file.
  void RemoveCommitted(std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      if (!targets_[i].existed)
        static_cast<void>(env_.fs.Remove(targets_[i].path));  // the first error counts
    }
  }

  Env& env_;
  const AbsPath& folder_;
  std::string stem_;
  const WriteOptions& options_;
  std::vector<Target> targets_;
  std::unique_ptr<CondaFile> conda_;
  std::unique_ptr<TarBz2File> tar_bz2_;
  std::vector<Artifact> artifacts_;
  std::uint64_t unpacked_bytes_ = 0;
};

}  // namespace

Result<std::vector<Artifact>> WritePackages(Env& env, const PackageInput& input, const AbsPath& folder,
                                            const WriteOptions& options) {
  const std::string stem = input.metadata.FileStem();
  const std::string frame = fmt::format("while packing '{}'", stem);
  if (!options.conda && !options.tar_bz2) {
    return Error(ErrorCode::kInvalidInput, fmt::format("no package format given for '{}'", stem));
  }
  // The metadata comes first, because its check takes no time and MakePayload can read gigabytes.
  PTPKG_CHECK(CheckMetadata(input.metadata), frame);
  PTPKG_TRY(const Payload payload, MakePayload(env, input), frame);
  PTPKG_TRY(const EntrySet info, MakeInfoFiles(input.metadata, payload.paths, env.source_date_epoch), frame);
  for (const std::string& warning : NameWarnings(payload.paths)) {
    env.reporter.Warn(fmt::format("{}: {}", stem, warning));
  }
  PTPKG_TRY(auto artifacts, PackageWriter(env, folder, stem, options).Run(info, payload.entries), frame);
  return artifacts;
}

Result<std::vector<Artifact>> WritePackageParts(Env& env, const PackageParts& parts, const AbsPath& folder,
                                                const WriteOptions& options) {
  PTPKG_TRY(auto artifacts, PackageWriter(env, folder, parts.stem, options).Run(parts.info, parts.payload),
            fmt::format("while packing '{}'", parts.stem));
  return artifacts;
}

}  // namespace ptpkg::conda
