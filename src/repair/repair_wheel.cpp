// ELF files and documents of the wheel are unpacked into a scratch directory. Each phase is a function of
// values:
// 1. Read the documents, the tables of platforms and the ELF files, and compute the platform that these need.
// 2. Choose the libraries to bundle, and turn that choice into one FileEdit for each file that changes.
// 3. Compare the files with RECORD, then edit them in the scratch directory.
// 4. Compute the platform again, since bundled libraries have needs of their own.
// 5. Describe the result, which gives the edits of the zip: changed files, the SBOM, WHEEL and the file name.
// Invariants: the wheel itself is never written. Files that differ from RECORD are refused before any edit.

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

/// Inputs of every phase.
struct RepairInputs {
  const AbsPath& wheel;
  const RepairOptions& options;
  wheel::WheelInfo info;
  verify::PlatformPolicies policies;
  verify::PolicyLibraries libraries;
};

Result<RepairInputs> ReadInputs(Env& env, const AbsPath& wheel, const RepairOptions& options) {
  RepairInputs inputs{.wheel = wheel, .options = options, .info = {}, .policies = {}, .libraries = {}};
  PTPKG_TRY(inputs.info, wheel::ReadWheelInfo(env, wheel));
  PTPKG_TRY(inputs.policies, verify::PlatformPolicies::BuiltIn());
  PTPKG_TRY(inputs.libraries, verify::PolicyLibraries::BuiltIn());
  return inputs;
}

Result<verify::ComputedPlatform> ComputeTreePlatform(const RepairInputs& inputs,
                                                     const verify::ElfTree& tree) {
  return verify::ComputePlatformFromSymbols(verify::MeasureNeeds(tree, inputs.policies, inputs.libraries));
}

/// The platform that options ask for, for files of `machine`; "" where the files decide.
std::string PlatformWanted(const RepairOptions& options, const std::string& machine) {
  if (options.platform) return *options.platform;
  return options.backend && !machine.empty() ? options.backend->platform + "_" + machine : "";
}

/// Directory for the copies. Errors: kInvalidInput for a directory that installers treat in their own way.
Result<std::string> DirectoryForCopies(const RepairInputs& inputs) {
  const RepairOptions& options = inputs.options;
  std::string directory = options.folder;
  if (directory.empty())
    directory = options.backend ? options.backend->folder : inputs.info.file_name.name + ".libs";
  const auto path = RelPath::Parse(directory);
  const std::string top = directory.substr(0, directory.find('/'));
  const bool special = top.ends_with(".dist-info") || top.ends_with(".data");
  if (!path || special) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is not a library directory of a wheel", directory))
        .WithHint("use a directory like 'toy.libs' or 'toy/lib'");
  }
  return directory;
}

/// The Python files of the wheel that contain each of `names`: ctypes opens libraries by name too.
Result<std::map<std::string, std::set<std::string>>> PythonFilesThatName(
    Env& env, const AbsPath& wheel, const std::vector<std::string>& names) {
  std::map<std::string, std::set<std::string>> files;
  if (names.empty()) return files;
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, wheel));
  for (const archive::ZipReader::Member& member : zip.members()) {
    // Only Python code opens libraries with ctypes.
    if (!member.name.ends_with(".py")) continue;
    PTPKG_CHECK(env.cancel.Check());
    PTPKG_TRY(const std::string text, zip.ReadText(member.name));
    for (const std::string& name : names) {
      if (HasName(text, name)) files[name].insert(member.name);
    }
  }
  return files;
}

/// The oldest policy among the dot-joined `platforms`; nullopt if none of them has one.
std::optional<verify::GlibcVersion> OldestPolicy(const verify::PlatformPolicies& policies,
                                                 const std::string& platforms) {
  std::optional<verify::GlibcVersion> oldest;
  for (const std::string& one : Split(platforms, '.')) {
    const auto policy = policies.PolicyOfTag(one);
    if (policy && (!oldest || *policy < *oldest)) oldest = policy;
  }
  return oldest;
}

