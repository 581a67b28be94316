// Decides what `ptpkg check` has to look at, and puts the findings together.
//
// - A directory is searched only where artifacts are offered: in itself, subdirs of a channel, backends of an
//   index, and an output directory's parts. A prefix may hold wheels deeper down, which belong to its files.
//   A directory without artifacts is checked as a tree of files.
// - Names decide what counts: a .zip or .tar.bz2 may be anything, so it needs a manifest or a package's name.
// - Profiles are compared with all names before the first file is read, so that a usage error comes at once.
//
// Some findings need several artifacts: wheels are compared per backend, because no installer sees two
// backends in one index, and conda packages are compared for shared files.
//
// One unreadable artifact does not hide the findings of the others: its error is kept, and the run goes on
// (FirstFailure).

#include "pipeline/commands/check_command.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <map>
#include <set>

#include "conda/channel_names.h"
#include "index/index.h"
#include "index/simple_index/backend_directories.h"
#include "pipeline/plan/first_failure.h"
#include "provenance/key_file.h"
#include "publish/output/output_folder.h"
#include "support/text/globs.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "verify/check_artifact.h"
#include "verify/elf/device_code_checks.h"
#include "verify/elf/elf_tables.h"
#include "verify/examination_json.h"
#include "verify/rules/cross_wheel_checks.h"
#include "verify/rules/provenance_checks.h"
#include "verify/rules/shared_files.h"
#include "verify/wheel/policy_libraries.h"
#include "versions/cuda_archs.h"

namespace ptpkg::pipeline {
namespace {

/// One line: the GPU code of all files, or the number of different lists.
std::string DeviceCodeLine(const verify::Examination& examination) {
  if (examination.device_code.empty()) return {};
  std::set<std::string> lists;
  for (const verify::FileDeviceCode& file : examination.device_code) {
    const versions::DeviceArchitectures names = verify::ArchitecturesOf(file.code);
    std::vector<std::string> words(names.sass.begin(), names.sass.end());
    words.insert(words.end(), names.ptx.begin(), names.ptx.end());
    lists.insert(Join(words, " "));
  }
  const std::string files = Plural(examination.device_code.size(), "file");
  if (lists.size() == 1) return fmt::format("GPU code of {}: {}", files, *lists.begin());
  return fmt::format("GPU code of {}, for {} sets of architectures (--json lists them)", files, lists.size());
}

Json Facts(const verify::Examination& examination) {
  Json files = Json::array();
  for (const verify::FileNeeds& file : examination.files) files.push_back(verify::FileNeedsToJson(file));
  Json floor;
  if (examination.highest) floor = verify::FileNeedsToJson(examination.files[*examination.highest]);
  Json device_code = Json::array();
  for (const verify::FileDeviceCode& file : examination.device_code) {
    device_code.push_back(verify::FileDeviceCodeToJson(file));
  }
  return {{"floor", floor}, {"files", files}, {"device_code", device_code}};
}

/// A library that a file needs of the system and that no policy lists; "" if there is none. Libraries of
/// drivers and of dependencies count for nothing, as in a repair.
Result<std::string> ExternalLibrary(const verify::Examination& examination) {
  PTPKG_TRY(const verify::PolicyLibraries libraries, verify::PolicyLibraries::BuiltIn());
  const auto is_found_missing = [&](const verify::FileNeeds& file, const std::string& name) {
    const std::string quoted = fmt::format("needs '{}'", name);
    return std::any_of(examination.report.findings.begin(), examination.report.findings.end(),
                       [&](const Finding& finding) {
                         return finding.file == file.file && finding.id != "elf-allowed-needed" &&
                                finding.message.starts_with(quoted);
                       });
  };
  for (const verify::FileNeeds& file : examination.files) {
    for (const auto& [name, found] : file.needed) {
      if (!found.empty() || libraries.IsOfManylinux(name, std::nullopt) ||
          MatchesAnyGlob(verify::DriverLibraries(), name))
        continue;
      if (MatchesAnyGlob(verify::SystemLibraries(), name) || is_found_missing(file, name)) return name;
    }
  }
  return std::string();
}

/// The platform tag that a repair would not have to change.
std::string FittingTag(const verify::Examination& examination, const verify::FileNeeds& file) {
  const std::string tag = file.PolicyTag();
  if (tag.empty()) return {};
  const Result<std::string> external = ExternalLibrary(examination);
  if (!external || external->empty()) return fmt::format(", fits {}", tag);
  return fmt::format(", fits linux_{}: no manylinux policy allows '{}'", file.machine, *external);
}

std::string FloorLine(const verify::Examination& examination) {
  if (!examination.highest) return {};
  const verify::FileNeeds& file = examination.files[*examination.highest];
  std::vector<std::string> because = file.symbols;
  if (because.empty()) {
    for (const elf::RequiredVersion& version : file.set_by) because.push_back(version.version);
  }
  because.insert(because.end(), file.set_by_names.begin(), file.set_by_names.end());
  return fmt::format("needs {}{} ({}: {})",
                     file.glibc ? fmt::format("glibc {}", file.glibc->str()) : "any glibc",
                     FittingTag(examination, file), file.file, Join(because, ", "));
}

/// Names in `folder`; empty if it is not a directory.
Result<std::vector<std::string>> NamesBelow(Env& env, const AbsPath& folder) {
  const Result<FileStat> stat = env.fs.Stat(folder);
  if (!stat || stat->kind != FileKind::kDirectory) return std::vector<std::string>();
  return env.fs.ListDir(folder);
}

/// Adds the files directly in `folder` that have one of the extensions.
Result<void> AddFiles(Env& env, const AbsPath& folder, const std::vector<std::string_view>& extensions,
                      std::vector<AbsPath>& found) {
  PTPKG_TRY(const std::vector<std::string> names, NamesBelow(env, folder));
  for (const std::string& name : names) {
    const bool wanted = std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
      return name.size() > extension.size() && name.ends_with(extension);
    });
    if (!wanted) continue;
    PTPKG_TRY(const FileStat stat, env.fs.Stat(folder / name));
    if (stat.kind == FileKind::kRegular) found.push_back(folder / name);
  }
  return Ok();
}

