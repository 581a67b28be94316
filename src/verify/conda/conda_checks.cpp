// A package is unpacked once, in the order of its members: documents of info/ into memory, the payload into a
// directory. The checks follow in a fixed order: container, member names, documents, metadata, paths.json,
// install paths, scripts. Without a readable index.json only the first three run.
// Invariant: the check of paths.json replaces prefix placeholders, so later checks see the files of a user.

#include "verify/conda/conda_checks.h"

#include <array>
#include <fmt/core.h>
#include <set>

#include "conda/channel_names.h"
#include "conda/info/package_info.h"
#include "conda/info_reader.h"
#include "conda/tree_writer.h"
#include "support/text/json.h"
#include "verify/conda/conda_container_checks.h"
#include "verify/conda/conda_info_checks.h"
#include "verify/conda/conda_metadata_checks.h"
#include "verify/conda/conda_paths_checks.h"
#include "verify/conda/conda_place_checks.h"
#include "verify/rules/note_checks.h"
#include "verify/unreadable.h"
#include "versions/match_spec.h"

namespace ptpkg::verify {
namespace {

using WrittenFiles = std::map<std::string, conda::WrittenFile>;

/// Takes the members of a package: info/ into memory, the payload into a directory.
class MemberUnpacker {
 public:
  MemberUnpacker(Env& env, const AbsPath& folder, std::vector<Finding>& findings)
      : tree_(env, folder), limited_(findings) {}

  Result<bool> Take(conda::Part part, const archive::TarMember& member, ByteSource& content) {
    members_.push_back({.part = part, .name = member.name, .kind = member.kind, .mode = member.mode});
    if (conda::InfoCollector::IsInfo(member)) {
      if (part == conda::Part::kPayload) {
        limited_.Add({"conda-info-in-payload", Severity::kError, member.name,
                      "a member of info/ is in the payload part", std::string(kRebuildInfo)});
      }
      PTPKG_CHECK(info_.Add(member, content));
      return true;
    }
    if (member.kind == archive::TarKind::kDirectory) return true;
    // "./a" has its own finding; every other odd name makes the package unreadable.
    std::string_view name = member.name;
    if (name.starts_with("./")) name.remove_prefix(2);
    const auto path = RelPath::Parse(name);
    if (!path) {
      return Error(ErrorCode::kCorrupt, fmt::format("invalid member name: {}", path.error().message()));
    }
    if (part == conda::Part::kInfo) {
      limited_.Add({"conda-payload-in-info", Severity::kError, member.name,
                    "a payload file is in the info part", std::string(kRebuildInfo)});
    }
    PTPKG_CHECK(tree_.Write(*path, member, content));
    return true;
  }

  /// Keeps the unpacked files beyond this object.
  void KeepFiles() { tree_.Keep(); }

  [[nodiscard]] const std::vector<CondaMember>& members() const { return members_; }
  [[nodiscard]] const WrittenFiles& files() const { return tree_.files(); }
  /// The documents below info/; called once, at the end.
  [[nodiscard]] conda::InfoCollector TakeInfo() { return std::move(info_); }

