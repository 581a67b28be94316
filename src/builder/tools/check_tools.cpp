// Which provider do a recipe's requirements come from: the machine, the Python index, or a conda client?
//
// With `auto` the machine comes first. If something is missing, the index supplies it, but only if it has
// everything that is missing. Otherwise a client supplies all: its packages and the machine's do not mix. A
// CUDA toolkit comes whole from one provider, since halves of two toolkits don't fit together.
//
// All missing parts are reported at once, from the machine and from the index. So ptpkg queries the index
// even if the machine lacks something. `given` wheels of a plan replace the choice: run-node must use the
// bytes that were planned.

#include <algorithm>
#include <fmt/core.h>

#include "builder/tools/conda_client.h"
#include "builder/tools/tools.h"

namespace ptpkg::builder {

namespace {

class ToolPlanner {
 public:
  ToolPlanner(Env& env, const recipe::Recipe& recipe, const HostRequest& request)
      : env_(env), recipe_(recipe), request_(request) {}

  Result<HostPlan> Run() {
    switch (request_.host_env) {
      case HostEnv::kConda:
        return PlanFromNamedClient();
      case HostEnv::kWheels:
        return PlanFromIndex(request_.given ? NamesGiven() : NamesInTable());
      case HostEnv::kSystem:
      case HostEnv::kAuto:
        break;
    }
    PTPKG_TRY(ToolSet tools, FindTools(env_, recipe_, request_));
    if (tools.missing.empty()) return HostPlan{.host_env = HostEnv::kSystem, .tools = std::move(tools)};
    if (request_.host_env == HostEnv::kSystem) return MissingToolsError(recipe_, tools, request_);
    return PlanFromFirstComplete(std::move(tools));
  }

 private:
  Result<HostPlan> PlanFromNamedClient() {
    const auto client = FindCondaClient(env_, request_.options.conda_exe);
    if (client) return OfClient(*client);
    return Error(ErrorCode::kNotFound, "no conda client found: micromamba, mamba and conda are not on PATH")
        .WithHint("install one, set PTPKG_CONDA_EXE, or use --env system");
  }

  HostPlan OfClient(const AbsPath& client) {
    const auto foreign = [&](std::vector<recipe::MatchSpec> specs) {
      std::erase_if(specs, [&](const auto& spec) { return request_.provided.contains(spec.name); });
      return specs;
    };
    return HostPlan{.host_env = HostEnv::kConda,
                    .client = client,
                    .build = foreign(recipe_.requirements.build),
                    .host = foreign(recipe_.requirements.host)};
  }

  /// kAuto, if the machine lacks something: the index, if it has all of that. Else a client for everything,
  /// because its packages and the machine's do not mix.
  Result<HostPlan> PlanFromFirstComplete(ToolSet tools) {
    const std::set<std::string> names = NamesMissing(tools);
    const bool index_has_all =
        std::all_of(tools.missing.begin(), tools.missing.end(),
                    [&](const MissingTool& missing) { return names.contains(missing.name); });
    if (index_has_all) {
      auto plan = PlanFromIndex(names);
      if (plan || plan.error().code() == ErrorCode::kCancelled) return plan;
      tools.missing.front().reason += "; --env wheels: " + plan.error().message();
    }
    if (const auto client = FindCondaClient(env_, request_.options.conda_exe)) return OfClient(*client);
    return MissingToolsError(recipe_, tools, request_);
  }

  Result<HostPlan> PlanFromIndex(const std::set<std::string>& names) {
    HostRequest rest = request_;
    rest.from_index = names;
    PTPKG_TRY(ToolSet tools, FindTools(env_, recipe_, rest));
    std::vector<Error> lacks;
    if (!tools.missing.empty()) lacks.push_back(MissingToolsError(recipe_, tools, request_));
    std::optional<WheelPlan> wheels;
    if (!names.empty()) {
      Result<WheelPlan> resolved = Wheels(names, tools);
      if (resolved) {
        wheels = *std::move(resolved);
      } else if (resolved.error().code() == ErrorCode::kCancelled ||
                 resolved.error().code() == ErrorCode::kIo) {
        return std::move(resolved).error();
      } else {
        lacks.push_back(std::move(resolved).error());
      }
    }
    if (!lacks.empty()) return JoinNotFoundErrors(lacks);
    return HostPlan{.host_env = wheels ? HostEnv::kWheels : HostEnv::kSystem,
                    .tools = std::move(tools),
                    .wheels = std::move(wheels)};
  }

