// Opens .conda and .tar.bz2 and walks their tar members. Layer: conda.
//
// Unpacking, metadata and checks all read packages here, so they see the same members and the same refusals.
// Layers:
// - the decoder of bzip2 or zstd
// - BudgetedSource: refuses decompression bombs
// - StrictTar: refuses members that readers of tar treat differently
// - TarReader, and then MemberNames: refuses names and links that leave the package
//
// The first bytes decide the format, because a file can be renamed. The info part of a .conda is read first,
// so that members come in the same order as from a .tar.bz2, which begins with info/.

#include "conda/info/container.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "archive/member_names.h"
#include "archive/tar/strict_tar.h"
#include "support/digest/progress_source.h"

namespace ptpkg::conda {
namespace {

/// The unpacked size that one archive has left; shared by the parts of a .conda.
struct Budget {
  archive::ExtractLimits limits;
  std::uint64_t packed_bytes = 0;
  std::uint64_t unpacked_bytes = 0;
  std::uint64_t members = 0;

  Result<void> AddBytes(std::uint64_t count) {
    unpacked_bytes += count;
    if (unpacked_bytes <= limits.max_bytes && !limits.IsBomb(unpacked_bytes, packed_bytes)) return Ok();
    return Error(ErrorCode::kCorrupt, fmt::format("{} bytes unpack to more than {}: a decompression bomb",
                                                  packed_bytes, unpacked_bytes));
  }
  Result<void> AddMember() {
    if (++members <= limits.max_entries) return Ok();
    return Error(ErrorCode::kCorrupt, fmt::format("archive has more than {} members", limits.max_entries));
  }
};

/// Decoded bytes, counted against the budget.
class BudgetedSource final : public ByteSource {
 public:
  BudgetedSource(archive::DecodingSource& below, Budget& budget, const CancelToken& cancel)
      : below_(below), budget_(budget), cancel_(cancel) {}
  Result<std::size_t> Read(MutableBytes buffer) override {
    PTPKG_CHECK(cancel_.Check());
    PTPKG_TRY(const std::size_t count, below_.Read(buffer));
    // Counted with each read, so that a bomb ends before it has filled disk or memory.
    PTPKG_CHECK(budget_.AddBytes(count));
    return count;
  }

 private:
  archive::DecodingSource& below_;
  Budget& budget_;
  const CancelToken& cancel_;
};

class ContainerReader {
 public:
  ContainerReader(Env& env, std::string_view package, const OnMember& on_member,
                  const ContainerOptions& options)
      : env_(env),
        on_member_(on_member),
        info_only_(options.info_only),
        budget_{.limits = options.limits},
        names_(env.cancel, {.limits = options.limits}, package, 0) {}

  Result<ContainerFacts> Run(const AbsPath& package) {
    PTPKG_TRY(const std::unique_ptr<File> file, env_.fs.Open(package, OpenMode::kRead));
    PTPKG_TRY(const FileStat stat, file->Stat());
    budget_.packed_bytes = stat.size_bytes;
    // The metadata alone is there at once, and read of thousands of packages: no task tells of that.
    Task task(info_only_ ? silent_ : env_.reporter,
              {.stage = "unpack", .subject = std::string(package.Name()), .total_bytes = stat.size_bytes});
    PTPKG_CHECK(Read(package, *file, task));
    // A link can lead through one that comes later, so links are judged when all members are known.
    PTPKG_CHECK(names_.CheckLinks());
    task.Done();
    return std::move(facts_);
  }

 private:
  Result<void> Read(const AbsPath& package, File& file, Task& task) {
    std::array<std::byte, 4> magic{};
    PTPKG_TRY(const std::size_t count, file.ReadAt(0, magic));
    const std::string_view begin = AsText(Bytes(magic).first(count));
    if (begin.starts_with("BZh")) return ReadTarBz2(file, task);
    if (begin.starts_with("PK")) return ReadConda(package, task);
    return Error(ErrorCode::kCorrupt, "it is neither a .conda (zip) nor a .tar.bz2 file");
  }

  Result<void> ReadTarBz2(File& file, Task& task) {
    facts_.format = ArtifactFormat::kTarBz2;
    FileSource packed(file);
    ProgressSource told(packed, task);
    const auto source = archive::MakeBzip2Source(told);
    return ReadTar(Part::kWhole, "", *source);
  }

  Result<void> ReadConda(const AbsPath& package, Task& task) {
    facts_.format = ArtifactFormat::kConda;
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, package));
    facts_.zip_members = zip.members();
    // A missing metadata.json is not an error here. `ptpkg check` reports it (conda-zip-metadata).
    const auto has_metadata = std::any_of(facts_.zip_members.begin(), facts_.zip_members.end(),
                                          [](const auto& member) { return member.name == "metadata.json"; });
    if (has_metadata) {
      PTPKG_TRY(facts_.metadata, zip.ReadText("metadata.json", 1U << 20U));
    }
    PTPKG_CHECK(ReadPart(zip, Part::kInfo, "info-", task));
    if (info_only_) return Ok();
    return ReadPart(zip, Part::kPayload, "pkg-", task);
  }