/// `computed`: before anything is copied.
Result<GraftOptions> ChooseGraftOptions(Env& env, const RepairInputs& inputs, const verify::ElfTree& tree,
                                        const verify::ComputedPlatform& computed) {
  const RepairOptions& asked = inputs.options;
  GraftOptions options{.exclude = asked.exclude, .opened = asked.opened, .musl = computed.musl};
  PTPKG_TRY(options.folder, DirectoryForCopies(inputs));
  if (asked.backend) {
    options.never_rename = asked.backend->never_rename;
    options.never_graft = asked.backend->never_graft;
    options.rename = asked.backend->rename;
  }
  options.rename = asked.rename.value_or(options.rename);
  PTPKG_TRY(options.opened_by_text, PythonFilesThatName(env, inputs.wheel, options.opened));
  // A library that only newer policies list must be copied for an older tag (libexpat for manylinux_2_5).
  options.policy = OldestPolicy(inputs.policies, PlatformWanted(asked, computed.machine));
  std::vector<Finding> ignored;  // the check of the result reports them
  PTPKG_TRY(const PackageNote note, verify::ReadNotes(env, tree, {}, ignored));
  options.left_by_wheel = note.allow_unresolved;
  return options;
}

/// A copied library that reads kernels from files beside it finds none unless the wheel has them.
Result<void> CheckDataFolders(Env& env, const RepairInputs& inputs, const std::vector<Graft>& grafts) {
  const std::optional<Backend>& backend = inputs.options.backend;
  if (!backend || backend->data_folders.empty() || grafts.empty()) return Ok();
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, inputs.wheel));
  for (const Graft& graft : grafts) {
    for (const auto& needed : backend->data_folders) {
      const std::string& glob = needed.first;
      const std::string& folder = needed.second;
      const bool reads = std::any_of(graft.asked.begin(), graft.asked.end(), [&](const std::string& name) {
        return GlobMatch(glob, FileNameOf(name));
      });
      const bool has = std::any_of(zip.members().begin(), zip.members().end(), [&](const auto& member) {
        return member.name.starts_with(folder + "/") && !member.name.ends_with('/');
      });
      if (!reads || has) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("cannot bundle '{}': it reads its kernels from '{}', which '{}' does not have",
                               graft.source.str(), folder, inputs.wheel.Name()))
          .WithHint(fmt::format("put the files of your gfx architectures there before you pack the wheel, "
                                "or exclude the library: --exclude '{}'",
                                glob));
    }
  }
  return Ok();
}

NeedChange ChangeOf(const GraftPlan& plan, const std::string& path) {
  const auto found = plan.changes.find(path);
  return found == plan.changes.end() ? NeedChange() : found->second;
}

elf::Edits EditsFor(const NeedChange& change) {
  elf::Edits edits;
  edits.replace_needed = change.renamed;
  edits.remove_needed = change.dropped;
  edits.allow_strip_hazard = true;  // stripping comes before, never after
  return edits;
}

void SetSearchPath(const std::optional<elf::SearchPath>& path, elf::Edits& edits) {
  edits.search_path = path;
  edits.remove_search_path = !path;
}

/// Edits of the files that the wheel has.
struct MemberEdits {
  std::vector<FileEdit> edits;
  std::map<std::string, std::vector<DroppedEntry>> dropped;  ///< Entries of search paths, by file.
};

/// Errors: kInvalidInput if a backend's layout matches no file; those of SearchPaths::NewPathFor.
Result<MemberEdits> PlanMemberEdits(const RepairInputs& inputs, const verify::ElfTree& tree,
                                    const verify::ResolvedLibraries& loads, const GraftPlan& plan) {
  const RepairOptions& options = inputs.options;
  const std::vector<elf::PathRule> layout =
      options.backend ? options.backend->layout : std::vector<elf::PathRule>();
  const SearchPaths paths(tree, loads, layout);
  bool decided = layout.empty();
  MemberEdits planned;
  for (const verify::ElfMember& member : tree.members) {
    decided = decided || elf::FindRule(layout, member.path) != nullptr;
    const NeedChange change = ChangeOf(plan, member.path.str());
    PTPKG_TRY(NewSearchPath wanted, paths.NewPathFor(member, change.folders));
    const bool new_path = SearchPaths::Differs(wanted, member.facts);
    const bool uses_copies = !change.renamed.empty() || !change.folders.empty();
    if (!new_path && change.renamed.empty() && change.dropped.empty() && !uses_copies) continue;
    FileEdit edit{.path = member.path, .strip = options.strip && uses_copies, .edits = EditsFor(change)};
    if (new_path) SetSearchPath(wanted.path, edit.edits);
    planned.dropped[member.path.str()] = std::move(wanted.dropped);
    planned.edits.push_back(std::move(edit));
  }
  if (!decided) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' has no file of the backend '{}'",
                                                       inputs.wheel.Name(), options.backend->name))
        .WithHint("remove --backend: it is for wheels of PyTorch itself");
  }
  return planned;
}

