// The version of the toolkit comes first, because the names and constraints of its parts depend on it. Then
// the index is asked for the parts, for packages that hold a second toolkit, and for the packages of build
// and host, each apart. All that it lacks is one error.

#include "builder/pip/wheel_resolve.h"

#include <algorithm>
#include <fmt/format.h>
#include <set>

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

const WheelPin* FindPin(const std::vector<WheelPin>& pins, std::string_view name) {
  const auto found =
      std::find_if(pins.begin(), pins.end(), [&](const WheelPin& pin) { return pin.name == name; });
  return found == pins.end() ? nullptr : &*found;
}

Result<void> CheckForms(const std::vector<WheelRequirement>& requirements) {
  for (const WheelRequirement& one : requirements) {
    const bool build = !one.spec.build.empty() && one.spec.build != "*";
    if (!build && one.spec.version.find('|') == std::string::npos) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' {}, which the Python index cannot resolve", one.spec.str(),
                             build ? "names a build string" : "has alternatives with '|'"))
        .WithHint("remove it from the requirement, or use --env conda");
  }
  return Ok();
}

std::string PackageOf(const WheelRow& row, const std::string& toolkit) {
  return ReplaceAll(row.package, "{major}", FirstFields(toolkit, 1));
}

bool FollowsToolkit(const WheelTable& table, const WheelRow& row) {
  return row.kind == Kind::kPart && (row.package == table.toolkit || table.together.contains(row.package));
}

/// What the requirements say about the version of the toolkit.
struct ToolkitWish {
  std::vector<std::string> fields = {};         ///< {13, 0}; as many as some requirement names, up to two.
  const WheelRequirement* of_fields = nullptr;  ///< The requirement that names them.
  std::vector<std::string> ranges = {};         ///< Of pip.
};

/// Errors: kInvalidInput for two requirements that name different versions.
Result<ToolkitWish> WishedToolkit(const WheelTable& table,
                                  const std::vector<WheelRequirement>& requirements) {
  ToolkitWish wish;
  for (const WheelRequirement& one : requirements) {
    if (!FollowsToolkit(table, one.row) || !IsConstrained(one.spec)) continue;
    std::vector<std::string> own = PlainFields(one.spec.version);
    if (own.empty()) wish.ranges.push_back(PipRequirement("", one.spec.version));
    own.resize(std::min<std::size_t>(own.size(), 2));
    const std::size_t shared = std::min(own.size(), wish.fields.size());
    if (!std::equal(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(shared), wish.fields.begin())) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' and '{}' belong to different CUDA toolkits, but a build uses one",
                               wish.of_fields->spec.str(), one.spec.str()))
          .WithHint("use the same major and minor version for both");
    }
    if (own.size() <= wish.fields.size()) continue;
    wish.fields = std::move(own);
    wish.of_fields = &one;
  }
  return wish;
}

/// "13.0", from the requirements, else from the index; "" if nothing of the toolkit is required.
Result<std::string> ToolkitVersion(Env& env, const IndexAccess& access,
                                   const std::vector<WheelRequirement>& requirements) {
  const WheelTable& table = BuiltInWheelTable();
  const bool any = std::any_of(requirements.begin(), requirements.end(),
                               [](const WheelRequirement& one) { return one.row.IsToolkit(); });
  if (!any) return std::string();
  PTPKG_TRY(ToolkitWish wish, WishedToolkit(table, requirements));
  if (wish.fields.size() < 2) {
    if (wish.fields.size() == 1) wish.ranges.push_back("==" + wish.fields.front() + ".*");
    wish.ranges.push_back(">=" + table.first_toolkit);
    PTPKG_TRY(
        const std::vector<WheelPin> pins,
        ResolveFromIndex(env, access,
                         {.requirements = {table.toolkit + Join(wish.ranges, ",")}, .dependencies = false}));
    return FirstFields(pins.front().version, 2);
  }
  std::string version = Join(wish.fields, ".");
  PTPKG_TRY(const bool whole, versions::VersionMatches(version, ">=" + table.first_toolkit));
  if (whole) return version;
  return Error(ErrorCode::kNotFound,
               fmt::format("'{}': the Python index has CUDA compilers only from version {} on",
                           wish.of_fields->spec.str(), table.first_toolkit))
      .WithHint("use a later version, --env system or --env conda");
}

