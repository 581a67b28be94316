// Copies the members of one container into the other, without unpacking them to files. Layer: conda.
//
// A .tar.bz2 is written while the .conda is read. A .conda states the size of each part before its content,
// and info/ comes last, so both parts of a .tar.bz2 first go to two uncompressed tars on disk.
//
// Invariant: digest, size, mode, kind and link target of every member are taken from the source while it is
// copied, and again from the finished file. Both lists have to be equal before the result counts.

#include "conda/transmute.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "archive/tar/tar_writer.h"
#include "conda/info/container.h"
#include "conda/info_reader.h"
#include "conda/package_files.h"
#include "support/files/scratch.h"

namespace ptpkg::conda {
namespace {

/// The facts about a member that both containers must share. The mode of a symlink is 0: extraction ignores
/// it.
struct MemberFacts {
  archive::TarKind kind = archive::TarKind::kRegular;
  std::uint32_t mode = 0;
  std::string link_target;
  Sha256 sha256;
  std::uint64_t size_bytes = 0;

  bool operator==(const MemberFacts&) const = default;
};
using Members = std::map<std::string, MemberFacts>;

/// Passes the content on to `sink`, which may be null, and notes the member.
Result<void> NoteMember(const archive::TarMember& member, ByteSource& content, ByteSink* sink,
                        Members& members) {
  HashingSink hash(sink);
  if (member.kind == archive::TarKind::kRegular) PTPKG_CHECK(Pump(content, hash));
  const Digests digests = hash.Finish();
  const bool is_symlink = member.kind == archive::TarKind::kSymlink;
  members[member.name] = {.kind = member.kind,
                          .mode = is_symlink ? 0 : member.mode & 0777U,
                          .link_target = member.link_target,
                          .sha256 = digests.sha256,
                          .size_bytes = digests.size_bytes};
  return Ok();
}

Result<Members> ReadMembers(Env& env, const AbsPath& package) {
  Members members;
  const auto on_member = [&](Part, const archive::TarMember& member, ByteSource& content) -> Result<bool> {
    PTPKG_CHECK(NoteMember(member, content, nullptr, members));
    return true;
  };
  PTPKG_CHECK(ReadContainer(env, package, on_member));
  return members;
}

/// The first member that differs.
Result<void> RequireEqual(const Members& before, const Members& after, const AbsPath& target) {
  const auto [left, right] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  if (left == before.end() && right == after.end()) return Ok();
  return Error(ErrorCode::kCorrupt, fmt::format("'{}' read back differs from its source: member '{}'",
                                                target.Name(), (left == before.end() ? right : left)->first));
}

class Transmuter {
 public:
  Transmuter(Env& env, const AbsPath& package, const AbsPath& target, const WriteOptions& options)
      : env_(env), package_(package), target_(target), options_(options) {}

  Result<Artifact> Run(ArtifactFormat format) {
    PTPKG_TRY(AtomicFile file, AtomicFile::Create(env_.fs, target_));
    artifact_ = {.format = format, .path = target_, .digests = {}, .unpacked_bytes = 0};
    Result<void> done =
        format == ArtifactFormat::kConda ? WriteConda(std::move(file)) : WriteTarBz2(std::move(file));
    if (done) done = Verify();
    if (done) return artifact_;
    // A rename may have happened before the sync failed; a file that came meanwhile is not ours.
    if (done.error().code() != ErrorCode::kAlreadyExists) static_cast<void>(env_.fs.Remove(target_));
    return std::move(done).error();
  }

 private:
  Result<void> WriteTarBz2(AtomicFile file) {
    TarBz2File out(env_, std::move(file), options_);
    PTPKG_TRY(archive::TarWriter tar, archive::TarWriter::Create(env_, out.sink(), 0));
    PTPKG_CHECK(CopyMembers(tar, tar));
    PTPKG_CHECK(tar.Finish());
    PTPKG_TRY(artifact_.digests, out.Finish());
    return std::move(out.file()).Commit(ExistingFilePolicy::kRefuse);
  }