/// Edits of a copied library: its name, the names that it needs, and a way to the libraries of the wheel.
Result<FileEdit> PlanCopyEdit(const Graft& graft, const NeedChange& change, bool strip) {
  FileEdit edit{.path = RelPath::Literal(graft.path),
                .source = graft.source,
                .strip = strip,
                .edits = EditsFor(change)};
  edit.edits.soname = graft.name;
  std::vector<std::string> entries;
  PTPKG_CHECK(AddFolders(edit.path, change.folders, entries));
  std::optional<elf::SearchPath> path;
  if (!entries.empty())
    path = elf::SearchPath{.tag = elf::PathTag::kRpath, .text = elf::JoinSearchPath(entries)};
  SetSearchPath(path, edit.edits);
  return edit;
}

/// All changes to make in the scratch directory.
struct RepairPlan {
  GraftPlan bundled;
  std::vector<FileEdit> edits;
  std::map<std::string, std::vector<DroppedEntry>> dropped;  ///< MemberEdits::dropped
};

/// `computed`: before anything is copied.
Result<RepairPlan> PlanFileEdits(Env& env, const RepairInputs& inputs, const verify::ElfTree& tree,
                                 const verify::ComputedPlatform& computed) {
  PTPKG_TRY(std::vector<std::string> dependencies, verify::DeclaredDependencies(env, tree));
  PTPKG_TRY(const verify::ResolvedLibraries loads,
            verify::ResolvedLibraries::SimulateLoads(env, tree, elf::IsaLevel::kBaseline));
  PTPKG_TRY(GraftOptions options, ChooseGraftOptions(env, inputs, tree, computed));
  options.dependencies = std::move(dependencies);
  PTPKG_TRY(const GraftRules rules, GraftRules::BuiltIn());
  PTPKG_TRY(const HostLibraries host, HostLibraries::Read(env, inputs.options.search, options.musl));
  const GraftContext context{
      .env = env, .tree = tree, .loads = loads, .host = host, .rules = rules, .policies = inputs.libraries};
  PTPKG_TRY(GraftPlan bundled, PlanGrafts(context, options));
  PTPKG_CHECK(CheckDataFolders(env, inputs, bundled.grafts));
  PTPKG_TRY(MemberEdits members, PlanMemberEdits(inputs, tree, loads, bundled));
  std::vector<FileEdit> edits = std::move(members.edits);
  for (const Graft& graft : bundled.grafts) {
    PTPKG_TRY(FileEdit edit, PlanCopyEdit(graft, ChangeOf(bundled, graft.path), inputs.options.strip));
    edits.push_back(std::move(edit));
  }
  return RepairPlan{
      .bundled = std::move(bundled), .edits = std::move(edits), .dropped = std::move(members.dropped)};
}

/// The files that differ now, sorted by path. `dropped`: RepairPlan::dropped.
std::vector<ChangedFile> ListChangedFiles(const std::vector<EditedFile>& edited,
                                          const std::map<std::string, std::vector<DroppedEntry>>& dropped) {
  std::vector<ChangedFile> changed;
  for (const EditedFile& file : edited) {
    if (!file.differs) continue;
    ChangedFile one{
        .path = file.path.str(), .before = file.before, .after = file.after, .stripped = file.stripped};
    if (const auto found = dropped.find(one.path); found != dropped.end()) one.dropped = found->second;
    changed.push_back(std::move(one));
  }
  std::sort(changed.begin(), changed.end(),
            [](const ChangedFile& a, const ChangedFile& b) { return a.path < b.path; });
  return changed;
}

