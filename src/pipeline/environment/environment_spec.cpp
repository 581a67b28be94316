// Files and recipes become one list of conda match specs and one of pip requirements, so that each provider
// can take them from any input. A file's options of pip are refused rather than passed on: pip would resolve
// relative paths in them from another directory. A whole requirements.txt goes to pip as it is.

#include "pipeline/environment/environment_spec.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <iterator>
#include <set>

#include "builder/env/environment_file.h"
#include "builder/pip/wheel_table.h"
#include "builder/tools/tools.h"
#include "pipeline/environment/environment_cuda.h"
#include "support/limits.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"
#include "support/text/yaml.h"

namespace ptpkg::pipeline {

namespace {

using Kind = YamlNode::Kind;

// Bash keeps the names up to UID from assignments, or stops working. activate.sh sets or unsets the others.
// conda ignores PATH in an environment file, too.
constexpr auto kReservedVariables =
    std::to_array<std::string_view>({"BASHOPTS",      "BASHPID",       "BASH_ALIASES",  "BASH_ARGC",
                                     "BASH_ARGV",     "BASH_CMDS",     "BASH_COMMAND",  "BASH_LINENO",
                                     "BASH_SOURCE",   "BASH_SUBSHELL", "BASH_VERSINFO", "DIRSTACK",
                                     "EPOCHREALTIME", "EPOCHSECONDS",  "EUID",          "FUNCNAME",
                                     "GROUPS",        "HISTCMD",       "IFS",           "LINENO",
                                     "OPTIND",        "PPID",          "RANDOM",        "SECONDS",
                                     "SHELLOPTS",     "SRANDOM",       "UID",           "_",  //
                                     "BUILD_PREFIX",  "CONDA_PREFIX",  "PATH",          "PREFIX",
                                     "VIRTUAL_ENV",   "file",          "prefix",        "ptpkg_before"});

Error InvalidFile(std::string message, const SourceSpan& span) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).At(span);
}

Result<std::string> OneLine(const YamlNode& node, std::string_view key) {
  if (node.kind != Kind::kScalar)
    return InvalidFile(fmt::format("expected text for '{}', found {}", key, node.KindName()), node.span);
  if (node.scalar.find('\n') == std::string::npos) return node.scalar;
  return InvalidFile(fmt::format("'{}' is more than one line", key), node.span);
}

Result<void> RequireList(const YamlNode& node, std::string_view key) {
  if (node.kind == Kind::kSequence) return Ok();
  return InvalidFile(fmt::format("expected a list for '{}', found {}", key, node.KindName()), node.span);
}

Result<EnvironmentPackage> ParsePackage(const std::string& text) {
  EnvironmentPackage package;
  const std::size_t mark = text.find("::");
  if (mark != std::string::npos) package.channel = text.substr(0, mark);
  if (package.channel.starts_with('-'))  // a conda client would take the whole word as an option
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is an option, not a channel", package.channel));
  PTPKG_TRY(package.spec,
            versions::MatchSpec::Parse(mark == std::string::npos ? text : text.substr(mark + 2)));
  return package;
}

Result<std::vector<std::string>> ReadPip(const YamlNode& node) {
  PTPKG_CHECK(RequireList(node, "pip"));
  std::vector<std::string> requirements;
  for (const YamlNode& item : node.items) {
    PTPKG_TRY(std::string text, OneLine(item, "pip"));
    if (text.starts_with('-')) {
      return InvalidFile(fmt::format("'{}' is an option of pip, not a requirement", text), item.span)
          .WithHint("write it into a requirements.txt, and name both files");
    }
    requirements.push_back(std::move(text));
  }
  return requirements;
}

Result<void> ReadDependencies(const YamlNode& node, EnvironmentSpec& spec) {
  PTPKG_CHECK(RequireList(node, "dependencies"));
  for (const YamlNode& item : node.items) {
    if (item.kind == Kind::kMapping && item.entries.size() == 1 && item.entries.front().key == "pip") {
      PTPKG_TRY(const std::vector<std::string> pip, ReadPip(item.entries.front().value));
      spec.pip.insert(spec.pip.end(), pip.begin(), pip.end());
      continue;
    }
    PTPKG_TRY(const std::string text, OneLine(item, "dependencies"));
    auto package = ParsePackage(text);
    if (!package) return std::move(package).error().At(item.span);
    spec.packages.push_back(*std::move(package));
  }
  return Ok();
}

Result<void> ReadVariables(const YamlNode& node, std::map<std::string, std::string>& variables) {
  for (const YamlEntry& entry : node.entries) {
    if (!builder::IsShellName(entry.key))
      return InvalidFile(fmt::format("'{}' is not a name for a variable", entry.key), entry.key_span);
    if (std::ranges::find(kReservedVariables, entry.key) != kReservedVariables.end()) {
      return InvalidFile(fmt::format("the variable '{}' belongs to bash or activate.sh", entry.key),
                         entry.key_span)
          .WithHint("remove it, and change it in the shell after '. DIR/activate.sh'");
    }
    PTPKG_TRY(variables[entry.key], OneLine(entry.value, entry.key));
  }
  return Ok();
}