  Result<WheelPlan> Wheels(const std::set<std::string>& names, const ToolSet& tools) {
    PTPKG_TRY(Python pip, FindPip(tools));
    std::vector<WheelRequirement> requirements;
    for (const auto* specs : {&recipe_.requirements.build, &recipe_.requirements.host}) {
      for (const recipe::MatchSpec& spec : *specs) {
        const auto row = FindWheelRow(BuiltInWheelTable(), spec.name);
        const bool taken = names.contains(spec.name) && row.has_value();
        if (!taken) continue;
        requirements.push_back({.spec = spec, .row = *row, .in_build = specs == &recipe_.requirements.build});
      }
    }
    return ResolveWheels(env_, {.pip = std::move(pip)}, requirements, request_.given);
  }

  /// Every requirement for which `takes` holds.
  template <typename AcceptsFormat>
  [[nodiscard]] std::set<std::string> Names(const AcceptsFormat& takes) const {
    std::set<std::string> names;
    for (const auto* specs : {&recipe_.requirements.build, &recipe_.requirements.host}) {
      for (const recipe::MatchSpec& spec : *specs) {
        if (request_.provided.contains(spec.name)) continue;
        const auto row = FindWheelRow(BuiltInWheelTable(), spec.name);
        if (row && takes(spec, *row)) names.insert(spec.name);
      }
    }
    return names;
  }

  [[nodiscard]] std::set<std::string> NamesInTable() const {
    return Names([](const recipe::MatchSpec&, const WheelRow&) { return true; });
  }

  [[nodiscard]] std::set<std::string> NamesGiven() const {
    const std::vector<std::string>& given = request_.given->names;
    return {given.begin(), given.end()};
  }

  /// Two halves of two toolkits make none: once the index has to give a part, it gives all.
  [[nodiscard]] std::set<std::string> NamesMissing(const ToolSet& tools) const {
    const auto is_missing = [&](const recipe::MatchSpec& spec) {
      return std::any_of(tools.missing.begin(), tools.missing.end(),
                         [&](const MissingTool& missing) { return missing.name == spec.name; });
    };
    const bool toolkit = !Names([&](const recipe::MatchSpec& spec, const WheelRow& row) {
                            return row.IsToolkit() && is_missing(spec);
                          }).empty();
    return Names([&](const recipe::MatchSpec& spec, const WheelRow& row) {
      return row.IsToolkit() ? toolkit : is_missing(spec);
    });
  }

  Result<Python> FindPip(const ToolSet& tools) {
    if (tools.python && tools.python->packages.contains("pip")) return *tools.python;
    const std::string wanted = RequestedPython(recipe_);
    std::string tried;
    for (const AbsPath& candidate : PythonCandidates(env_, request_.options.python, wanted)) {
      auto python = ProbePython(env_, candidate, {"pip"});
      if (!python && python.error().code() == ErrorCode::kCancelled) return python.error();
      if (!python || !python->Fits(wanted)) continue;
      if (python->packages.contains("pip")) return *std::move(python);
      tried = fmt::format(": '{}' has none", python->executable.str());
    }
    return Error(ErrorCode::kNotFound, "the Python index needs a Python with pip" + tried)
        .WithHint("apt-get install python3-pip, or choose an interpreter with --python-exe or PTPKG_PYTHON");
  }

  Env& env_;
  const recipe::Recipe& recipe_;
  const HostRequest& request_;
};

}  // namespace

Result<HostPlan> CheckTools(Env& env, const recipe::Recipe& recipe, const HostRequest& request) {
  return ToolPlanner(env, recipe, request).Run();
}

}  // namespace ptpkg::builder
