#include "repair/repair_wheel.h"

#include <algorithm>
#include <cctype>
#include <fmt/core.h>

#include "archive/extract.h"
#include "repair/edited_tree.h"
#include "repair/graft_names.h"
#include "repair/name_tags.h"
#include "support/text/text.h"
#include "verify/elf/elf_checks.h"
#include "verify/rules/minimum_version_checks.h"
#include "verify/rules/note_checks.h"
#include "wheel/sbom.h"

#ifndef PTPKG_VERSION
#error "the build passes PTPKG_VERSION, the version of the project"
#endif

namespace ptpkg::repair {
namespace {

constexpr std::string_view kSbomWriter = "ptpkg-repair";

bool IsOfName(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-'; }

/// True if `name` occurs in `text` by itself: "libx.so" does not occur in "libx.so.1" or "mylibx.so".
bool HasName(std::string_view text, std::string_view name) {
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    const std::string_view rest = text.substr(at + name.size());
    const bool goes_on =
        !rest.empty() && (IsOfName(rest[0]) || (rest[0] == '.' && rest.size() > 1 && IsOfName(rest[1])));
    if (!goes_on && (at == 0 || !IsOfName(text[at - 1]))) return true;
  }
  return false;
}

class Repairer {
 public:
  Repairer(Env& env, const AbsPath& wheel, const RepairOptions& options)
      : env_(env), wheel_(wheel), options_(options) {}

  Result<WheelRepair> Run() {
    PTPKG_TRY(info_, wheel::ReadWheelInfo(env_, wheel_));
    PTPKG_TRY(policies_, verify::PlatformPolicies::BuiltIn());
    PTPKG_TRY(libraries_, verify::PolicyLibraries::BuiltIn());
    PTPKG_CHECK(env_.fs.MakeDirs(env_.cache_dir));
    PTPKG_TRY(TempDir scratch, TempDir::Create(env_.fs, env_.cache_dir, "repair"));
    root_ = scratch.path();
    PTPKG_CHECK(UnpackElfFiles(env_, wheel_, root_));
    PTPKG_TRY(verify::ElfTree tree, ReadSoundTree(env_, root_));
    PTPKG_TRY(verify::ComputedPlatform computed, ComputeTreePlatform(tree));
    PTPKG_CHECK(Plan(tree, computed));
    PTPKG_CHECK(CompareWithRecord(env_, root_, edits_, info_.record));
    PTPKG_TRY(const std::vector<EditedFile> edited, EditFiles(env_, root_, edits_));
    if (!plan_.grafts.empty()) {
      PTPKG_TRY(tree, ReadSoundTree(env_, root_));
      PTPKG_TRY(computed, ComputeTreePlatform(tree));
    }
    WheelRepair repair{.name = {},
                       .edits = {},
                       .content = std::move(scratch),
                       .grafts = std::move(plan_.grafts),
                       .owners = {},
                       .left_out = std::move(plan_.left_out),
                       .excludes_used = std::move(plan_.excludes_used),
                       .files = {},
                       .computed = std::move(computed),
                       .platform_before = info_.file_name.tag.platform};
    PTPKG_CHECK(Collect(edited, repair));
    return repair;
  }

 private:
  [[nodiscard]] Result<verify::ComputedPlatform> ComputeTreePlatform(const verify::ElfTree& tree) const {
    return verify::ComputePlatformFromSymbols(verify::MeasureNeeds(tree, policies_, libraries_));
  }

  /// `computed`: before anything is copied.
  Result<void> Plan(const verify::ElfTree& tree, const verify::ComputedPlatform& computed) {
    PTPKG_TRY(std::vector<std::string> dependencies, verify::DeclaredDependencies(env_, tree));
    PTPKG_TRY(const verify::ResolvedLibraries loads,
              verify::ResolvedLibraries::SimulateLoads(env_, tree, elf::IsaLevel::kBaseline));
    PTPKG_TRY(const GraftOptions options, OptionsOfGrafts(tree, computed, std::move(dependencies)));
    PTPKG_TRY(const GraftRules rules, GraftRules::BuiltIn());
    PTPKG_TRY(const HostLibraries host, HostLibraries::Read(env_, options_.search, options.musl));
    const GraftContext context{
        .env = env_, .tree = tree, .loads = loads, .host = host, .rules = rules, .policies = libraries_};
    PTPKG_TRY(plan_, PlanGrafts(context, options));
    PTPKG_CHECK(CheckDataFolders());
    return PlanEdits(tree, loads);
  }