Result<EnvironmentSpec> ReadEnvironmentYaml(const YamlNode& root) {
  EnvironmentSpec spec;
  for (const auto& [key, span, value] : root.entries) {
    if (key == "name") {
      PTPKG_TRY(spec.name, OneLine(value, key));
    } else if (key == "channels") {
      PTPKG_CHECK(RequireList(value, key));
      for (const YamlNode& item : value.items) {
        PTPKG_TRY(std::string channel, OneLine(item, key));
        if (channel.starts_with('-'))
          return InvalidFile(fmt::format("'{}' is an option, not a channel", channel), item.span);
        spec.channels.push_back(std::move(channel));
      }
    } else if (key == "dependencies") {
      PTPKG_CHECK(ReadDependencies(value, spec));
    } else if (key == "variables" && value.kind == Kind::kMapping) {
      PTPKG_CHECK(ReadVariables(value, spec.variables));
    } else if (key == "prefix") {
      return InvalidFile("'prefix' is a directory of one machine", span)
          .WithHint("remove it, and use --prefix DIR");
    } else {
      return InvalidFile(fmt::format("unknown key '{}' in an environment file", key), span)
          .WithHint("keys are name, channels, dependencies and variables (a mapping)");
    }
  }
  return spec;
}

std::string Variants(const std::vector<recipe::Recipe>& recipes) {
  std::vector<std::string> names;
  for (const recipe::Recipe& recipe : recipes) names.push_back(recipe.FileStem());
  return FirstNames(names, 8);
}

/// True if two of them have different values for one key. Outputs of one variant have different keys.
bool HasSeveralVariants(const std::vector<recipe::Recipe>& recipes) {
  std::map<std::string, std::string> values;
  return std::ranges::any_of(recipes, [&](const recipe::Recipe& recipe) {
    return std::ranges::any_of(recipe.variant, [&](const auto& one) {
      return values.emplace(one.first, one.second).first->second != one.second;
    });
  });
}

/// The requirements of all outputs of the recipe's one variant.
Result<EnvironmentSpec> OfRecipe(Env& env, const EnvironmentRequest& request, const AbsPath& input) {
  if (HasCudaPatch(request.cuda)) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--cuda {}: the recipe '{}' takes a toolkit without its patch version",
                             request.cuda, input.str()))
        .WithHint("write --cuda " + MajorMinor(request.cuda));
  }
  RenderRequest render = request.render;
  render.recipes = {input};
  if (!request.cuda.empty())
    render.settings["cuda_compiler_version"] = {.value = request.cuda, .origins = {"--cuda " + request.cuda}};
  PTPKG_TRY(std::vector<recipe::Recipe> recipes, Render(env, render));
  PTPKG_CHECK(RequireUsedSettings(render.settings, recipes));
  std::erase_if(recipes, [](const recipe::Recipe& recipe) { return recipe.skip; });
  if (recipes.empty() || HasSeveralVariants(recipes)) {
    return Error(ErrorCode::kUsage, fmt::format("an environment is for one variant, but '{}' has {}: {}",
                                                input.str(), recipes.size(), Variants(recipes)))
        .WithHint("choose one with --select KEY=VALUE; 'ptpkg render' lists them");
  }
  EnvironmentSpec spec{.name = recipes.front().recipe_name.empty() ? recipes.front().name
                                                                   : recipes.front().recipe_name};
  std::vector<const recipe::Recipe*> parts;
  std::set<std::string> own;
  for (const recipe::Recipe& recipe : recipes) {
    for (const recipe::Recipe* part = &recipe; part != nullptr; part = part->inherited.get()) {
      parts.push_back(part);
      own.insert(part->name);
    }
  }
  for (const recipe::Recipe* part : parts) {
    for (const auto* specs : {&part->requirements.build, &part->requirements.host}) {
      for (const versions::MatchSpec& one : *specs) {
        if (!own.contains(one.name)) spec.packages.push_back({.spec = one});
      }
    }
  }
  return spec;
}

bool IsRecipe(const YamlNode& root) {
  return root.Find("package") != nullptr || root.Find("outputs") != nullptr ||
         root.Find("context") != nullptr;
}

/// pip reads the file itself, so ptpkg looks at each line by itself.
Result<void> CheckPipFile(Env& env, const std::string& cuda, const AbsPath& file) {
  PTPKG_TRY(const std::string text, ReadFile(env.fs, file, limits::kRecipe));
  for (const std::string& line : SplitLines(text)) {
    const std::string requirement(Trim(line.substr(0, line.find('#'))));
    PTPKG_CHECK(CheckPip(cuda, requirement), fmt::format("while reading '{}'", file.str()));
  }
  return Ok();
}

