// ptpkg env. Layer: cli. An environment is the host prefix of a build that no build owns. So 'create' and
// 'export' take a build's flags for recipes, variants, tools and providers. 'check' takes none of them: it
// asks the compilers of the shell in which it runs, because lists of directories don't tell what nvcc and
// hipcc add.

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <memory>
#include <set>

#include "cli/verbs/recipe_flags.h"
#include "pipeline/environment/check_order.h"
#include "pipeline/environment/create_environment.h"
#include "support/process/process.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

using pipeline::CompilerOrder;
using pipeline::TakenFile;

struct EnvFlags {
  std::string action;
  RecipeFlags recipe;  ///< Recipes: all inputs.
  std::optional<std::string> prefix;
  std::optional<std::string> cuda;
  std::optional<std::string> as;
  std::vector<std::string> channels;
  pipeline::OrderRequest order;
  std::set<std::string> given;  ///< Long names of the options on the command line.
};

/// Refuses options of other actions on the command line. Configuration files may set them for all.
Result<void> CheckAction(const EnvFlags& flags) {
  // Options that only one action reads. All others are for create and export, which describe an environment;
  // 'check' looks at the one that it runs in.
  static const std::map<std::string, std::string> kOneAction = {
      {"--prefix", "create"},     {"--as", "export"},        {"--header", "check"},
      {"--library", "check"},     {"--offline", "create"},   {"--env", "create"},
      {"--python-exe", "create"}, {"--conda-exe", "create"}, {"--cuda-home", "create"}};
  const bool is_check = flags.action == "check";
  for (const std::string& option : flags.given) {
    // `given` has ACTION and INPUT too, by their names.
    if (!option.starts_with('-')) continue;
    const auto row = kOneAction.find(option);
    if (row != kOneAction.end() ? row->second == flags.action : !is_check) continue;
    return Error(ErrorCode::kUsage, fmt::format("'ptpkg env {}' does not take {}", flags.action, option))
        .WithHint(
            fmt::format("{} is for: {}", option, row == kOneAction.end() ? "create, export" : row->second));
  }
  // Here and not by the parser, which knows one rule for INPUT and not one for each action.
  if (is_check != flags.recipe.recipes.empty()) {
    return Error(ErrorCode::kUsage, is_check ? "'ptpkg env check' takes no INPUT" : "INPUT is missing")
        .WithHint(is_check ? "run it in the environment: . DIR/activate.sh; ptpkg env check"
                           : fmt::format("name a file: ptpkg env {} environment.yml", flags.action));
  }
  if (flags.action != "create" || flags.prefix) return Ok();
  return Error(ErrorCode::kUsage, "--prefix is missing").WithHint("name a new directory: --prefix DIR");
}

Result<pipeline::CreateRequest> CreateRequestOf(Context& context, const EnvFlags& flags) {
  PTPKG_TRY(pipeline::BuildRequest build, RequestOf(context, flags.recipe));
  // CheckAction has asked for --prefix where it counts. 'export' only reads the contents.
  PTPKG_TRY(const AbsPath prefix, context.Path(flags.prefix.value_or(".")));
  return pipeline::CreateRequest{.contents = {.inputs = std::move(build.recipes),
                                              .render = {.recipes = {},
                                                         .variant_files = std::move(build.variant_files),
                                                         .select = std::move(build.select)},
                                              .cuda = flags.cuda.value_or(""),
                                              .channels = flags.channels},
                                 .requires_channels = flags.given.contains("--channel"),
                                 .prefix = prefix,
                                 .provider = build.host_env,
                                 .tools = build.tools};
}

std::string_view ProviderName(builder::HostEnv provider) {
  return provider == builder::HostEnv::kConda    ? "conda"
         : provider == builder::HostEnv::kWheels ? "wheels"
                                                 : "system";
}

Result<ExitCode> Create(Context& context, const EnvFlags& flags) {
  PTPKG_TRY(const pipeline::CreateRequest request, CreateRequestOf(context, flags));
  PTPKG_TRY(const pipeline::CreatedEnvironment made, pipeline::CreateEnvironment(context.env(), request));
  if (context.json()) {
    context.PrintJson({{"prefix", request.prefix.str()},
                       {"activate", made.activate.str()},
                       // Never 'auto': the provider that was chosen.
                       {"provider", ProviderName(made.provider)}});
  } else {
    context.Print(fmt::format("{}: packages from {}; activate it: . {}", request.prefix.str(),
                              ProviderName(made.provider), ShellQuote({made.activate.str()})));
  }
  return kDone;
}

Result<ExitCode> Export(Context& context, const EnvFlags& flags) {
  PTPKG_TRY(const pipeline::CreateRequest request, CreateRequestOf(context, flags));
  PTPKG_TRY(const pipeline::EnvironmentSpec spec,
            pipeline::ReadEnvironmentSpec(context.env(), request.contents));
  PTPKG_TRY(std::string text, flags.as == "requirements.txt" ? pipeline::ToRequirementsText(spec)
                                                             : pipeline::ToEnvironmentYaml(spec));
  if (context.json()) {
    context.PrintJson({{"text", text}});
  } else {
    if (text.ends_with('\n')) text.pop_back();  // which Print adds
    context.Print(text);
  }
  return kDone;
}

