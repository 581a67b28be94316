// Unpacks a conda package and compares what it holds with what it says. Layer: verify.
#include "verify/conda/conda_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <set>

#include "conda/channel_names.h"
#include "conda/info/package_info.h"
#include "conda/info/paths_json.h"
#include "conda/info/prefix.h"
#include "conda/info_reader.h"
#include "conda/tree_writer.h"
#include "support/text/json.h"
#include "verify/conda/conda_container_checks.h"
#include "verify/conda/conda_info_checks.h"
#include "verify/conda/conda_metadata_checks.h"
#include "verify/conda/conda_place_checks.h"
#include "verify/rules/note_checks.h"
#include "verify/unreadable.h"
#include "versions/match_spec.h"

namespace ptpkg::verify {
namespace {

constexpr std::string_view kPaths = "info/paths.json";
constexpr std::string_view kWriteAgain = "rebuild the package, so that info/ matches its content";
// Pretended install prefix of the unpacked files: traces of the build prefix that are left after
// that would reach users.
constexpr std::string_view kInstallPrefix = "/conda";
// A shorter one refuses installation below deep directories (conda-build: DEFAULT_PREFIX_LENGTH).
constexpr std::size_t kPlaceholderLength = 255;
constexpr std::size_t kOldestPlaceholder = 32;  ///< For conda-build 1.

class CondaChecks {
 public:
  CondaChecks(Env& env, const AbsPath& package, const AbsPath& folder, std::vector<Finding>& findings)
      : env_(env),
        package_(package),
        folder_(folder),
        findings_(findings),
        limited_(findings),
        tree_(env, folder) {}

  Result<CondaContent> Run() {
    const auto on_member = [&](conda::Part part, const archive::TarMember& member, ByteSource& content) {
      return OnMember(part, member, content);
    };
    PTPKG_TRY(const conda::ContainerFacts facts, conda::ReadContainer(env_, package_, on_member));
    tree_.Keep();
    const std::string file_name(package_.Name());
    CheckCondaContainer(facts, StemOf(file_name), findings_);
    CheckCondaMembers(members_, findings_);
    if (facts.format == ArtifactFormat::kConda) PTPKG_CHECK(CheckCondaZip(env_, package_, findings_));
    const bool has_index = collector_.Has("index.json");
    const std::size_t before = findings_.size();
    CheckCondaDocuments(collector_.files(), findings_);
    auto info = std::move(collector_).Finish(facts.format, file_name);
    if (!info) {
      // A document that cannot be read has its finding already.
      if (!has_index || findings_.size() == before) {
        Add("conda-index-invalid", Severity::kError, "info/index.json", info.error().message(), kWriteAgain);
      }
      return CondaContent{.tree = Tree(), .dependencies = {}};
    }
    CheckCondaMetadata(*info, file_name, findings_);
    PTPKG_CHECK(CheckPaths(*info));
    CheckInstalled(*info);
    PTPKG_CHECK(CheckScripts());
    const auto note = info->info_files.find(std::string(kPackageNoteName));
    return CondaContent{.tree = Tree(),
                        .dependencies = Dependencies(*info),
                        .specs = Specs(*info),
                        .subdir = Text(info->index, "subdir"),
                        .note = note == info->info_files.end()
                                    ? PackageNote()
                                    : ReadNoteText(note->second, "info/ptpkg.json", findings_)};
  }

 private:
  void Add(std::string_view id, Severity severity, std::string_view file, std::string message,
           std::string_view fix) {
    limited_.Add({std::string(id), severity, std::string(file), std::move(message), std::string(fix)});
  }

  static std::string StemOf(const std::string& file_name) {
    const auto dist = conda::DistName::Parse(file_name);
    return dist ? dist->Stem() : file_name;
  }

  Result<bool> OnMember(conda::Part part, const archive::TarMember& member, ByteSource& content) {
    members_.push_back({.part = part, .name = member.name, .kind = member.kind, .mode = member.mode});
    if (conda::InfoCollector::IsInfo(member)) {
      if (part == conda::Part::kPayload) {
        Add("conda-info-in-payload", Severity::kError, member.name,
            "a member of info/ is in the payload part", kWriteAgain);
      }
      PTPKG_CHECK(collector_.Add(member, content));
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
      Add("conda-payload-in-info", Severity::kError, member.name, "a payload file is in the info part",
          kWriteAgain);
    }
    PTPKG_CHECK(tree_.Write(*path, member, content));
    return true;
  }

