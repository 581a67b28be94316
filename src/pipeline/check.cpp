#include "pipeline/check.h"

#include <fmt/core.h>

#include "channel/index.h"
#include "support/json.h"
#include "support/text.h"
#include "verify/check.h"

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

Json Facts(const verify::Examination& examination) {
  Json files = Json::array();
  for (const verify::FileNeeds& file : examination.files) files.push_back(FileFacts(file));
  Json floor;
  if (examination.highest) floor = FileFacts(examination.files[*examination.highest]);
  return {{"floor", floor}, {"files", files}};
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

}  // namespace

Result<std::vector<CheckOutcome>> Check(Env& env, const CheckRequest& request) {
  verify::CheckOptions options{.forbidden_paths = request.forbidden_paths,
                               .allow_unresolved = request.allow_unresolved,
                               .dependencies = request.dependencies};
  if (!request.profile.empty()) {
    PTPKG_TRY(options.profile, verify::ParseProfile(request.profile));
  }
  std::vector<CheckOutcome> outcomes;
  for (const AbsPath& path : request.paths) {
    PTPKG_TRY(const FileStat stat, env.fs.Stat(path));
    Task task(env.reporter, {.stage = "check", .subject = std::string(path.Name())});
    const bool folder = stat.kind == FileKind::kDirectory;
    PTPKG_TRY(verify::Examination examination,
              folder ? verify::ExamineTree(env, path, options) : verify::ExamineArtifact(env, path, options));
    task.Done();
    outcomes.push_back({.report = std::move(examination.report),
                        .profile = std::string(verify::ProfileName(examination.profile)),
                        .floor = FloorLine(examination),
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