/// Components that an earlier repair bundled; the wheel still contains them.
Result<std::vector<wheel::SbomComponent>> ComponentsOfEarlierRepair(Env& env, const RepairInputs& inputs) {
  const std::string name = inputs.info.dist_info_dir + "/" + wheel::SbomName(kSbomWriter);
  PTPKG_TRY(const archive::ZipReader zip, archive::ZipReader::Open(env.fs, inputs.wheel));
  if (zip.Find(name) == nullptr) return std::vector<wheel::SbomComponent>();
  PTPKG_TRY(const std::string text, zip.ReadText(name));
  return wheel::ParseSbomComponents(text, name);
}

wheel::SbomComponent ComponentOf(const Graft& graft, const std::map<AbsPath, SystemPackage>& owners) {
  wheel::SbomComponent component{.name = std::string(graft.source.Name())};
  if (const auto owner = owners.find(graft.source); owner != owners.end()) {
    component.name = owner->second.name;
    component.version = owner->second.version;
    component.purl = owner->second.url;
  }
  component.AddHash(graft.sha256);
  component.properties = {{"ptpkg:file", graft.path}, {"ptpkg:library", std::string(graft.source.Name())}};
  return component;
}

/// The SBOM of the copies, as text. `owners`: WheelRepair::owners.
Result<std::string> DescribeGrafts(Env& env, const RepairInputs& inputs, const std::vector<Graft>& grafts,
                                   const std::map<AbsPath, SystemPackage>& owners) {
  const wheel::WheelInfo& info = inputs.info;
  wheel::Sbom sbom;
  sbom.subject = {.name = info.metadata.Get("Name"),
                  .version = info.metadata.Get("Version"),
                  .purl = wheel::PackageUrl({.type = "pypi",
                                             .name_space = "",
                                             .name = wheel::NormalizeName(info.metadata.Get("Name")),
                                             .version = info.metadata.Get("Version"),
                                             .qualifiers = {}})};
  sbom.tool = {{"ptpkg", PTPKG_VERSION}};
  PTPKG_TRY(sbom.components, ComponentsOfEarlierRepair(env, inputs));
  for (const Graft& graft : grafts) sbom.components.push_back(ComponentOf(graft, owners));
  return wheel::FormatSbom(sbom);
}

/// RepairOptions::platform for files of `machine`; "" if there are none.
Result<std::string> RequestedPlatform(const RepairInputs& inputs, const std::string& machine) {
  const std::string& asked = *inputs.options.platform;
  if (machine.empty() && asked == inputs.info.file_name.tag.platform) return asked;
  if (machine.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("cannot tag '{}' as '{}': it has no ELF files", inputs.wheel.Name(), asked))
        .WithHint("remove --platform, or set the tag unchecked: ptpkg retag --platform TAG --no-check");
  }
  if (asked == "linux") return "linux_" + machine;
  for (const std::string& platform : Split(asked, '.')) {
    if (verify::MachineOfTag(platform) == machine) continue;
    return Error(ErrorCode::kInvalidInput, fmt::format("the files of '{}' are for Linux on {}, not for '{}'",
                                                       inputs.wheel.Name(), machine, platform))
        .WithHint("give a tag for that architecture, or remove --platform");
  }
  return asked;
}

bool IsLinux(const std::string& platforms) {
  return platforms == "any" || platforms.find("linux") != std::string::npos;
}

/// `computed`: with the copies.
Result<std::string> ResultPlatform(const RepairInputs& inputs, const verify::ComputedPlatform& computed) {
  const std::string& now = inputs.info.file_name.tag.platform;
  if (inputs.options.platform) return RequestedPlatform(inputs, computed.machine);
  if (computed.machine.empty()) return now;
  if (inputs.options.backend) return PlatformWanted(inputs.options, computed.machine);
  return IsLinux(now) ? verify::PlatformAfter(inputs.policies, now, computed) : now;
}

/// Request for the new WHEEL and file name.
struct TagChanges {
  wheel::RetagRequest request;
  ChangedWheelFile wheel_file;
};