/// Wheels in the directories of backends of the index at `index`.
Result<void> AddBackendWheels(Env& env, const AbsPath& index, std::vector<AbsPath>& found) {
  PTPKG_TRY(const std::vector<std::string> names, NamesBelow(env, index));
  for (const std::string& name : names) {
    if (index::IsBackend(name)) PTPKG_CHECK(AddFiles(env, index / name, {".whl"}, found));
  }
  return Ok();
}

/// Packages in the subdirs of the channel at `channel`.
Result<void> AddSubdirPackages(Env& env, const AbsPath& channel, std::vector<AbsPath>& found) {
  PTPKG_TRY(const std::vector<std::string> names, NamesBelow(env, channel));
  for (const std::string& name : names) {
    const bool subdir = name == "noarch" || name.starts_with("linux-") || name.starts_with("osx-") ||
                        name.starts_with("win-");
    if (subdir) PTPKG_CHECK(AddFiles(env, channel / name, {".conda", ".tar.bz2"}, found));
  }
  return Ok();
}

/// Artifacts of a directory that offers them: directly in it, in the subdirs of a channel, in the directories
/// of backends of an index, in conda/, wheels/ and zip/ of an output directory. Sorted. A prefix may hold
/// wheels deeper down, which belong to its files.
Result<std::vector<AbsPath>> ArtifactsOf(Env& env, const AbsPath& folder) {
  std::vector<AbsPath> found;
  PTPKG_CHECK(AddFiles(env, folder, {".conda", ".tar.bz2", ".whl"}, found));  // a .zip may be anything
  std::erase_if(found, [](const AbsPath& path) {  // as may a .tar.bz2 that is not called like a package
    return path.Name().ends_with(".tar.bz2") && !conda::DistName::Parse(path.Name());
  });
  PTPKG_CHECK(AddBackendWheels(env, folder, found));
  PTPKG_CHECK(AddFiles(env, folder / "wheels", {".whl"}, found));
  PTPKG_CHECK(AddBackendWheels(env, folder / "wheels", found));
  PTPKG_TRY(const bool is_output, Exists(env.fs, folder / "manifest.json"));
  if (is_output)
    PTPKG_CHECK(AddFiles(env, folder / "zip", {".zip"}, found));  // as any directory may be called
  PTPKG_CHECK(AddSubdirPackages(env, folder, found));
  PTPKG_CHECK(AddSubdirPackages(env, folder / "conda", found));
  std::sort(found.begin(), found.end());
  return found;
}

/// True if anything but directories lies in `folder`, however deep.
Result<bool> HoldsFiles(Env& env, const AbsPath& folder) {
  PTPKG_CHECK(env.cancel.Check());
  PTPKG_TRY(const std::vector<std::string> names, env.fs.ListDir(folder));
  std::vector<AbsPath> below;
  for (const std::string& name : names) {
    const AbsPath path = folder / RelPath::Literal(name);
    PTPKG_TRY(const FileStat stat, env.fs.Lstat(path));
    if (stat.kind != FileKind::kDirectory) return true;
    below.push_back(path);
  }
  for (const AbsPath& path : below) {
    PTPKG_TRY(const bool found, HoldsFiles(env, path));
    if (found) return true;
  }
  return false;
}