  Result<void> CheckPaths(const conda::PackageInfo& info) {
    if (!info.info_files.contains("paths.json")) {
      Add("conda-paths-missing", Severity::kError, kPaths, "the package has no list of its files",
          kWriteAgain);
      return Ok();
    }
    const auto paths = conda::ParsePathsJson(info.paths, kPaths);
    if (!paths) {
      Add("conda-paths-invalid", Severity::kError, kPaths, paths.error().message(), kWriteAgain);
      return Ok();
    }
    const bool sorted = std::is_sorted(paths->begin(), paths->end(), [](const auto& left, const auto& right) {
      return left.path < right.path;
    });
    if (!sorted) {
      Add("conda-paths-order", Severity::kInfo, kPaths, "the entries are not sorted by path", kWriteAgain);
    }
    std::set<std::string> listed;
    for (const conda::PathsEntry& entry : *paths) {
      listed.insert(entry.path);
      PTPKG_CHECK(CheckEntry(entry));
    }
    for (const auto& [path, file] : tree_.files()) {
      if (listed.contains(path)) continue;
      Add("conda-paths-unlisted", Severity::kError, path, "the file is not listed in info/paths.json",
          kWriteAgain);
    }
    return Ok();
  }

  Result<void> CheckEntry(const conda::PathsEntry& entry) {
    if (entry.type == conda::PathType::kDirectory) {
      Add("conda-paths-folder", Severity::kError, entry.path,
          "paths.json lists a directory, which makes conda's verification fail",
          "put a placeholder file into the directory instead");
      return Ok();
    }
    const auto found = tree_.files().find(entry.path);
    if (found == tree_.files().end()) {
      Add("conda-paths-absent", Severity::kError, entry.path,
          "the file is listed in info/paths.json but missing", kWriteAgain);
      return Ok();
    }
    CheckContent(entry, found->second);
    return CheckPlaceholder(entry, found->second);
  }

  void CheckContent(const conda::PathsEntry& entry, const conda::WrittenFile& file) {
    const bool link = entry.type == conda::PathType::kSoftLink;
    if (link != file.symlink) {
      Add("conda-paths-kind", Severity::kError, entry.path,
          fmt::format("paths.json says {}, but the archive has a {}", link ? "symlink" : "file",
                      file.symlink ? "symlink" : "file"),
          kWriteAgain);
      return;
    }
    if (!entry.has_digest) {
      Add("conda-paths-digest", Severity::kWarning, entry.path, "paths.json gives no size or digest",
          kWriteAgain);
      return;
    }
    // The digest of a link is that of its target; builders disagree on it and no installer compares it.
    if (link || (file.size_bytes == entry.size_bytes && file.sha256 == entry.sha256)) return;
    Add("conda-paths-digest", Severity::kError, entry.path,
        "size or digest of the file differs from paths.json",
        fmt::format("{}; the file has {} bytes with sha256 {}, the list says {} bytes with {}", kWriteAgain,
                    file.size_bytes, file.sha256.Hex(), entry.size_bytes, entry.sha256.Hex()));
  }

  /// Looks for the placeholder, then installs the file, so that the checks that follow see what a user gets.
  Result<void> CheckPlaceholder(const conda::PathsEntry& entry, const conda::WrittenFile& file) {
    if (entry.placeholder.empty() || file.symlink) return Ok();
    const AbsPath path = folder_ / entry.path;
    PTPKG_TRY(const auto mode, conda::DetectPlaceholder(env_.fs, path, entry.placeholder));
    if (!mode) {
      Add("conda-placeholder", Severity::kWarning, entry.path,
          "the file does not contain its prefix_placeholder", "remove prefix_placeholder from the entry");
      return Ok();
    }
    if (*mode == conda::FileMode::kBinary && entry.mode == conda::FileMode::kText) {
      Add("conda-placeholder", Severity::kError, entry.path,
          "file_mode is text but the file is binary: replacing the prefix would move its bytes",
          "list the file with file_mode binary");
    }
    if (*mode == conda::FileMode::kText && entry.mode == conda::FileMode::kBinary) {
      Add("conda-placeholder", Severity::kError, entry.path,
          "file_mode is binary but the file is text: conda leaves the placeholder, rattler pads it with NUL",
          "list the file with file_mode text");
    }
    if (entry.placeholder.ends_with('/')) {
      Add("conda-placeholder", Severity::kError, entry.path,
          "prefix_placeholder ends with '/', but its replacement does not",
          "list the placeholder without the '/'");
    }
    if (entry.mode == conda::FileMode::kBinary && entry.placeholder.size() < kPlaceholderLength) {
      Add("conda-placeholder-short",
          entry.placeholder.size() < kOldestPlaceholder ? Severity::kError : Severity::kWarning, entry.path,
          fmt::format("the placeholder has {} characters: the package cannot be installed below longer paths",
                      entry.placeholder.size()),
          "build in a prefix of 255 characters");
    }
    if (auto replaced = conda::ReplacePrefix(env_.fs, path, entry, kInstallPrefix); !replaced) {
      return UnreadableFinding(std::move(replaced).error(), findings_);
    }
    return Ok();
  }

