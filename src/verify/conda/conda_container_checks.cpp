// Container checks. Layer: verify.
//
// Readers differ without an error. After the first bzip2 stream, rattler stops (so do pixi and
// rattler-build), and files are missing after the installation. After the first zstd frame, it stops only
// where it reads the metadata of a package at a URL. Windows above 2^27 are refused by default in zstd,
// libarchive and python-zstandard. The stem of the file name leads conda-package-streaming to the parts of a
// .conda. Only stored members can be read by rattler. Findings about members have a count and no names,
// because a tar made in a careless way has the fault everywhere.

#include "verify/conda/conda_container_checks.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "support/text/json.h"
#include "verify/rules/zip_container.h"

namespace ptpkg::verify {
namespace {

constexpr std::uint64_t kMaxWindow = 1ULL << 27U;
constexpr std::string_view kPackAgain = "rebuild the package with ptpkg, conda-build or rattler-build";

void Add(std::vector<Finding>& findings, std::string_view id, Severity severity, std::string message) {
  findings.push_back({std::string(id), severity, "", std::move(message), std::string(kPackAgain)});
}

void CheckStream(const conda::PartFacts& part, std::vector<Finding>& findings) {
  if (part.part == conda::Part::kWhole) {
    if (part.stream.streams > 1) {
      Add(findings, "conda-bzip2-streams", Severity::kError,
          fmt::format("the archive has {} bzip2 streams; rattler and pixi read only the first",
                      part.stream.streams));
    }
    return;
  }
  if (part.stream.streams > 1) {
    const bool is_info = part.part == conda::Part::kInfo;
    Add(findings, "conda-zstd-frames", is_info ? Severity::kError : Severity::kWarning,
        fmt::format("'{}' has {} zstd frames; {}", part.member, part.stream.streams,
                    is_info ? "rattler reads only the first when it looks up metadata at a URL"
                            : "some readers stop after the first"));
  }
  if (part.stream.window_bytes > kMaxWindow) {
    Add(findings, "conda-zstd-window", Severity::kError,
        fmt::format("'{}' needs a zstd window of {} bytes; readers reject more than {}", part.member,
                    part.stream.window_bytes, kMaxWindow));
  }
  if (!part.stream.content_size_known) {
    Add(findings, "conda-zstd-size", Severity::kInfo,
        fmt::format("'{}' does not state the size of its content", part.member));
  }
}

void CheckMetadataFile(const conda::ContainerFacts& facts, std::vector<Finding>& findings) {
  const auto metadata = ParseJson(facts.metadata, "metadata.json");
  const bool right = metadata && metadata->is_object() && metadata->contains("conda_pkg_format_version") &&
                     (*metadata)["conda_pkg_format_version"] == 2;
  if (right) return;
  const bool is_there = std::any_of(facts.zip_members.begin(), facts.zip_members.end(),
                                    [](const auto& member) { return member.name == "metadata.json"; });
  Add(findings, "conda-zip-metadata", Severity::kError,
      is_there ? "'metadata.json' does not say \"conda_pkg_format_version\": 2"
               : "the zip has no 'metadata.json'");
}

void CheckZipMembers(const conda::ContainerFacts& facts, const std::string& stem,
                     std::vector<Finding>& findings) {
  const std::string info = "info-" + stem + ".tar.zst";
  const std::string payload = "pkg-" + stem + ".tar.zst";
  for (const auto& member : facts.zip_members) {
    const bool part = member.name.starts_with("info-") || member.name.starts_with("pkg-");
    if (part && member.name != info && member.name != payload) {
      Add(findings, "conda-zip-part-name", Severity::kError,
          fmt::format("'{}' is not named after the package, '{}'; conda does not find it", member.name,
                      stem));
    } else if (!part && member.name != "metadata.json") {
      Add(findings, "conda-zip-extra", Severity::kWarning,
          fmt::format("the zip has an extra member '{}'", member.name));
    }
    if (!member.stored) {
      Add(findings, "conda-zip-stored", Severity::kError,
          fmt::format("'{}' is compressed inside the zip; rattler reads only stored members", member.name));
    }
  }
  if (!facts.zip_members.empty() && !facts.zip_members.back().name.starts_with("info-")) {
    Add(findings, "conda-zip-order", Severity::kWarning,
        "the info part is not last; clients that fetch the end of the file need more requests");
  }
}

}  // namespace

void CheckCondaContainer(const conda::ContainerFacts& facts, const std::string& stem,
                         std::vector<Finding>& findings) {
  for (const conda::PartFacts& part : facts.parts) CheckStream(part, findings);
  if (facts.format != ArtifactFormat::kConda) return;
  CheckMetadataFile(facts, findings);
  CheckZipMembers(facts, stem, findings);
}

void CheckCondaMembers(const std::vector<CondaMember>& members, std::vector<Finding>& findings) {
  bool payload_seen = false;
  bool late_info = false;
  std::size_t folders = 0;
  std::size_t dotted = 0;
  std::size_t special = 0;
  for (const CondaMember& member : members) {
    if (member.name.starts_with("./")) ++dotted;
    const bool folder = member.kind == archive::TarKind::kDirectory;
    if (folder) ++folders;
    if (!folder && member.kind != archive::TarKind::kSymlink && (member.mode & 07000U) != 0) ++special;
    const bool info = member.name.starts_with("info/");
    // The parts of a .conda are separate, so the order matters in a .tar.bz2 only.
    late_info = late_info || (info && payload_seen && member.part == conda::Part::kWhole);
    payload_seen = payload_seen || !info;
  }
  if (dotted > 0) {
    Add(findings, "conda-member-name", Severity::kError,
        fmt::format("{} member names begin with './'; indexers do not find 'info/index.json' then", dotted));
  }
  if (folders > 0) {
    Add(findings, "conda-member-folder", Severity::kWarning,
        fmt::format("the archive lists {} directories; installers create them from the files", folders));
  }
  if (special > 0) {
    Add(findings, "conda-special-mode", Severity::kError,
        fmt::format("{} members have the setuid, setgid or sticky bit: conda keeps it, rattler drops it",
                    special));
  }
  if (late_info) {
    Add(findings, "conda-info-first", Severity::kWarning,
        "members of info/ come after the payload; indexers must unpack everything to find them");
  }
}

Result<void> CheckCondaZip(Env& env, const AbsPath& package, std::vector<Finding>& findings) {
  // Objections of wheel indexes alone are unusual here. rattler streams a package that is a file.
  return CheckZipContainer(env, package,
                           {.id = "conda-zip-strict",
                            .fix = kPackAgain,
                            .where_readers_agree = Severity::kWarning,
                            .is_streamed = true},
                           findings);
}

}  // namespace ptpkg::verify