struct Subject {
  AbsPath path;
  bool tree;
};

/// Items to check: artifacts, and directories of files. Missing paths are failures.
Result<std::vector<Subject>> SubjectsOf(Env& env, const CheckRequest& request,
                                        const verify::CheckOptions& options, FirstFailure& failure) {
  std::vector<Subject> subjects;
  for (const AbsPath& path : request.paths) {
    Result<FileStat> stat = env.fs.Stat(path);
    if (!stat && !failure.Add(env, stat.error())) return std::move(stat).error();
    if (!stat) continue;
    if (stat->kind != FileKind::kDirectory) {
      subjects.push_back({path, false});
      continue;
    }
    const bool asked = options.profile == verify::Profile::kTree;
    PTPKG_TRY(const std::vector<AbsPath> artifacts,
              asked ? Result<std::vector<AbsPath>>(std::vector<AbsPath>()) : ArtifactsOf(env, path));
    for (const AbsPath& artifact : artifacts) subjects.push_back({artifact, false});
    if (!artifacts.empty()) continue;
    PTPKG_TRY(const bool holds_files, HoldsFiles(env, path));
    if (!holds_files) {
      const Error empty =
          Error(ErrorCode::kInvalidInput, fmt::format("nothing to check: '{}' is empty", path.str()))
              .WithHint("give artifacts, or a directory with some: ptpkg check dist");
      if (!failure.Add(env, empty)) return empty;
      continue;
    }
    subjects.push_back({path, true});
    if (request.verify_key) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--verify-key needs artifacts, but '{}' is a directory of plain files",
                               path.str()))
          .WithHint("give the artifacts: signatures are beside them");
    }
  }
  for (const Subject& subject : subjects) {  // before the first of them is read
    PTPKG_CHECK(verify::ProfileBeside(options.targets, options.profile, subject.path.Name()));
  }
  return subjects;
}

Result<CheckOutcome> CheckSubject(Env& env, const Subject& subject, const verify::CheckOptions& options,
                                  const std::optional<PublicKey>& key) {
  const AbsPath& path = subject.path;
  Task task(env.reporter, {.stage = "check", .subject = std::string(path.Name())});
  PTPKG_TRY(verify::Examination examination, subject.tree ? verify::ExamineTree(env, path, options)
                                                          : verify::ExamineArtifact(env, path, options));
  if (key) {
    PTPKG_TRY(const std::vector<Finding> wrong, verify::CheckProvenance(env, path, *key));
    std::vector<Finding>& findings = examination.report.findings;
    findings.insert(findings.begin(), wrong.begin(), wrong.end());
  }
  task.Done();
  std::vector<std::string> conda_files;
  if (conda::DistName::Parse(path.Name())) {
    for (const TreeEntry& entry : examination.entries) conda_files.push_back(entry.path.str());
  }
  std::string floor = FloorLine(examination);  // looks at the findings
  return CheckOutcome{.report = std::move(examination.report),
                      .profile = std::string(verify::ProfileName(examination.profile)),
                      .floor = std::move(floor),
                      .device_code = DeviceCodeLine(examination),
                      .conda_files = std::move(conda_files),
                      .facts = Facts(examination)};
}

Result<std::vector<verify::Target>> TargetsOf(const CheckRequest& request) {
  if (!request.targets) return std::vector<verify::Target>();
  return verify::ParseTargets(*request.targets);
}

/// The directory of its backend, if the wheel lies in one; else "". No installer sees wheels of two backends
/// in one index, and their requirements differ with reason.
std::string BackendFolderOf(const AbsPath& wheel) {
  const AbsPath folder = wheel.Parent();
  return index::IsBackend(folder.Name()) ? folder.str() : "";
}

void AddSharedFiles(std::vector<CheckOutcome>& outcomes) {
  std::vector<CheckOutcome*> of_packages;
  std::vector<verify::PackageFiles> packages;
  for (CheckOutcome& outcome : outcomes) {
    auto path = AbsPath::Parse(outcome.report.subject);
    if (!path || outcome.conda_files.empty()) continue;
    packages.push_back({.package = *std::move(path), .paths = std::move(outcome.conda_files)});
    of_packages.push_back(&outcome);
  }
  std::vector<std::vector<Finding>> findings = verify::CheckSharedFiles(packages);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    std::vector<Finding>& all = of_packages[i]->report.findings;
    std::move(findings[i].begin(), findings[i].end(), std::back_inserter(all));
  }
}

}  // namespace