 private:
  conda::InfoCollector info_;
  conda::TreeWriter tree_;
  std::vector<CondaMember> members_;
  LimitedFindings limited_;
};

std::string StemOf(const std::string& file_name) {
  const auto dist = conda::DistName::Parse(file_name);
  return dist ? dist->Stem() : file_name;
}

/// Checks the documents of `collected` and reads them. nullopt, with a finding, if index.json cannot be read.
std::optional<conda::PackageInfo> ReadInfo(conda::InfoCollector collected, ArtifactFormat format,
                                           const std::string& file_name, std::vector<Finding>& findings) {
  const bool has_index = collected.Has("index.json");
  const std::size_t before = findings.size();
  CheckCondaDocuments(collected.files(), findings);
  auto info = std::move(collected).Finish(format, file_name);
  if (info) return *std::move(info);
  // A document that cannot be read has its finding already.
  if (!has_index || findings.size() == before) {
    findings.push_back({"conda-index-invalid", Severity::kError, "info/index.json", info.error().message(),
                        std::string(kRebuildInfo)});
  }
  return std::nullopt;
}

void CheckInstalled(const conda::PackageInfo& info, const WrittenFiles& files,
                    std::vector<Finding>& findings) {
  std::set<std::string> held;
  for (const auto& [path, file] : files) held.insert(path);
  CheckCondaLists(info.info_files, held, findings);
  CheckDistInfoVersion(info.index, held, findings);
  CheckCondaPlaces({.files = held,
                    .noarch_python = info.index.contains("noarch") && info.index["noarch"] == "python",
                    .programs = CheckCondaLink(info.info_files, info.index, findings)},
                   findings);
}

/// "#!python" is a wheel's way to leave the interpreter to the installer. conda's replace prefixes only,
/// where paths.json says so. Builds have prefixes such as ".../_h_env_placehold_placehold...".
Result<void> CheckScripts(Env& env, const CondaPayload& payload, std::vector<Finding>& findings) {
  constexpr std::string_view kMark = "#!python";
  constexpr std::string_view kBuildPrefix = "placehold_placehold";
  // Enough for a placeholder of 255 bytes and a path below it.
  constexpr std::size_t kLongestLine = 512;
  LimitedFindings limited(findings);
  for (const auto& [path, file] : payload.files) {
    if (file.symlink || (!path.starts_with("bin/") && !path.starts_with("python-scripts/"))) continue;
    std::array<std::byte, kLongestLine> head{};
    PTPKG_TRY(const std::unique_ptr<File> script, env.fs.Open(payload.folder / path, OpenMode::kRead));
    PTPKG_TRY(const std::size_t count, script->ReadAt(0, head));
    const std::string_view text = AsText(Bytes(head).first(count));
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(kMark)) {
      limited.Add({"conda-script-interpreter", Severity::kError, path,
                   "the script begins with '#!python', which is not a program",
                   "use the interpreter in the build prefix: '#!$PREFIX/bin/python'"});
    } else if (line.starts_with("#!") && line.find(kBuildPrefix) != std::string_view::npos) {
      limited.Add({"conda-script-interpreter", Severity::kError, path,
                   "the script's interpreter is in a build prefix that paths.json does not replace",
                   "list the file with its prefix_placeholder"});
    }
  }
  return Ok();
}

/// A spec that cannot be read has its own finding.
std::vector<std::string> NamesOfDependencies(const conda::PackageInfo& info) {
  std::vector<std::string> names;
  const auto specs = JsonStringsOr(info.index, "depends", {}, "info/index.json");
  if (!specs) return names;
  for (const std::string& text : *specs) {
    if (const auto spec = versions::NormalizeMatchSpec(text))
      names.emplace_back(versions::MatchSpecName(*spec));
  }
  return names;
}

std::vector<std::string> SpecsOf(const conda::PackageInfo& info) {
  std::vector<std::string> specs;
  for (const char* const key : {"depends", "constrains"}) {
    const auto texts = JsonStringsOr(info.index, key, {}, "info/index.json");
    if (texts) specs.insert(specs.end(), texts->begin(), texts->end());
  }
  return specs;
}

StagedTree TreeOf(const CondaPayload& payload) {
  StagedTree tree;
  tree.root = payload.folder;
  for (const auto& [path, file] : payload.files) {
    tree.entries.push_back({.path = RelPath::Literal(path),
                            .kind = file.symlink ? FileKind::kSymlink : FileKind::kRegular,
                            .mode = file.executable ? 0755U : 0644U,
                            .size_bytes = file.size_bytes,
                            .sha256 = file.sha256,
                            .link_target = file.link_target});
  }
  return tree;
}

CondaContent ContentOf(const conda::PackageInfo& info, const CondaPayload& payload,
                       std::vector<Finding>& findings) {
  const auto subdir = JsonStringOr(info.index, "subdir", "", "info/index.json");
  const auto note = info.info_files.find(std::string(kPackageNoteName));
  return CondaContent{.tree = TreeOf(payload),
                      .dependencies = NamesOfDependencies(info),
                      .specs = SpecsOf(info),
                      .subdir = subdir ? *subdir : std::string(),
                      .pythons = PythonsOfIndex(info.index),
                      .note = note == info.info_files.end()
                                  ? PackageNote()
                                  : ReadNoteText(note->second, "info/ptpkg.json", findings)};
}

/// Errors: also those of a package that cannot be unpacked.
Result<CondaContent> CheckPackage(Env& env, const AbsPath& package, const AbsPath& folder,
                                  std::vector<Finding>& findings) {
  MemberUnpacker unpacker(env, folder, findings);
  PTPKG_TRY(const conda::ContainerFacts facts,
            conda::ReadContainer(
                env, package, [&](conda::Part part, const archive::TarMember& member, ByteSource& content) {
                  return unpacker.Take(part, member, content);
                }));
  // The caller owns the files now. Otherwise the unpacker would remove them at the end of this function.
  unpacker.KeepFiles();
  const CondaPayload payload{.folder = folder, .files = unpacker.files()};
  const std::string file_name(package.Name());
  CheckCondaContainer(facts, StemOf(file_name), findings);
  CheckCondaMembers(unpacker.members(), findings);
  if (facts.format == ArtifactFormat::kConda) PTPKG_CHECK(CheckCondaZip(env, package, findings));
  const std::optional<conda::PackageInfo> info =
      ReadInfo(unpacker.TakeInfo(), facts.format, file_name, findings);
  if (!info) return CondaContent{.tree = TreeOf(payload), .dependencies = {}};
  // These need index.json and its types. The checks above also work on a package without it.
  CheckCondaMetadata(*info, file_name, findings);
  PTPKG_CHECK(CheckCondaPaths(env, *info, payload, findings));
  CheckInstalled(*info, payload.files, findings);
  PTPKG_CHECK(CheckScripts(env, payload, findings));
  return ContentOf(*info, payload, findings);
}

}  // namespace

Result<CondaContent> CheckCondaContent(Env& env, const AbsPath& package, const AbsPath& folder,
                                       std::vector<Finding>& findings) {
  auto content = CheckPackage(env, package, folder, findings);
  if (content) return content;
  PTPKG_CHECK(UnreadableFinding(std::move(content).error(), findings));
  CondaContent empty;
  empty.tree.root = folder;
  return empty;
}

}  // namespace ptpkg::verify
