#include "builder/pip/wheel_resolve.h"

#include <algorithm>
#include <fmt/format.h>

#include "builder/tools/tools.h"
#include "support/text/text.h"
#include "versions/version_spec.h"

namespace ptpkg::builder {

namespace {

using Kind = WheelRow::Kind;

/// The fields of a constraint that names one version or one series: {13, 0} of "13.0", "13.0.*" and "=13.0";
/// empty for a range.
std::vector<std::string> PlainFields(std::string_view constraint) {
  while (constraint.starts_with('=')) constraint.remove_prefix(1);
  if (constraint.ends_with(".*")) constraint.remove_suffix(2);
  if (constraint.empty() || constraint.find_first_not_of("0123456789.") != std::string_view::npos) return {};
  return Split(constraint, '.');
}

std::string FirstFields(const std::string& version, std::size_t count) {
  std::vector<std::string> fields = Split(version, '.');
  fields.resize(std::min(fields.size(), count));
  return Join(fields, ".");
}

bool IsConstrained(const versions::MatchSpec& spec) { return !spec.version.empty() && spec.version != "*"; }

class Resolver {
 public:
  Resolver(Env& env, const IndexAccess& access, const std::vector<WheelRequirement>& requirements)
      : env_(env), table_(BuiltInWheelTable()), access_(access), requirements_(requirements) {}

  Result<WheelPlan> Run(const std::optional<LockedWheels>& given) {
    PTPKG_CHECK(CheckForms());
    WheelPlan plan{.access = access_, .wheels = {}, .programs = {}, .toolkit = {}};
    if (given) {
      plan.wheels = *given;
    } else {
      PTPKG_CHECK(Ask());
      plan.wheels.pins = std::move(pins_);
      for (const WheelRequirement& one : requirements_) plan.wheels.names.push_back(one.spec.name);
    }
    PTPKG_CHECK(CheckSameMinorVersions(table_, plan.wheels.pins));
    if (const WheelPin* toolkit = Find(plan.wheels.pins, table_.toolkit)) {
      plan.toolkit = FirstFields(toolkit->version, 2);
    }
    for (const WheelRequirement& one : requirements_) PTPKG_CHECK(Meet(one, plan));
    return plan;
  }

 private:
  Result<void> CheckForms() {
    for (const WheelRequirement& one : requirements_) {
      const bool build = !one.spec.build.empty() && one.spec.build != "*";
      if (!build && one.spec.version.find('|') == std::string::npos) continue;
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' {}, which the Python index cannot resolve", one.spec.str(),
                               build ? "names a build string" : "has alternatives with '|'"))
          .WithHint("remove it from the requirement, or use --env conda");
    }
    return Ok();
  }

  /// Asks everything before the first lack is an error.
  Result<void> Ask() {
    const Result<std::string> toolkit = ToolkitVersion();
    if (toolkit) {
      PTPKG_CHECK(Note(AskParts(*toolkit)));
      PTPKG_CHECK(Note(AskFolders(*toolkit)));
    } else {
      PTPKG_CHECK(Note(toolkit.error()));
    }
    PTPKG_CHECK(Note(AskPackages(true)));
    PTPKG_CHECK(Note(AskPackages(false)));
    if (!lacks_.empty()) return JoinNotFoundErrors(lacks_);
    return Ok();
  }

  /// Keeps what the index lacks for JoinNotFoundErrors; returns other errors.
  Result<void> Note(Result<void> asked) {
    if (asked || asked.error().code() != ErrorCode::kNotFound) return asked;
    lacks_.push_back(std::move(asked).error());
    return Ok();
  }

  [[nodiscard]] bool FollowsToolkit(const WheelRow& row) const {
    return row.kind == Kind::kPart &&
           (row.package == table_.toolkit || table_.together.contains(row.package));
  }