Json OrderToJson(const std::vector<CompilerOrder>& orders) {
  Json list = Json::array();
  for (const CompilerOrder& order : orders) {
    Json files = Json::array();
    for (const TakenFile& file : order.files) {
      files.push_back(
          {{"kind", file.kind}, {"name", file.name}, {"path", file.path}, {"wanted", file.wanted}});
    }
    list.push_back({{"compiler", order.compiler}, {"directories", order.directories}, {"files", files}});
  }
  return list;
}

Result<ExitCode> Check(Context& context, const EnvFlags& flags) {
  PTPKG_TRY(const std::vector<CompilerOrder> orders, pipeline::CheckOrder(context.env(), flags.order));
  std::size_t wrong = 0;
  for (const CompilerOrder& order : orders) {
    wrong += static_cast<std::size_t>(std::ranges::count_if(order.files, &TakenFile::IsWrong));
  }
  const ExitCode code = wrong == 0 ? kDone : kCheckFound;
  if (context.json()) {
    context.PrintJson(OrderToJson(orders));
    return code;
  }
  for (const CompilerOrder& order : orders) {
    context.Print(order.compiler + " searches");
    // The order of the directories explains the files below.
    for (const std::string& folder : order.directories) context.Print("  " + folder);
    context.Print(order.compiler + " takes");
    for (const TakenFile& file : order.files) {
      context.Print(fmt::format("  {:<9} {:<18} {}", file.kind, file.name,
                                file.path.empty() ? "not found, or it refuses this compiler" : file.path));
      if (!file.wanted.empty())
        context.Print(fmt::format("  {:<28} but the environment has {}", "", file.wanted));
    }
  }
  context.Print(wrong == 0 ? "each file is the environment's own, if it has one"
                           : Plural(wrong, "file") + " not as wanted");
  return code;
}

Result<ExitCode> RunEnv(Context& context, const EnvFlags& flags) {
  PTPKG_CHECK(CheckAction(flags));
  if (flags.action == "create") return Create(context, flags);
  return flags.action == "export" ? Export(context, flags) : Check(context, flags);
}

std::vector<Option> EnvOptions(EnvFlags& flags) {
  std::vector<Option> options = {{.names = "ACTION",
                                  .help = "Create or export an environment, or check its compilers",
                                  .target = &flags.action,
                                  .choices = {"create", "export", "check"}},
                                 {.names = "INPUT",
                                  .help = "Recipes, environment.yml, requirements.txt",
                                  .target = &flags.recipe.recipes,
                                  .optional = true},
                                 {.names = "--prefix",
                                  .value = "DIR",
                                  .help = "Create it in DIR, new or empty",
                                  .target = &flags.prefix},
                                 {.names = "--as",
                                  .help = "Export in this format",
                                  .target = &flags.as,
                                  .choices = {"environment.yml", "requirements.txt"},
                                  .default_text = "environment.yml"},
                                 {.names = "--cuda",
                                  .value = "VERSION",
                                  .help = "Take this CUDA toolkit instead of the inputs'",
                                  .target = &flags.cuda},
                                 {.names = "--channel",
                                  .value = "CHANNEL",
                                  .help = "Search this conda channel first; may be repeated",
                                  .target = &flags.channels},
                                 {.names = "--header",
                                  .value = "NAME",
                                  .help = "Also check this header; may be repeated",
                                  .target = &flags.order.headers},
                                 {.names = "--library",
                                  .value = "NAME",
                                  .help = "Also check this library, such as z; may be repeated",
                                  .target = &flags.order.libraries}};
  for (Option& option : RecipeOptions(flags.recipe, "")) {
    // A conda client looks for packages in its channels, so packages of an output directory are not used.
    // These commands build nothing, so they read no source.
    if (option.names != "-o,--output" && option.names != "--source") options.push_back(std::move(option));
  }
  return options;
}

}  // namespace

Verb EnvVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<EnvFlags>();
  return {.name = "env",
          .summary = "Create, export or check a development environment",
          .known_as = {"environment", "venv", "activate"},
          .options = EnvOptions(*flags),
          .notes =
              "'create' installs the build and host requirements of one variant, or the packages of the "
              "files, from the provider of --env. DIR/activate.sh, for bash, prints what it sets. 'export' "
              "prints the packages as a file.\n"
              "\n"
              "'check' compiles and links probes with $CXX, nvcc and hipcc, in the environment that it runs "
              "in. It reports each header and library that comes from elsewhere although the environment "
              "has it: 'ptpkg explain environments'.\n"
              "\n"
              "Exit codes: 0 done, 1 files not as wanted, 2 wrong command line, 3 invalid input, 4 missing "
              "tools, 5 a client, pip or compiler failed, 7 DIR has content, or another run makes it.",
          .examples = {"ptpkg env create environment.yml --prefix ../torch-env --env conda --cuda 12.4",
                       "ptpkg env export recipes/magma --select cuda_compiler_version=12.4 > env.yml",
                       "ptpkg shell recipes/magma -- ptpkg env check --library z"},
          .run = [flags](Context& context) { return RunEnv(context, *flags); },
          .given = &flags->given};
}

}  // namespace ptpkg::cli