/// The query for the parts of the toolkit of this version.
WheelQuery PartsQuery(const WheelTable& table, const std::vector<WheelRequirement>& requirements,
                      const std::string& toolkit) {
  std::set<std::string> extras;
  std::set<std::string> lines;
  for (const WheelRequirement& one : requirements) {
    if (one.row.kind != Kind::kPart) continue;
    extras.insert(one.row.extras.begin(), one.row.extras.end());
    const bool series = FollowsToolkit(table, one.row) && PlainFields(one.spec.version).size() <= 2;
    if (IsConstrained(one.spec) && !series) lines.insert(PipRequirement(one.row.package, one.spec.version));
  }
  const std::string release = fmt::format("=={}.*", toolkit);
  WheelQuery query;
  const std::string list = extras.empty() ? "" : fmt::format("[{}]", fmt::join(extras, ","));
  query.requirements.push_back(table.toolkit + list + release);
  query.requirements.insert(query.requirements.end(), lines.begin(), lines.end());
  for (const std::string& name : table.together) query.constraints.push_back(name + release);
  return query;
}

/// The query for packages that hold a toolkit of their own. Alone and without their requirements, which are a
/// second toolkit of the newest version.
WheelQuery FoldersQuery(const std::vector<WheelRequirement>& requirements, const std::string& toolkit) {
  std::set<std::string> lines;
  for (const WheelRequirement& one : requirements) {
    if (one.row.kind == Kind::kFolder) {
      lines.insert(PipRequirement(PackageOf(one.row, toolkit), one.spec.version));
    }
  }
  return {.requirements = {lines.begin(), lines.end()}, .dependencies = false};
}

WheelQuery PackagesQuery(const std::vector<WheelRequirement>& requirements, bool in_build) {
  std::set<std::string> lines;
  for (const WheelRequirement& one : requirements) {
    if (one.row.kind == Kind::kPackage && one.in_build == in_build) {
      lines.insert(PipRequirement(one.row.package, one.spec.version));
    }
  }
  return {.requirements = {lines.begin(), lines.end()}};
}

/// Collects the answers of the index, and all that it lacks.
class IndexAnswers {
 public:
  /// Both are borrowed.
  IndexAnswers(Env& env, const IndexAccess& access) : env_(env), access_(access) {}

  /// Asks, unless `query` is empty, for wheels with the role `use`. Errors: those of ResolveFromIndex, but
  /// kNotFound is noted.
  Result<void> Ask(WheelRole use, const WheelQuery& query) {
    if (query.requirements.empty()) return Ok();
    Result<std::vector<WheelPin>> pins = ResolveFromIndex(env_, access_, query);
    if (!pins) return Note(NoteEach(query, pins.error()));
    for (WheelPin& pin : *pins) {
      pin.use = use;
      if (std::find(pins_.begin(), pins_.end(), pin) == pins_.end()) pins_.push_back(std::move(pin));
    }
    return Ok();
  }

  /// True if the index has `requirement`, asked alone. One that it lacks is noted.
  Result<bool> Has(const std::string& requirement) {
    const Result<std::vector<WheelPin>> alone =
        ResolveFromIndex(env_, access_, {.requirements = {requirement}, .dependencies = false});
    if (alone) return true;
    PTPKG_CHECK(Note(alone.error()));
    return false;
  }

  /// Keeps a lack for Finish; returns other errors.
  Result<void> Note(Result<void> asked) {
    if (asked || asked.error().code() != ErrorCode::kNotFound) return asked;
    lacks_.push_back(std::move(asked).error());
    return Ok();
  }

  /// Errors: kNotFound with all that was noted.
  Result<std::vector<WheelPin>> Finish() && {
    if (!lacks_.empty()) return JoinNotFoundErrors(lacks_);
    return std::move(pins_);
  }

 private:
  /// pip names one of the requirements that the index lacks: asked alone, each of them is noted.
  Result<void> NoteEach(const WheelQuery& query, const Error& error) {
    if (error.code() != ErrorCode::kNotFound || env_.offline) return error;
    const std::size_t before = lacks_.size();
    for (const std::string& requirement : query.requirements) {
      PTPKG_TRY(const bool there, Has(requirement));
      static_cast<void>(there);
    }
    if (lacks_.size() > before) return Ok();
    return error;
  }