  /// A copied library that reads kernels from files beside it finds none unless the wheel has them.
  [[nodiscard]] Result<void> CheckDataFolders() const {
    if (!options_.backend || options_.backend->data_folders.empty() || plan_.grafts.empty()) return Ok();
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, wheel_));
    for (const Graft& graft : plan_.grafts) {
      for (const auto& needed : options_.backend->data_folders) {
        const std::string& glob = needed.first;
        const std::string& folder = needed.second;
        const bool reads = std::any_of(graft.asked.begin(), graft.asked.end(), [&](const std::string& name) {
          return GlobMatch(glob, FileNameOf(name));
        });
        const bool has = std::any_of(zip.members().begin(), zip.members().end(), [&](const auto& member) {
          return member.name.starts_with(folder + "/") && !member.name.ends_with('/');
        });
        if (!reads || has) continue;
        return Error(
                   ErrorCode::kInvalidInput,
                   fmt::format("cannot bundle '{}': it reads its kernels from '{}', which '{}' does not have",
                               graft.source.str(), folder, wheel_.Name()))
            .WithHint(fmt::format("put the files of your gfx architectures there before you pack the wheel, "
                                  "or exclude the library: --exclude '{}'",
                                  glob));
      }
    }
    return Ok();
  }

  Result<GraftOptions> OptionsOfGrafts(const verify::ElfTree& tree, const verify::ComputedPlatform& computed,
                                       std::vector<std::string> dependencies) const {
    GraftOptions options{.folder = options_.folder,
                         .exclude = options_.exclude,
                         .opened = options_.opened,
                         .musl = computed.musl,
                         .dependencies = std::move(dependencies)};
    if (options.folder.empty())
      options.folder = options_.backend ? options_.backend->folder : info_.file_name.name + ".libs";
    const auto folder = RelPath::Parse(options.folder);
    const std::string top = options.folder.substr(0, options.folder.find('/'));
    const bool special = top.ends_with(".dist-info") || top.ends_with(".data");
    if (!folder || special) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is not a library directory of a wheel", options.folder))
          .WithHint("use a directory like 'toy.libs' or 'toy/lib'");
    }
    if (options_.backend) {
      options.never_rename = options_.backend->never_rename;
      options.never_graft = options_.backend->never_graft;
      options.rename = options_.backend->rename;
    }
    options.rename = options_.rename.value_or(options.rename);
    PTPKG_TRY(options.opened_by_text, PythonFilesThatName(options.opened));
    for (const std::string& one : Split(PlatformWanted(computed.machine), '.')) {
      const auto policy = policies_.PolicyOfTag(one);
      if (policy && (!options.policy || *policy < *options.policy)) options.policy = policy;
    }
    std::vector<Finding> ignored;  // the check of the result reports them
    PTPKG_TRY(const PackageNote note, verify::ReadNotes(env_, tree, {}, ignored));
    options.left_by_wheel = note.allow_unresolved;
    return options;
  }

  /// Which Python files of the wheel have which of `names` in them: ctypes opens libraries by name too.
  [[nodiscard]] Result<std::map<std::string, std::set<std::string>>> PythonFilesThatName(
      const std::vector<std::string>& names) const {
    std::map<std::string, std::set<std::string>> files;
    if (names.empty()) return files;
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, wheel_));
    for (const archive::ZipReader::Member& member : zip.members()) {
      if (!member.name.ends_with(".py")) continue;
      PTPKG_CHECK(env_.cancel.Check());
      PTPKG_TRY(const std::string text, zip.ReadText(member.name));
      for (const std::string& name : names) {
        if (HasName(text, name)) files[name].insert(member.name);
      }
    }
    return files;
  }

  /// For files of `machine`; "" where the files decide.
  [[nodiscard]] std::string PlatformWanted(const std::string& machine) const {
    if (options_.platform) return *options_.platform;
    return options_.backend && !machine.empty() ? options_.backend->platform + "_" + machine : "";
  }

  Result<void> PlanEdits(const verify::ElfTree& tree, const verify::ResolvedLibraries& loads) {
    const std::vector<elf::PathRule> layout =
        options_.backend ? options_.backend->layout : std::vector<elf::PathRule>();
    const SearchPaths paths(tree, loads, layout);
    bool decided = layout.empty();
    for (const verify::ElfMember& member : tree.members) {
      decided = decided || elf::FindRule(layout, member.path) != nullptr;
      const NeedChange change = ChangeOf(member.path.str());
      PTPKG_TRY(NewSearchPath wanted, paths.NewPathFor(member, change.folders));
      const bool new_path = SearchPaths::Differs(wanted, member.facts);
      const bool uses_copies = !change.renamed.empty() || !change.folders.empty();
      if (!new_path && change.renamed.empty() && change.dropped.empty() && !uses_copies) continue;
      FileEdit edit{.path = member.path, .strip = options_.strip && uses_copies, .edits = EditsFor(change)};
      if (new_path) SetSearchPath(wanted.path, edit.edits);
      dropped_[member.path.str()] = std::move(wanted.dropped);
      edits_.push_back(std::move(edit));
    }
    if (!decided) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' has no file of the backend '{}'", wheel_.Name(), options_.backend->name))
          .WithHint("remove --backend: it is for wheels of PyTorch itself");
    }
    for (const Graft& graft : plan_.grafts) {
      const NeedChange change = ChangeOf(graft.path);
      FileEdit edit{.path = RelPath::Literal(graft.path),
                    .source = graft.source,
                    .strip = options_.strip,
                    .edits = EditsFor(change)};
      edit.edits.soname = graft.name;
      std::vector<std::string> entries;
      PTPKG_CHECK(AddFolders(edit.path, change.folders, entries));
      std::optional<elf::SearchPath> path;
      if (!entries.empty())
        path = elf::SearchPath{.tag = elf::PathTag::kRpath, .text = elf::JoinSearchPath(entries)};
      SetSearchPath(path, edit.edits);
      edits_.push_back(std::move(edit));
    }
    return Ok();
  }

  [[nodiscard]] NeedChange ChangeOf(const std::string& path) const {
    const auto found = plan_.changes.find(path);
    return found == plan_.changes.end() ? NeedChange() : found->second;
  }

  static elf::Edits EditsFor(const NeedChange& change) {
    elf::Edits edits;
    edits.replace_needed = change.renamed;
    edits.remove_needed = change.dropped;
    edits.allow_strip_hazard = true;  // stripping comes before, never after
    return edits;
  }

  static void SetSearchPath(const std::optional<elf::SearchPath>& path, elf::Edits& edits) {
    edits.search_path = path;
    edits.remove_search_path = !path;
  }

  /// From the files as they are now to the edits of the zip.
  Result<void> Collect(const std::vector<EditedFile>& edited, WheelRepair& repair) {
    wheel::NewContent content;
    PTPKG_TRY(content.files, HashChanged(env_, root_, edited));
    for (const EditedFile& file : edited) {
      if (!file.differs) continue;
      repair.files.push_back({.path = file.path.str(),
                              .before = file.before,
                              .after = file.after,
                              .dropped = dropped_[file.path.str()],
                              .stripped = file.stripped});
    }
    std::sort(repair.files.begin(), repair.files.end(),
              [](const ChangedFile& a, const ChangedFile& b) { return a.path < b.path; });
    if (!repair.grafts.empty()) {
      PTPKG_CHECK(DescribeGrafts(repair, content));
    }
    PTPKG_TRY(const wheel::RetagRequest request, RequestFor(repair));
    repair.name = info_.file_name;
    if (request.ChangesNothing() && content.files.empty()) return Ok();
    PTPKG_TRY(wheel::Retagging retagging, wheel::PlanRetag(env_, wheel_, request, content));
    repair.name = std::move(retagging.name);
    repair.edits = std::move(retagging.edits);
    return Ok();
  }

  /// Request for the new WHEEL and file name. Fills repair.wheel_file.
  [[nodiscard]] Result<wheel::RetagRequest> RequestFor(WheelRepair& repair) const {
    repair.wheel_file.path = info_.dist_info_dir + "/WHEEL";
    PTPKG_TRY(const std::string text, ReadFile(env_.fs, root_ / RelPath::Literal(repair.wheel_file.path),
                                               wheel::DocumentLimit("WHEEL")));
    PTPKG_TRY(const wheel::WheelFile said, wheel::ReadWheelFile(text, repair.wheel_file.path));
    wheel::RetagRequest request = TagsOfName(info_.file_name, said);
    std::vector<std::string>& changes = repair.wheel_file.changes;
    if (request.platform) {
      std::vector<std::string> tags;
      for (const wheel::Tag& tag : said.tags) tags.push_back(tag.str());
      changes.push_back(said.tag_faults.empty()
                            ? fmt::format("tags of the file name, were '{}'", Join(tags, "', '"))
                            : "tags of the file name: WHEEL had some that cannot be read");
    }
    if (request.build)
      changes.push_back(fmt::format("build '{}' of the file name, was '{}'", *request.build, said.build));
    PTPKG_TRY(const std::string platform, ResultPlatform(repair.computed));
    if (platform != info_.file_name.tag.platform) request.platform = platform;
    if (!repair.computed.machine.empty() && info_.root_is_purelib) {
      request.root_is_purelib = false;
      changes.emplace_back("Root-Is-Purelib false, was true");
    }
    return request;
  }

  [[nodiscard]] Result<std::string> ResultPlatform(const verify::ComputedPlatform& computed) const {
    const std::string& now = info_.file_name.tag.platform;
    if (options_.platform) return RequestedPlatform(computed.machine);
    if (computed.machine.empty()) return now;
    if (options_.backend) return PlatformWanted(computed.machine);
    return IsLinux(now) ? verify::PlatformAfter(policies_, now, computed) : now;
  }

  /// options_.platform for files of `machine`; "": there are none.
  [[nodiscard]] Result<std::string> RequestedPlatform(const std::string& machine) const {
    const std::string& asked = *options_.platform;
    if (machine.empty() && asked == info_.file_name.tag.platform) return asked;
    if (machine.empty()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("cannot tag '{}' as '{}': it has no ELF files", wheel_.Name(), asked))
          .WithHint("remove --platform, or set the tag unchecked: ptpkg retag --platform TAG --no-check");
    }
    if (asked == "linux") return "linux_" + machine;
    for (const std::string& platform : Split(asked, '.')) {
      if (verify::MachineOfTag(platform) == machine) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the files of '{}' are for Linux on {}, not for '{}'", wheel_.Name(), machine,
                               platform))
          .WithHint("give a tag for that architecture, or remove --platform");
    }
    return asked;
  }

  static bool IsLinux(const std::string& platforms) {
    return platforms == "any" || platforms.find("linux") != std::string::npos;
  }

  /// Components that an earlier repair copied into the wheel; they are in it still.
  [[nodiscard]] Result<std::vector<wheel::SbomComponent>> ComponentsOfEarlierRepair() const {
    const std::string name = info_.dist_info_dir + "/" + wheel::SbomName(kSbomWriter);
    PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env_.fs, wheel_));
    if (zip.Find(name) == nullptr) return std::vector<wheel::SbomComponent>();
    PTPKG_TRY(const std::string text, zip.ReadText(name));
    return wheel::ParseSbomComponents(text, name);
  }

  /// The bill of materials of the copies.
  Result<void> DescribeGrafts(WheelRepair& repair, wheel::NewContent& content) {
    std::vector<AbsPath> sources;
    for (const Graft& graft : repair.grafts) sources.push_back(graft.source);
    PTPKG_TRY(repair.owners, FindOwners(env_, sources));
    wheel::Sbom sbom;
    sbom.subject = {.name = info_.metadata.Get("Name"),
                    .version = info_.metadata.Get("Version"),
                    .purl = wheel::PackageUrl({.type = "pypi",
                                               .name_space = "",
                                               .name = wheel::NormalizeName(info_.metadata.Get("Name")),
                                               .version = info_.metadata.Get("Version"),
                                               .qualifiers = {}})};
    sbom.tool = {{"ptpkg", PTPKG_VERSION}};
    PTPKG_TRY(sbom.components, ComponentsOfEarlierRepair());
    for (const Graft& graft : repair.grafts) {
      wheel::SbomComponent component{.name = std::string(graft.source.Name())};
      if (const auto owner = repair.owners.find(graft.source); owner != repair.owners.end()) {
        component.name = owner->second.name;
        component.version = owner->second.version;
        component.purl = owner->second.url;
      }
      component.AddHash(graft.sha256);
      component.properties = {{"ptpkg:file", graft.path},
                              {"ptpkg:library", std::string(graft.source.Name())}};
      sbom.components.push_back(std::move(component));
    }
    PTPKG_TRY(content.documents[wheel::SbomName(kSbomWriter)], wheel::FormatSbom(sbom));
    return Ok();
  }

  Env& env_;
  const AbsPath& wheel_;
  const RepairOptions& options_;
  wheel::WheelInfo info_;
  verify::PlatformPolicies policies_;
  verify::PolicyLibraries libraries_;
  AbsPath root_ = AbsPath::Literal("/nonexistent");
  GraftPlan plan_;
  std::vector<FileEdit> edits_;
  std::map<std::string, std::vector<DroppedEntry>> dropped_;
};

}  // namespace

Result<WheelRepair> PlanRepair(Env& env, const AbsPath& wheel, const RepairOptions& options) {
  return Repairer(env, wheel, options).Run();
}

}  // namespace ptpkg::repair