  void CheckInstalled(const conda::PackageInfo& info) {
    std::set<std::string> held;
    for (const auto& [path, file] : tree_.files()) held.insert(path);
    CheckCondaLists(info.info_files, held, findings_);
    CheckDistInfoVersion(info.index, held, findings_);
    CheckCondaPlaces({.files = held,
                      .noarch_python = info.index.contains("noarch") && info.index["noarch"] == "python",
                      .programs = CheckCondaLink(info.info_files, info.index, findings_)},
                     findings_);
  }

  /// "#!python" is a wheel's way to leave the interpreter to the installer. conda's replace prefixes only,
  /// where paths.json says so. Builds have prefixes such as ".../_h_env_placehold_placehold...".
  Result<void> CheckScripts() {
    constexpr std::string_view kMark = "#!python";
    constexpr std::string_view kBuildPrefix = "placehold_placehold";
    constexpr std::size_t kLongestLine = 512;
    for (const auto& [path, file] : tree_.files()) {
      if (file.symlink || (!path.starts_with("bin/") && !path.starts_with("python-scripts/"))) continue;
      std::array<std::byte, kLongestLine> head{};
      PTPKG_TRY(const std::unique_ptr<File> script, env_.fs.Open(folder_ / path, OpenMode::kRead));
      PTPKG_TRY(const std::size_t count, script->ReadAt(0, head));
      const std::string_view text = AsText(Bytes(head).first(count));
      const std::string_view line = text.substr(0, text.find('\n'));
      if (line.starts_with(kMark)) {
        Add("conda-script-interpreter", Severity::kError, path,
            "the script begins with '#!python', which is not a program",
            "use the interpreter in the build prefix: '#!$PREFIX/bin/python'");
      } else if (line.starts_with("#!") && line.find(kBuildPrefix) != std::string_view::npos) {
        Add("conda-script-interpreter", Severity::kError, path,
            "the script's interpreter is in a build prefix that paths.json does not replace",
            "list the file with its prefix_placeholder");
      }
    }
    return Ok();
  }

  /// A spec that cannot be read has its own finding.
  static std::vector<std::string> Dependencies(const conda::PackageInfo& info) {
    std::vector<std::string> names;
    const auto specs = JsonStringsOr(info.index, "depends", {}, "info/index.json");
    if (!specs) return names;
    for (const std::string& text : *specs) {
      if (const auto spec = versions::NormalizeMatchSpec(text))
        names.emplace_back(versions::MatchSpecName(*spec));
    }
    return names;
  }

  static std::vector<std::string> Specs(const conda::PackageInfo& info) {
    std::vector<std::string> specs;
    for (const char* const key : {"depends", "constrains"}) {
      const auto texts = JsonStringsOr(info.index, key, {}, "info/index.json");
      if (texts) specs.insert(specs.end(), texts->begin(), texts->end());
    }
    return specs;
  }

  static std::string Text(const Json& object, const std::string& key) {
    const auto text = JsonStringOr(object, key, "", "info/index.json");
    return text ? *text : std::string();
  }

  [[nodiscard]] StagedTree Tree() const {
    StagedTree tree;
    tree.root = folder_;
    for (const auto& [path, file] : tree_.files()) {
      tree.entries.push_back({.path = RelPath::Literal(path),
                              .kind = file.symlink ? FileKind::kSymlink : FileKind::kRegular,
                              .mode = file.executable ? 0755U : 0644U,
                              .size_bytes = file.size_bytes,
                              .sha256 = file.sha256,
                              .link_target = file.link_target});
    }
    return tree;
  }

  Env& env_;
  const AbsPath& package_;
  const AbsPath& folder_;
  std::vector<Finding>& findings_;
  LimitedFindings limited_;  // over the same list
  conda::InfoCollector collector_;
  conda::TreeWriter tree_;
  std::vector<CondaMember> members_;
};

}  // namespace

Result<CondaContent> CheckCondaContent(Env& env, const AbsPath& package, const AbsPath& folder,
                                       std::vector<Finding>& findings) {
  auto content = CondaChecks(env, package, folder, findings).Run();
  if (content) return content;
  PTPKG_CHECK(UnreadableFinding(std::move(content).error(), findings));
  CondaContent empty;
  empty.tree.root = folder;
  return empty;
}

}  // namespace ptpkg::verify