  Env& env_;
  const IndexAccess& access_;
  std::vector<WheelPin> pins_;
  std::vector<Error> lacks_;
};

/// Asks everything before the first lack is an error.
Result<std::vector<WheelPin>> AskIndex(Env& env, const IndexAccess& access,
                                       const std::vector<WheelRequirement>& requirements) {
  const WheelTable& table = BuiltInWheelTable();
  IndexAnswers answers(env, access);
  const Result<std::string> toolkit = ToolkitVersion(env, access, requirements);
  if (toolkit) {
    if (!toolkit->empty()) {
      // The release alone first: 3 kB say whether it exists.
      PTPKG_TRY(const bool there, answers.Has(fmt::format("{}=={}.*", table.toolkit, *toolkit)));
      if (there) PTPKG_CHECK(answers.Ask(WheelRole::kToolkit, PartsQuery(table, requirements, *toolkit)));
    }
    PTPKG_CHECK(answers.Ask(WheelRole::kToolkit, FoldersQuery(requirements, *toolkit)));
  } else {
    PTPKG_CHECK(answers.Note(toolkit.error()));
  }
  PTPKG_CHECK(answers.Ask(WheelRole::kBuild, PackagesQuery(requirements, true)));
  PTPKG_CHECK(answers.Ask(WheelRole::kHost, PackagesQuery(requirements, false)));
  return std::move(answers).Finish();
}

/// Compares an answer with the requirement: pip leaves out, with a warning, a part that a release has not.
Result<std::optional<WheelProgram>> Meet(const WheelTable& table, const WheelRequirement& one,
                                         const WheelPlan& plan) {
  const std::string package = PackageOf(one.row, plan.toolkit);
  const WheelPin* pin = FindPin(plan.wheels.pins, package);
  if (pin == nullptr) {
    return Error(ErrorCode::kNotFound, fmt::format("'{}': CUDA {} of the Python index has no part '{}'",
                                                   one.spec.str(), plan.toolkit, package))
        .WithHint("use a later version of CUDA, --env system or --env conda");
  }
  const bool series = FollowsToolkit(table, one.row) && !PlainFields(one.spec.version).empty() &&
                      PlainFields(one.spec.version).size() <= 2;
  const std::string constraint = series ? Join(PlainFields(one.spec.version), ".") + ".*" : one.spec.version;
  PTPKG_TRY(const bool fits, versions::VersionMatches(pin->version, constraint));
  if (!fits) {
    return Error(ErrorCode::kNotFound,
                 fmt::format("'{}' is required, but the Python index resolved '{}' to {}", one.spec.str(),
                             package, pin->version))
        .WithHint("two requirements contradict each other");
  }
  if (one.row.program.empty()) return std::optional<WheelProgram>();
  const WheelPin* compiler = one.row.variable.empty() ? pin : FindPin(plan.wheels.pins, "nvidia-cuda-nvcc");
  return std::optional(WheelProgram{.requirement = one.spec.name,
                                    .path = one.row.program,
                                    .variable = one.row.variable,
                                    .version = compiler == nullptr ? pin->version : compiler->version,
                                    .in_host = !one.row.IsToolkit() && !one.in_build});
}

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
  const WheelTable& table = BuiltInWheelTable();
  PTPKG_CHECK(CheckForms(requirements));
  WheelPlan plan{.access = access, .wheels = {}, .programs = {}, .toolkit = {}};
  if (given) {
    plan.wheels = *given;
  } else {
    PTPKG_TRY(plan.wheels.pins, AskIndex(env, access, requirements));
    for (const WheelRequirement& one : requirements) plan.wheels.names.push_back(one.spec.name);
  }
  PTPKG_CHECK(CheckSameMinorVersions(table, plan.wheels.pins));
  if (const WheelPin* toolkit = FindPin(plan.wheels.pins, table.toolkit)) {
    plan.toolkit = FirstFields(toolkit->version, 2);
  }
  for (const WheelRequirement& one : requirements) {
    PTPKG_TRY(std::optional<WheelProgram> program, Meet(table, one, plan));
    if (program) plan.programs.push_back(*std::move(program));
  }
  return plan;
}

}  // namespace ptpkg::builder