  Result<void> WriteConda(AtomicFile file) {
    PTPKG_TRY(const TempDir scratch, TempDir::Create(env_.fs, target_.Parent(), "transmute"));
    PTPKG_TRY(const auto info, env_.fs.Open(scratch.path() / "info", OpenMode::kCreateNew));
    PTPKG_TRY(const auto payload, env_.fs.Open(scratch.path() / "payload", OpenMode::kCreateNew));
    FileSink info_sink(*info);
    FileSink payload_sink(*payload);
    PTPKG_TRY(archive::TarWriter info_tar, archive::TarWriter::Create(env_, info_sink, 0));
    PTPKG_TRY(archive::TarWriter payload_tar, archive::TarWriter::Create(env_, payload_sink, 0));
    PTPKG_CHECK(CopyMembers(info_tar, payload_tar));
    PTPKG_CHECK(info_tar.Finish());
    PTPKG_CHECK(payload_tar.Finish());
    std::string stem(target_.Name());
    stem.resize(stem.size() - ArtifactExtension(ArtifactFormat::kConda).size());
    CondaFile out(env_, std::move(file), std::move(stem), newest_, options_);
    PTPKG_CHECK(out.WriteMetadata());
    PTPKG_CHECK(CopyPart(out, "pkg", *payload, payload_sink.offset()));
    PTPKG_CHECK(CopyPart(out, "info", *info, info_sink.offset()));
    PTPKG_TRY(artifact_.digests, out.Finish());
    return std::move(out.file()).Commit(ExistingFilePolicy::kRefuse);
  }

  Result<void> CopyPart(CondaFile& out, std::string_view part, File& tar, std::uint64_t tar_bytes) {
    PTPKG_TRY(ByteSink* const sink, out.Begin(part, tar_bytes));
    Task task(env_.reporter,
              {.stage = "conda", .subject = std::string(target_.Name()), .total_bytes = tar_bytes});
    FileSource source(tar);
    std::vector<std::byte> buffer(1U << 20U);
    while (true) {
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_TRY(const std::size_t count, source.Read(buffer));
      if (count == 0) break;
      PTPKG_CHECK(sink->Write(Bytes(buffer).first(count)));
      task.Advance(count);
    }
    PTPKG_CHECK(out.End());
    task.Done();
    return Ok();
  }

  /// All members but directories, those below info/ into `info`. Both may be one tar.
  Result<void> CopyMembers(archive::TarWriter& info, archive::TarWriter& payload) {
    const auto on_member = [&](Part part, const archive::TarMember& member,
                               ByteSource& content) -> Result<bool> {
      if (member.kind == archive::TarKind::kDirectory) return true;
      const bool is_info = InfoCollector::IsInfo(member);
      if (part != Part::kWhole && is_info != (part == Part::kInfo)) {
        return Error(ErrorCode::kCorrupt, fmt::format("member '{}' is in the wrong part", member.name));
      }
      PTPKG_CHECK(CopyMember(is_info ? info : payload, member, content),
                  fmt::format("while copying '{}'", member.name));
      if (!is_info) artifact_.unpacked_bytes += member.size_bytes;
      return true;
    };
    PTPKG_TRY(const ContainerFacts facts, ReadContainer(env_, package_, on_member));
    if (facts.format != artifact_.format) return Ok();
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is a .{} file, whatever its name",
                                                       package_.str(), ArtifactFormatName(facts.format)));
  }

  Result<void> CopyMember(archive::TarWriter& tar, const archive::TarMember& member, ByteSource& content) {
    PTPKG_TRY(ByteSink* const sink, tar.Begin(member));
    PTPKG_CHECK(NoteMember(member, content, sink, members_));
    newest_ = std::max(newest_, member.mtime);
    return tar.End();
  }

  Result<void> Verify() {
    PTPKG_TRY(const Members after, ReadMembers(env_, target_));
    return RequireEqual(members_, after, target_);
  }

  Env& env_;
  const AbsPath& package_;
  const AbsPath& target_;
  const WriteOptions& options_;
  Members members_;
  std::int64_t newest_ = 0;
  Artifact artifact_;
};

}  // namespace

Result<Artifact> TransmutePackage(Env& env, const AbsPath& package, const AbsPath& target,
                                  const WriteOptions& options) {
  const std::string frame = fmt::format("while transmuting '{}'", package.str());
  PTPKG_TRY(const ArtifactFormat format, RequireFormat(target), frame);
  PTPKG_TRY(const bool exists, Exists(env.fs, target), frame);
  if (exists) return Error(ErrorCode::kAlreadyExists, fmt::format("'{}' already exists", target.str()));
  PTPKG_TRY(Artifact artifact, Transmuter(env, package, target, options).Run(format), frame);
  return artifact;
}

}  // namespace ptpkg::conda