Result<EnvironmentSpec> ReadInput(Env& env, const EnvironmentRequest& request, const AbsPath& input) {
  PTPKG_TRY(const FileStat stat, env.fs.Stat(input));
  if (stat.kind == FileKind::kDirectory) return OfRecipe(env, request, input);
  const bool is_text = input.Name().ends_with(".txt");
  if (is_text && !request.cuda.empty() && request.inputs.size() == 1) {
    return Error(ErrorCode::kUsage,
                 fmt::format("--cuda {}: '{}' names no CUDA toolkit", request.cuda, input.str()))
        .WithHint("name an environment file or a recipe as well");
  }
  if (is_text) {
    if (!request.cuda.empty()) PTPKG_CHECK(CheckPipFile(env, request.cuda, input));
    return EnvironmentSpec{.requirement_files = {input}};
  }
  PTPKG_TRY(const std::string text, ReadFile(env.fs, input, limits::kRecipe));
  PTPKG_TRY(const YamlNode root, ParseYaml(text, input.str()));
  if (IsRecipe(root)) return OfRecipe(env, request, input);
  if (root.Find("dependencies") == nullptr)
    return InvalidFile("this is neither a recipe nor a conda environment file", root.span)
        .WithHint("an environment file has 'dependencies', a recipe 'package' or 'outputs'");
  PTPKG_TRY(EnvironmentSpec spec, ReadEnvironmentYaml(root));
  if (!request.cuda.empty()) PTPKG_CHECK(SetToolkit(request.cuda, input, spec));
  return spec;
}

template <typename T>
void Append(std::vector<T>&& more, std::vector<T>& to) {
  std::ranges::move(more, std::back_inserter(to));
}

Error NamesNoFile(const AbsPath& file) {
  return Error(ErrorCode::kUsage,
               fmt::format("'{}' is for pip alone, so there is nothing to convert", file.str()))
      .WithHint("export the other inputs, and keep this file beside the result");
}

}  // namespace

std::string EnvironmentPackage::str() const { return (channel.empty() ? "" : channel + "::") + spec.str(); }

Result<EnvironmentSpec> ReadEnvironmentSpec(Env& env, const EnvironmentRequest& request) {
  PTPKG_CHECK(CheckCudaVersion(request.cuda));
  EnvironmentSpec all{.channels = request.channels};
  for (const AbsPath& input : request.inputs) {
    PTPKG_TRY(EnvironmentSpec one, ReadInput(env, request, input));
    if (all.name.empty()) all.name = one.name;
    Append(std::move(one.channels), all.channels);
    Append(std::move(one.pip), all.pip);
    Append(std::move(one.requirement_files), all.requirement_files);
    for (const auto& [name, value] : one.variables) {
      if (all.variables.emplace(name, value).first->second == value) continue;
      return Error(ErrorCode::kUsage,
                   fmt::format("'{}' gives the variable '{}' another value than an earlier file", input.str(),
                               name))
          .WithHint("remove one of them");
    }
    for (EnvironmentPackage& package : one.packages) {
      const bool known = std::ranges::any_of(
          all.packages, [&](const EnvironmentPackage& other) { return other.str() == package.str(); });
      if (!known) all.packages.push_back(std::move(package));
    }
  }
  return all;
}

Result<std::string> ToEnvironmentYaml(const EnvironmentSpec& spec) {
  if (!spec.requirement_files.empty()) return NamesNoFile(spec.requirement_files.front());
  std::string text;
  const auto list = [&](const std::vector<std::string>& items, std::string_view margin) {
    for (const std::string& item : items) text += fmt::format("{}- {}\n", margin, Json(item).dump());
  };
  if (!spec.name.empty()) text += fmt::format("name: {}\n", Json(spec.name).dump());
  text += "channels:\n";
  list(spec.channels.empty() ? std::vector<std::string>{"conda-forge"} : spec.channels, "  ");
  text += spec.packages.empty() && spec.pip.empty() ? "dependencies: []\n" : "dependencies:\n";
  for (const EnvironmentPackage& package : spec.packages) list({package.str()}, "  ");
  const bool has_pip =
      std::ranges::any_of(spec.packages, [](const auto& package) { return package.spec.name == "pip"; });
  if (!spec.pip.empty() && !has_pip) list({"pip"}, "  ");
  if (!spec.pip.empty()) text += "  - pip:\n";
  list(spec.pip, "      ");
  if (!spec.variables.empty()) text += "variables:\n";
  for (const auto& [name, value] : spec.variables)
    text += fmt::format("  {}: {}\n", Json(name).dump(), Json(value).dump());
  return text;
}

Result<std::string> ToRequirementsText(const EnvironmentSpec& spec) {
  if (!spec.requirement_files.empty()) return NamesNoFile(spec.requirement_files.front());
  std::string text;
  std::string others;
  for (const EnvironmentPackage& package : spec.packages) {
    const auto row = builder::FindWheelRow(builder::BuiltInWheelTable(), package.spec.name);
    if (row && row->kind == builder::WheelRow::Kind::kPackage) {
      const std::string requirement = builder::PipRequirement(row->package, package.spec.version);
      const bool is_whole =
          package.spec.build.empty() && (package.spec.version.empty() || requirement != row->package);
      text += requirement + (is_whole ? "" : "  # conda's " + package.str()) + "\n";
    } else {
      others += fmt::format("# no package of the Python index is known for: {}\n", package.str());
    }
  }
  for (const std::string& requirement : spec.pip) text += requirement + "\n";
  return others + text;
}

}  // namespace ptpkg::pipeline