Result<void> AddCrossWheelFindings(Env& env, const CheckRequest& request,
                                   const std::vector<CheckOutcome*>& outcomes) {
  PTPKG_TRY(const std::vector<verify::Target> targets, TargetsOf(request));
  std::map<std::string, std::vector<AbsPath>> groups;
  for (const CheckOutcome* const outcome : outcomes) {
    if (!outcome->report.subject.ends_with(".whl")) continue;
    PTPKG_TRY(AbsPath path, AbsPath::Parse(outcome->report.subject));
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    if (stat.kind == FileKind::kRegular) groups[BackendFolderOf(path)].push_back(std::move(path));
  }
  std::vector<verify::CrossWheelFindings> matrix;
  for (auto& [backend, wheels] : groups) {
    if (wheels.size() < 2) continue;
    PTPKG_TRY(std::vector<verify::CrossWheelFindings> some,
              verify::CheckAcrossWheels(env, std::move(wheels)));
    std::move(some.begin(), some.end(), std::back_inserter(matrix));
  }
  for (verify::CrossWheelFindings& one : matrix) {
    if (!targets.empty()) verify::ApplyTargets(verify::ConsumersOf(targets), one.findings);
    for (CheckOutcome* const outcome : outcomes) {
      if (outcome->report.subject != one.wheel.str()) continue;
      std::vector<Finding>& findings = outcome->report.findings;
      findings.insert(findings.end(), one.findings.begin(), one.findings.end());
    }
  }
  return Ok();
}

Result<CheckSummary> Check(Env& env, const CheckRequest& request) {
  verify::CheckOptions options{.forbidden_paths = request.forbidden_paths,
                               .allow_unresolved = request.allow_unresolved,
                               .device_code = request.device_code,
                               .dependencies = request.dependencies};
  if (!request.profile.empty()) {
    PTPKG_TRY(options.profile, verify::ParseProfile(request.profile));
  }
  PTPKG_TRY(options.targets, TargetsOf(request));
  if (const auto asked = versions::DeviceCodeRequest::Parse(request.device_code); !asked) {
    return Error(ErrorCode::kUsage, asked.error().message()).WithHint(asked.error().hint());
  }
  std::optional<PublicKey> key;
  if (request.verify_key) {
    PTPKG_TRY(key, provenance::ReadPublicKey(env, *request.verify_key));
  }
  CheckSummary summary;
  FirstFailure failure;
  PTPKG_TRY(const std::vector<Subject> subjects, SubjectsOf(env, request, options, failure));
  for (const Subject& subject : subjects) {
    Result<CheckOutcome> outcome = CheckSubject(env, subject, options, key);
    if (outcome) {
      summary.outcomes.push_back(*std::move(outcome));
    } else if (!failure.Add(env, std::move(outcome).error())) {
      break;
    }
  }
  std::vector<CheckOutcome*> outcomes;
  for (CheckOutcome& outcome : summary.outcomes) outcomes.push_back(&outcome);
  if (Result<void> matrix = AddCrossWheelFindings(env, request, outcomes); !matrix) {
    failure.Add(env, std::move(matrix).error());
  }
  AddSharedFiles(summary.outcomes);
  summary.failure = std::move(failure).Take();
  return summary;
}

std::vector<std::string> ProfileNames() { return verify::ProfileNames(); }
std::vector<std::string> TargetNames() { return verify::TargetNames(); }

Result<IndexOutcome> Index(Env& env, const IndexRequest& request) {
  const AbsPath& folder = request.folder;
  Task task(env.reporter, {.stage = "index", .subject = std::string(folder.Name())});
  // An index lists all files of a publication or none.
  PTPKG_CHECK(publish::OutputFolder::RecoverPublication(env, folder.Parent()));
  PTPKG_TRY(index::IndexSummary summary,
            index::IndexFolder(env, folder,
                               {.roots = request.roots,
                                .channel = {.shards = request.shards,
                                            .current_repodata = request.current_repodata,
                                            .patch = request.patch}}));
  task.Done();
  for (const AbsPath& wheel : summary.rootless) {
    env.reporter.Warn(fmt::format(
        "'{}' is not in the index of any backend: its version has no backend label, such as +cpu or +cu130",
        wheel.str()));
  }
  IndexOutcome outcome{.packages = summary.packages,
                       .written = std::move(summary.written),
                       .left_out = {},
                       .roots = std::move(summary.roots),
                       .rootless = std::move(summary.rootless)};
  for (index::SkippedPackage& left_out : summary.left_out)
    outcome.left_out.push_back(std::move(left_out.package));
  return outcome;
}

}  // namespace ptpkg::pipeline