  Result<void> ReadPart(const archive::ZipReader& zip, Part part, std::string_view prefix, Task& task) {
    // Only the beginning of the name counts, not the stem. A renamed package stays readable, like in mamba,
    // and the check reports the name: conda-package-streaming looks for the stem of the file name.
    const archive::ZipReader::Member* found = nullptr;
    for (const auto& member : facts_.zip_members) {
      if (!member.name.starts_with(prefix) || !member.name.ends_with(".tar.zst")) continue;
      if (found != nullptr) {
        // By the rule above, readers could choose different ones.
        return Error(ErrorCode::kCorrupt, fmt::format("zip has two members '{}*.tar.zst'", prefix));
      }
      found = &member;
    }
    if (found == nullptr) {
      return Error(ErrorCode::kCorrupt, fmt::format("zip has no member '{}*.tar.zst'", prefix));
    }
    PTPKG_TRY(const std::unique_ptr<ByteSource> packed, zip.OpenMember(found->name));
    ProgressSource told(*packed, task);
    const auto source = archive::MakeZstdSource(told);
    PTPKG_CHECK(ReadTar(part, found->name, *source), fmt::format("while reading '{}'", found->name));
    return Ok();
  }

  Result<void> ReadTar(Part part, const std::string& name, archive::DecodingSource& decoder) {
    BudgetedSource guarded(decoder, budget_, env_.cancel);
    archive::StrictTar source(guarded);
    PTPKG_TRY(const bool complete, WalkMembers(part, source));
    // The checksum at the end of the stream, and whatever follows it, is seen only by reading on.
    if (complete) PTPKG_CHECK(Drain(source));
    facts_.parts.push_back({.part = part, .member = name, .stream = decoder.facts()});
    return Ok();
  }

  Result<bool> WalkMembers(Part part, ByteSource& source) {
    PTPKG_TRY(archive::TarReader tar, archive::TarReader::Open(source));
    while (true) {
      PTPKG_TRY(const std::optional<archive::TarMember> member, tar.Next());
      if (!member) return true;
      PTPKG_CHECK(budget_.AddMember());
      PTPKG_CHECK(AcceptMember(*member));
      PTPKG_TRY(const bool go_on, on_member_(part, *member, tar.content()));
      if (!go_on) return false;
    }
  }

  /// One rule for the members of all parts, whoever reads them.
  Result<void> AcceptMember(const archive::TarMember& member) {
    const bool executable = (member.mode & 0100U) != 0;
    switch (member.kind) {
      case archive::TarKind::kRegular: {
        PTPKG_TRY(const auto path, names_.AddFile(member.name));
        if (executable && path) executables_.insert(path->str());
        return Ok();
      }
      case archive::TarKind::kDirectory:
        return WithoutValue(names_.AddFolder(member.name));
      case archive::TarKind::kSymlink:
        return WithoutValue(names_.AddSymlink(member.name, member.link_target));
      case archive::TarKind::kHardLink: {
        PTPKG_TRY(const auto link, names_.AddHardLink(member.name, member.link_target));
        // Readers that link give both names the permissions of the last one.
        if (!link || executables_.contains(link->target.str()) == executable) {
          if (link && executable) executables_.insert(link->name.str());
          return Ok();
        }
        return names_.Refuse(member.name, "is a hard link whose permissions differ from its target");
      }
      case archive::TarKind::kOther:
        break;
    }
    return names_.Refuse(member.name, "is a device, a pipe or a socket");
  }

  template <class T>
  static Result<void> WithoutValue(const Result<T>& result) {
    if (!result) return result.error();
    return Ok();
  }

  static Result<void> Drain(ByteSource& source) {
    std::vector<std::byte> buffer(1U << 16U);
    while (true) {
      PTPKG_TRY(const std::size_t count, source.Read(buffer));
      if (count == 0) return Ok();
    }
  }

  Env& env_;
  const OnMember& on_member_;
  bool info_only_;
  Budget budget_;
  NullReporter silent_;
  archive::MemberNames names_;
  std::set<std::string> executables_;  // files that were admitted
  ContainerFacts facts_;
};

}  // namespace

Result<ContainerFacts> ReadContainer(Env& env, const AbsPath& package, const OnMember& on_member,
                                     const ContainerOptions& options) {
  PTPKG_TRY(auto facts, ContainerReader(env, package.Name(), on_member, options).Run(package),
            fmt::format("while reading '{}'", package.str()));
  return facts;
}

Result<std::string> ReadText(ByteSource& content, std::uint64_t limit_bytes) {
  std::string text;
  std::vector<std::byte> buffer(1U << 16U);
  while (true) {
    PTPKG_TRY(const std::size_t count, content.Read(buffer));
    if (count == 0) return text;
    if (text.size() + count > limit_bytes) {
      return Error(ErrorCode::kCorrupt, fmt::format("a metadata file is longer than {} bytes", limit_bytes));
    }
    text.append(AsText(Bytes(buffer).first(count)));
  }
}

}  // namespace ptpkg::conda
