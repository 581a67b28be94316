#include "pipeline/check.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "channel/index.h"
#include "provenance/key_file.h"
#include "spec/device_code.h"
#include "support/json.h"
#include "support/plural.h"
#include "support/text.h"
#include "verify/check.h"
#include "verify/device_code_checks.h"
#include "verify/provenance_checks.h"

namespace ptpkg::pipeline {
namespace {

Json NullIfEmpty(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json GlibcOrNull(const std::optional<verify::GlibcVersion>& glibc) {
  return glibc ? Json(glibc->str()) : Json(nullptr);
}

Json FileFacts(const verify::FileNeeds& file) {
  Json set_by = Json::array();
  for (const elf::RequiredVersion& version : file.set_by) {
    set_by.push_back({{"library", version.library}, {"version", version.version}});
  }
  const bool stated = file.isa != elf::IsaLevel::kUnstated;
  return {{"file", file.file},
          {"machine", NullIfEmpty(file.machine)},
          {"glibc", GlibcOrNull(file.glibc)},
          {"policy", NullIfEmpty(file.PolicyTag())},
          {"set_by", set_by},
          {"symbols", file.symbols},
          {"needed", file.needed},
          {"isa", stated ? Json(elf::IsaLevelName(file.isa)) : Json(nullptr)}};
}

Json AmountsByName(const elf::DeviceAmounts& amounts, std::string (elf::DeviceArchitecture::*name)() const) {
  Json object = Json::object();
  for (const auto& [architecture, amount] : amounts) {
    object[(architecture.*name)()] = {{"elements", amount.elements}, {"bytes", amount.size_bytes}};
  }
  return object;
}

Json DeviceShareFacts(const elf::DeviceShare& share) {
  return {{"sass", AmountsByName(share.sass, &elf::DeviceArchitecture::SassName)},
          {"ptx", AmountsByName(share.ptx, &elf::DeviceArchitecture::PtxName)},
          {"other_bytes", share.other_bytes},
          {"containers", share.containers}};
}

Json DeviceCodeFacts(const verify::FileDeviceCode& file) {
  const spec::DeviceArchitectures names = verify::ArchitecturesOf(file.code);
  return {{"file", file.file},
          {"sass", names.sass},
          {"ptx", names.ptx},
          {"embedded", DeviceShareFacts(file.code.embedded)},
          {"relocatable", DeviceShareFacts(file.code.relocatable)}};
}

/// What the files have in common, or how many lists there are.
std::string DeviceCodeLine(const verify::Examination& examination) {
  if (examination.device_code.empty()) return {};
  std::set<std::string> lists;
  for (const verify::FileDeviceCode& file : examination.device_code) {
    const spec::DeviceArchitectures names = verify::ArchitecturesOf(file.code);
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
  for (const verify::FileNeeds& file : examination.files) files.push_back(FileFacts(file));
  Json floor;
  if (examination.highest) floor = FileFacts(examination.files[*examination.highest]);
  Json device_code = Json::array();
  for (const verify::FileDeviceCode& file : examination.device_code)
    device_code.push_back(DeviceCodeFacts(file));
  return {{"floor", floor}, {"files", files}, {"device_code", device_code}};
}

std::string FloorLine(const verify::Examination& examination) {
  if (!examination.highest) return {};
  const verify::FileNeeds& file = examination.files[*examination.highest];
  std::vector<std::string> because = file.symbols;
  if (because.empty()) {
    for (const elf::RequiredVersion& version : file.set_by) because.push_back(version.version);
  }
  const std::string tag = file.PolicyTag();
  return fmt::format("needs {}{} ({}: {})",
                     file.glibc ? fmt::format("glibc {}", file.glibc->str()) : "any glibc",
                     tag.empty() ? "" : fmt::format(", fits {}", tag), file.file, Join(because, ", "));
}

/// Artifacts of a folder that offers them: directly in it, in the subdirs of a channel, in conda/, wheels/
/// and zip/ of an output folder. Sorted. A prefix may hold wheels deeper down, which belong to its files.
Result<std::vector<AbsPath>> ArtifactsOf(Env& env, const AbsPath& folder) {
  std::vector<AbsPath> found;
  const auto names_in = [&](const AbsPath& place) -> Result<std::vector<std::string>> {
    const Result<FileStat> stat = env.fs.Stat(place);
    if (!stat || stat->kind != FileKind::kDirectory) return std::vector<std::string>();
    return env.fs.ListDir(place);
  };
  const auto add = [&](const AbsPath& place,
                       const std::vector<std::string_view>& extensions) -> Result<void> {
    PTPKG_TRY(const std::vector<std::string> names, names_in(place));
    for (const std::string& name : names) {
      const bool wanted = std::any_of(extensions.begin(), extensions.end(), [&](std::string_view extension) {
        return name.size() > extension.size() && name.ends_with(extension);
      });
      if (!wanted) continue;
      PTPKG_TRY(const FileStat stat, env.fs.Stat(place / name));
      if (stat.kind == FileKind::kRegular) found.push_back(place / name);
    }
    return Ok();
  };
  PTPKG_CHECK(add(folder, {".conda", ".whl"}));  // a .tar.bz2 or .zip may be anything
  PTPKG_CHECK(add(folder / "wheels", {".whl"}));
  PTPKG_TRY(const bool is_output, Exists(env.fs, folder / "manifest.json"));
  if (is_output) PTPKG_CHECK(add(folder / "zip", {".zip"}));  // as any folder may be called
  for (const AbsPath& channel : {folder, folder / "conda"}) {
    PTPKG_TRY(const std::vector<std::string> names, names_in(channel));
    for (const std::string& name : names) {
      const bool subdir = name == "noarch" || name.starts_with("linux-") || name.starts_with("osx-") ||
                          name.starts_with("win-");
      if (subdir) PTPKG_CHECK(add(channel / name, {".conda", ".tar.bz2"}));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<std::vector<CheckOutcome>> Check(Env& env, const CheckRequest& request) {
  verify::CheckOptions options{.forbidden_paths = request.forbidden_paths,
                               .allow_unresolved = request.allow_unresolved,
                               .device_code = request.device_code,
                               .dependencies = request.dependencies};
  if (!request.profile.empty()) {
    PTPKG_TRY(options.profile, verify::ParseProfile(request.profile));
  }
  if (const auto asked = spec::DeviceCodeRequest::Parse(request.device_code); !asked) {
    return Error(ErrorCode::kUsage, asked.error().message()).WithHint(asked.error().hint());
  }
  std::optional<PublicKey> key;
  if (request.verify_key) {
    PTPKG_TRY(key, provenance::ReadPublicKey(env, *request.verify_key));
  }
  std::vector<CheckOutcome> outcomes;
  struct Subject {
    AbsPath path;
    bool tree;
  };
  std::vector<Subject> subjects;
  for (const AbsPath& path : request.paths) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    if (stat.kind != FileKind::kDirectory) {
      subjects.push_back({path, false});
      continue;
    }
    const bool asked = options.profile == verify::Profile::kTree;
    PTPKG_TRY(const std::vector<AbsPath> artifacts,
              asked ? Result<std::vector<AbsPath>>(std::vector<AbsPath>()) : ArtifactsOf(env, path));
    for (const AbsPath& artifact : artifacts) subjects.push_back({artifact, false});
    if (artifacts.empty()) subjects.push_back({path, true});
    if (artifacts.empty() && key) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--verify-key is for artifacts, and '{}' is a folder of files", path.str()))
          .WithHint("name the artifacts: what is signed lies beside them");
    }
  }
  for (const auto& [path, tree] : subjects) {
    Task task(env.reporter, {.stage = "check", .subject = std::string(path.Name())});
    PTPKG_TRY(verify::Examination examination,
              tree ? verify::ExamineTree(env, path, options) : verify::ExamineArtifact(env, path, options));
    if (key) {
      PTPKG_TRY(const std::vector<Finding> wrong, verify::CheckProvenance(env, path, *key));
      std::vector<Finding>& findings = examination.report.findings;
      findings.insert(findings.begin(), wrong.begin(), wrong.end());
    }
    task.Done();
    outcomes.push_back({.report = std::move(examination.report),
                        .profile = std::string(verify::ProfileName(examination.profile)),
                        .floor = FloorLine(examination),
                        .device_code = DeviceCodeLine(examination),
                        .facts = Facts(examination)});
  }
  return outcomes;
}

std::vector<std::string> ProfileNames() { return verify::ProfileNames(); }

Result<IndexOutcome> Index(Env& env, const AbsPath& folder) {
  Task task(env.reporter, {.stage = "index", .subject = std::string(folder.Name())});
  PTPKG_TRY(channel::IndexSummary summary, channel::IndexFolder(env, folder));
  task.Done();
  IndexOutcome outcome{.packages = summary.packages, .written = std::move(summary.written), .left_out = {}};
  for (channel::LeftOut& left_out : summary.left_out) outcome.left_out.push_back(std::move(left_out.package));
  return outcome;
}

}  // namespace ptpkg::pipeline