  /// "13.0", from what the requirements say, else from the index; "" if nothing of the toolkit is required.
  Result<std::string> ToolkitVersion() {
    const bool any = std::any_of(requirements_.begin(), requirements_.end(),
                                 [](const WheelRequirement& one) { return one.row.IsToolkit(); });
    if (!any) return std::string();
    std::vector<std::string> fields;
    const WheelRequirement* of_fields = nullptr;
    std::string question = table_.toolkit;
    std::vector<std::string> ranges;
    for (const WheelRequirement& one : requirements_) {
      if (!FollowsToolkit(one.row) || !IsConstrained(one.spec)) continue;
      std::vector<std::string> own = PlainFields(one.spec.version);
      if (own.empty()) ranges.push_back(PipRequirement("", one.spec.version));
      own.resize(std::min<std::size_t>(own.size(), 2));
      if (!std::equal(own.begin(),
                      own.begin() + static_cast<std::ptrdiff_t>(std::min(own.size(), fields.size())),
                      fields.begin())) {
        return Error(ErrorCode::kInvalidInput,
                     fmt::format("'{}' and '{}' belong to different CUDA toolkits, but a build uses one",
                                 of_fields->spec.str(), one.spec.str()))
            .WithHint("use the same major and minor version for both");
      }
      if (own.size() <= fields.size()) continue;
      fields = std::move(own);
      of_fields = &one;
    }
    if (fields.size() < 2) {
      if (fields.size() == 1) ranges.push_back("==" + fields.front() + ".*");
      ranges.push_back(">=" + table_.first_toolkit);
      PTPKG_TRY(
          const std::vector<WheelPin> pins,
          ResolveFromIndex(env_, access_,
                           {.requirements = {table_.toolkit + Join(ranges, ",")}, .dependencies = false}));
      return FirstFields(pins.front().version, 2);
    }
    std::string version = Join(fields, ".");
    PTPKG_TRY(const bool whole, versions::VersionMatches(version, ">=" + table_.first_toolkit));
    if (whole) return version;
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}': the Python index has CUDA compilers only from version {} on",
                             of_fields->spec.str(), table_.first_toolkit))
        .WithHint("use a later version, --env system or --env conda");
  }

  Result<void> AskParts(const std::string& toolkit) {
    if (toolkit.empty()) return Ok();
    std::set<std::string> extras;
    std::set<std::string> lines;
    for (const WheelRequirement& one : requirements_) {
      if (one.row.kind != Kind::kPart) continue;
      extras.insert(one.row.extras.begin(), one.row.extras.end());
      const bool series = FollowsToolkit(one.row) && PlainFields(one.spec.version).size() <= 2;
      if (IsConstrained(one.spec) && !series) lines.insert(PipRequirement(one.row.package, one.spec.version));
    }
    // The release alone first: 3 kB say whether it exists.
    const std::string release = fmt::format("=={}.*", toolkit);
    PTPKG_CHECK(
        ResolveFromIndex(env_, access_, {.requirements = {table_.toolkit + release}, .dependencies = false}));
    WheelQuery ask;
    const std::string list = extras.empty() ? "" : fmt::format("[{}]", fmt::join(extras, ","));
    ask.requirements.push_back(table_.toolkit + list + release);
    ask.requirements.insert(ask.requirements.end(), lines.begin(), lines.end());
    for (const std::string& name : table_.together) ask.constraints.push_back(name + release);
    return Take(WheelRole::kToolkit, ask);
  }

  Result<void> AskFolders(const std::string& toolkit) {
    // Alone and without what they require: that is a second toolkit, of the newest version.
    WheelQuery ask{.requirements = {}, .dependencies = false};
    std::set<std::string> lines;
    for (const WheelRequirement& one : requirements_) {
      if (one.row.kind == Kind::kFolder) {
        lines.insert(PipRequirement(PackageOf(one.row, toolkit), one.spec.version));
      }
    }
    ask.requirements.assign(lines.begin(), lines.end());
    return Take(WheelRole::kToolkit, ask);
  }

  Result<void> AskPackages(bool in_build) {
    std::set<std::string> lines;
    for (const WheelRequirement& one : requirements_) {
      if (one.row.kind == Kind::kPackage && one.in_build == in_build) {
        lines.insert(PipRequirement(one.row.package, one.spec.version));
      }
    }
    return Take(in_build ? WheelRole::kBuild : WheelRole::kHost,
                {.requirements = {lines.begin(), lines.end()}});
  }

  Result<void> Take(WheelRole use, const WheelQuery& ask) {
    if (ask.requirements.empty()) return Ok();
    Result<std::vector<WheelPin>> pins = ResolveFromIndex(env_, access_, ask);
    if (!pins) return NoteEach(ask, pins.error());
    for (WheelPin& pin : *pins) {
      pin.use = use;
      if (std::find(pins_.begin(), pins_.end(), pin) == pins_.end()) pins_.push_back(std::move(pin));
    }
    return Ok();
  }

  /// pip names one of the requirements that the index lacks: asked alone, each of them is noted.
  Result<void> NoteEach(const WheelQuery& ask, const Error& error) {
    if (error.code() != ErrorCode::kNotFound || env_.offline) return error;
    const std::size_t before = lacks_.size();
    for (const std::string& requirement : ask.requirements) {
      const Result<std::vector<WheelPin>> alone =
          ResolveFromIndex(env_, access_, {.requirements = {requirement}, .dependencies = false});
      if (!alone) PTPKG_CHECK(Note(alone.error()));
    }
    if (lacks_.size() > before) return Ok();
    return error;
  }

  static std::string PackageOf(const WheelRow& row, const std::string& toolkit) {
    return ReplaceAll(row.package, "{major}", FirstFields(toolkit, 1));
  }

  static const WheelPin* Find(const std::vector<WheelPin>& pins, std::string_view name) {
    const auto found =
        std::find_if(pins.begin(), pins.end(), [&](const WheelPin& pin) { return pin.name == name; });
    return found == pins.end() ? nullptr : &*found;
  }

  /// Compares an answer with the requirement: pip leaves out, with a warning, a part that a release has not.
  Result<void> Meet(const WheelRequirement& one, WheelPlan& plan) {
    const std::string package = PackageOf(one.row, plan.toolkit);
    const WheelPin* pin = Find(plan.wheels.pins, package);
    if (pin == nullptr) {
      return Error(ErrorCode::kNotFound, fmt::format("'{}': CUDA {} of the Python index has no part '{}'",
                                                     one.spec.str(), plan.toolkit, package))
          .WithHint("use a later version of CUDA, --env system or --env conda");
    }
    const bool series = FollowsToolkit(one.row) && !PlainFields(one.spec.version).empty() &&
                        PlainFields(one.spec.version).size() <= 2;
    const std::string constraint =
        series ? Join(PlainFields(one.spec.version), ".") + ".*" : one.spec.version;
    PTPKG_TRY(const bool fits, versions::VersionMatches(pin->version, constraint));
    if (!fits) {
      return Error(ErrorCode::kNotFound,
                   fmt::format("'{}' is required, but the Python index resolved '{}' to {}", one.spec.str(),
                               package, pin->version))
          .WithHint("two requirements contradict each other");
    }
    if (one.row.program.empty()) return Ok();
    const WheelPin* compiler = one.row.variable.empty() ? pin : Find(plan.wheels.pins, "nvidia-cuda-nvcc");
    plan.programs.push_back({.requirement = one.spec.name,
                             .path = one.row.program,
                             .variable = one.row.variable,
                             .version = compiler == nullptr ? pin->version : compiler->version,
                             .in_host = !one.row.IsToolkit() && !one.in_build});
    return Ok();
  }

  Env& env_;
  const WheelTable& table_;
  const IndexAccess& access_;
  const std::vector<WheelRequirement>& requirements_;
  std::vector<WheelPin> pins_;
  std::vector<Error> lacks_;
};

}  // namespace

Result<void> CheckSameMinorVersions(const WheelTable& table, const std::vector<WheelPin>& pins) {
  const WheelPin* first = nullptr;
  for (const WheelPin& pin : pins) {
    if (!table.together.contains(pin.name)) continue;
    if (first == nullptr) first = &pin;
    if (FirstFields(first->version, 2) == FirstFields(pin.version, 2)) continue;
    return Error(
               ErrorCode::kInvalidInput,
               fmt::format("the parts of the CUDA toolkit have different versions: '{}' is {} and '{}' is {}",
                           first->name, first->version, pin.name, pin.version))
        .WithHint("use the same major and minor version for all CUDA requirements");
  }
  return Ok();
}

Result<WheelPlan> ResolveWheels(Env& env, const IndexAccess& access,
                                const std::vector<WheelRequirement>& requirements,
                                const std::optional<LockedWheels>& given) {
  return Resolver(env, access, requirements).Run(given);
}

}  // namespace ptpkg::builder
