// uv takes the metadata of one wheel for all wheels of its version, and pip reads each wheel's own. Wheels
// that differ therefore give different environments, although each of them is valid alone. Every wheel is
// compared with the first of its version, by path. Values are compared as sets and in normal form, so that
// neither the order of fields nor their spelling counts.

#include "verify/rules/cross_wheel_checks.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>

#include "support/text/text.h"
#include "wheel/metadata/entry_points.h"
#include "wheel/metadata/marker.h"
#include "wheel/wheel.h"

namespace ptpkg::verify {
namespace {

constexpr std::size_t kShownLines = 5;

struct ComparedField {
  std::string_view name;
  std::string_view id;
};
constexpr std::array<ComparedField, 6> kComparedFields = {{
    {"Requires-Dist", "wheel-matrix-requirements"},
    {"Provides-Extra", "wheel-matrix-requirements"},
    {"Requires-Python", "wheel-matrix-requirements"},
    {"License", "wheel-matrix-metadata"},
    {"License-Expression", "wheel-matrix-metadata"},
    {"License-File", "wheel-matrix-metadata"},
}};

std::string CountedSpecifiers(std::string_view value) {
  wheel::Requirement list;
  auto specifiers = wheel::ParseSpecifiers(value);
  if (!specifiers) return std::string(Trim(value));
  list.specifiers = wheel::NormalSpecifiers(*std::move(specifiers));
  return list.str();
}

/// A value as it counts: how names, versions, markers and spaces are written does not.
std::string Counted(std::string_view field, const std::string& value) {
  if (field == "Provides-Extra") return wheel::NormalizeName(Trim(value));
  if (field == "Requires-Python") return CountedSpecifiers(value);
  if (field != "Requires-Dist") return std::string(Trim(value));
  Result<wheel::Requirement> requirement = wheel::ParseRequirement(value);
  if (!requirement) return std::string(Trim(value));
  requirement->name = wheel::NormalizeName(requirement->name);
  for (std::string& extra : requirement->extras) extra = wheel::NormalizeName(extra);
  std::sort(requirement->extras.begin(), requirement->extras.end());
  requirement->specifiers = wheel::NormalSpecifiers(std::move(requirement->specifiers));
  if (auto marker = wheel::NormalMarker(requirement->marker)) requirement->marker = *std::move(marker);
  return requirement->str();
}

std::set<std::string> FieldValues(const wheel::WheelMetadata& info, std::string_view field) {
  std::set<std::string> values;
  for (const std::string& value : info.metadata.GetAll(field)) values.insert(Counted(field, value));
  return values;
}

/// Lines of entry_points.txt; the text itself if it is none.
std::set<std::string> EntryPointLines(const wheel::WheelMetadata& info) {
  const auto points = wheel::ParseEntryPoints(info.entry_points, "entry_points.txt");
  if (!points) return {info.entry_points};
  std::set<std::string> lines;
  for (const wheel::EntryPoint& point : *points) {
    const std::string object = point.object.empty() ? "" : ":" + point.object;
    const std::string extras = point.extras.empty() ? "" : fmt::format(" [{}]", Join(point.extras, ","));
    lines.insert(fmt::format("[{}] {} = {}{}{}", point.group, point.name, point.module, object, extras));
  }
  return lines;
}

/// "'a', 'b' and 2 more"
std::string ShownLines(const std::vector<std::string>& lines) {
  std::string text;
  for (std::size_t i = 0; i < std::min(lines.size(), kShownLines); ++i)
    text += fmt::format("{}'{}'", i == 0 ? "" : ", ", lines[i]);
  if (lines.size() > kShownLines) text += fmt::format(" and {} more", lines.size() - kShownLines);
  return text;
}

std::vector<std::string> OnlyIn(const std::set<std::string>& these, const std::set<std::string>& those) {
  std::vector<std::string> lines;
  std::set_difference(these.begin(), these.end(), those.begin(), those.end(), std::back_inserter(lines));
  return lines;
}

struct Compared {
  std::string_view id;
  std::string_view what;
  std::string file;
  std::string_view first;  ///< The other wheel's name.
};

void Compare(const Compared& subject, const std::set<std::string>& here, const std::set<std::string>& there,
             std::vector<Finding>& findings) {
  const std::vector<std::string> more = OnlyIn(here, there);
  const std::vector<std::string> less = OnlyIn(there, here);
  if (more.empty() && less.empty()) return;
  std::string how;
  if (!more.empty()) how = fmt::format("only here: {}", ShownLines(more));
  if (!less.empty()) how += fmt::format("{}only there: {}", how.empty() ? "" : "; ", ShownLines(less));
  findings.push_back(
      {std::string(subject.id), Severity::kWarning, subject.file,
       fmt::format("{} differs from '{}': {}", subject.what, subject.first, how),
       "use the same metadata for all wheels of a version, with markers for platform-specific requirements"});
}

struct ReadWheel {
  AbsPath path;
  wheel::WheelMetadata info;
};

std::vector<Finding> CompareWheels(const ReadWheel& wheel, const ReadWheel& first) {
  std::vector<Finding> findings;
  for (const ComparedField& field : kComparedFields) {
    Compare({field.id, field.name, wheel.info.dist_info_dir + "/METADATA", first.path.Name()},
            FieldValues(wheel.info, field.name), FieldValues(first.info, field.name), findings);
  }
  Compare({"wheel-matrix-metadata", "the list of entry points",
           wheel.info.dist_info_dir + "/entry_points.txt", first.path.Name()},
          EntryPointLines(wheel.info), EntryPointLines(first.info), findings);
  return findings;
}

/// All wheels of one name and version.
struct Group {
  std::optional<ReadWheel> first;
  std::size_t wheels = 0;
  std::vector<CrossWheelFindings> findings;
  std::vector<CrossWheelFindings> not_compared;
};

/// "toy-1.0" of a file name; "" for one that is none.
std::string VersionOf(std::string_view file_name) {
  const auto name = wheel::FileName::Parse(file_name);
  return name ? name->Stem() : std::string();
}

Finding NotCompared(const Error& why) {
  return {"wheel-matrix-metadata", Severity::kWarning, "",
          fmt::format("cannot be compared with the other wheels of its version: {}", why.message()),
          "fix its other findings first"};
}

/// Errors: kIo, kCancelled; any other is a finding.
Result<void> AddWheel(Env& env, const AbsPath& path, Group& group) {
  ++group.wheels;
  Result<wheel::WheelMetadata> info = wheel::ReadWheelMetadata(env, path);
  if (!info) {
    const ErrorCode code = info.error().code();
    // These say nothing about the wheel, so a finding would be wrong.
    if (code == ErrorCode::kIo || code == ErrorCode::kCancelled) return std::move(info).error();
    group.not_compared.push_back({path, {NotCompared(info.error())}});
    return Ok();
  }
  ReadWheel wheel{path, *std::move(info)};
  if (!group.first) {
    group.first = std::move(wheel);
    return Ok();
  }
  std::vector<Finding> findings = CompareWheels(wheel, *group.first);
  if (!findings.empty()) group.findings.push_back({path, std::move(findings)});
  return Ok();
}

}  // namespace

Result<std::vector<CrossWheelFindings>> CheckAcrossWheels(Env& env, std::vector<AbsPath> wheels) {
  std::sort(wheels.begin(), wheels.end());
  wheels.erase(std::unique(wheels.begin(), wheels.end()), wheels.end());
  std::map<std::string, Group> groups;  // by name and version
  for (const AbsPath& path : wheels) {
    PTPKG_CHECK(env.cancel.Check());
    const std::string version = VersionOf(path.Name());
    if (!version.empty()) PTPKG_CHECK(AddWheel(env, path, groups[version]));
  }
  std::vector<CrossWheelFindings> all;
  for (auto& [version, group] : groups) {
    std::move(group.findings.begin(), group.findings.end(), std::back_inserter(all));
    // A single wheel has nothing to be compared with, and its own check reports why it cannot be read.
    if (group.wheels < 2) continue;
    std::move(group.not_compared.begin(), group.not_compared.end(), std::back_inserter(all));
  }
  std::sort(all.begin(), all.end(), [](const CrossWheelFindings& left, const CrossWheelFindings& right) {
    return left.wheel < right.wheel;
  });
  return all;
}

}  // namespace ptpkg::verify