/// `root`: the scratch directory. `computed`: with the copies.
Result<TagChanges> PlanTags(Env& env, const RepairInputs& inputs, const AbsPath& root,
                            const verify::ComputedPlatform& computed) {
  const wheel::WheelInfo& info = inputs.info;
  ChangedWheelFile wheel_file{.path = info.dist_info_dir + "/WHEEL"};
  PTPKG_TRY(const std::string text,
            ReadFile(env.fs, root / RelPath::Literal(wheel_file.path), wheel::DocumentLimit("WHEEL")));
  PTPKG_TRY(const wheel::WheelFile said, wheel::ReadWheelFile(text, wheel_file.path));
  wheel::RetagRequest request = TagsOfName(info.file_name, said);
  if (request.platform) {
    std::vector<std::string> tags;
    for (const wheel::Tag& tag : said.tags) tags.push_back(tag.str());
    wheel_file.changes.push_back(said.tag_faults.empty()
                                     ? fmt::format("tags of the file name, were '{}'", Join(tags, "', '"))
                                     : "tags of the file name: WHEEL had some that cannot be read");
  }
  if (request.build) {
    wheel_file.changes.push_back(
        fmt::format("build '{}' of the file name, was '{}'", *request.build, said.build));
  }
  PTPKG_TRY(const std::string platform, ResultPlatform(inputs, computed));
  if (platform != info.file_name.tag.platform) request.platform = platform;
  // Installers put a pure wheel into purelib, which systems with lib and lib64 share between architectures.
  if (!computed.machine.empty() && info.root_is_purelib) {
    request.root_is_purelib = false;
    wheel_file.changes.emplace_back("Root-Is-Purelib false, was true");
  }
  return TagChanges{.request = std::move(request), .wheel_file = std::move(wheel_file)};
}

}  // namespace

Result<WheelRepair> PlanRepair(Env& env, const AbsPath& wheel, const RepairOptions& options) {
  PTPKG_TRY(const RepairInputs inputs, ReadInputs(env, wheel, options));
  PTPKG_CHECK(env.fs.MakeDirs(env.cache_dir));
  PTPKG_TRY(TempDir scratch, TempDir::Create(env.fs, env.cache_dir, "repair"));
  const AbsPath root = scratch.path();
  PTPKG_CHECK(UnpackElfFiles(env, wheel, root));
  PTPKG_TRY(verify::ElfTree tree, ReadSoundTree(env, root));
  PTPKG_TRY(verify::ComputedPlatform computed, ComputeTreePlatform(inputs, tree));
  PTPKG_TRY(RepairPlan plan, PlanFileEdits(env, inputs, tree, computed));

  PTPKG_CHECK(CompareWithRecord(env, root, plan.edits, inputs.info.record));
  PTPKG_TRY(const std::vector<EditedFile> edited, EditFiles(env, root, plan.edits));
  std::vector<Graft>& grafts = plan.bundled.grafts;
  if (!grafts.empty()) {
    // The copies can need a newer glibc than the wheel did, which raises the tag.
    PTPKG_TRY(tree, ReadSoundTree(env, root));
    PTPKG_TRY(computed, ComputeTreePlatform(inputs, tree));
  }

  wheel::NewContent content;
  PTPKG_TRY(content.files, HashChanged(env, root, edited));
  std::map<AbsPath, SystemPackage> owners;
  if (!grafts.empty()) {
    std::vector<AbsPath> sources;
    for (const Graft& graft : grafts) sources.push_back(graft.source);
    PTPKG_TRY(owners, FindOwners(env, sources));
    PTPKG_TRY(content.documents[wheel::SbomName(kSbomWriter)], DescribeGrafts(env, inputs, grafts, owners));
  }
  PTPKG_TRY(TagChanges tags, PlanTags(env, inputs, root, computed));
  WheelRepair repair{.name = inputs.info.file_name,
                     .edits = {},
                     .content = std::move(scratch),
                     .grafts = std::move(grafts),
                     .owners = std::move(owners),
                     .left_out = std::move(plan.bundled.left_out),
                     .excludes_used = std::move(plan.bundled.excludes_used),
                     .files = ListChangedFiles(edited, plan.dropped),
                     .wheel_file = std::move(tags.wheel_file),
                     .computed = std::move(computed),
                     .platform_before = inputs.info.file_name.tag.platform};
  // The caller copies the wheel unchanged then. A plan with a new RECORD would make another file of it.
  if (tags.request.ChangesNothing() && content.files.empty()) return repair;
  PTPKG_TRY(wheel::Retagging retagging, wheel::PlanRetag(env, wheel, tags.request, content));
  repair.name = std::move(retagging.name);
  repair.edits = std::move(retagging.edits);
  return repair;
}

}  // namespace ptpkg::repair
