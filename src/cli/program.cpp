// The verbs in the order that --help shows, and what all of them take. Layer: cli.
// The order leads from building over changing and checking artifacts to publishing, CI and the machine. Verbs
// for scripts and for help come last.
// Options write into `flags` and into flags of their verbs. A verb that only describes the program
// (completion, man, config) makes another one with flags of its own.

#include "cli/verbs/verbs.h"

namespace ptpkg::cli {

namespace {

std::vector<Option> CommonOptions(CommonFlags& flags) {
  constexpr std::uint64_t kMostJobs = 1024;
  return {
      {.names = "--json", .help = "Print the result as one JSON document", .target = &flags.json},
      {.names = "-q,--quiet", .help = "Print only warnings and errors", .target = &flags.quiet},
      {.names = "-v,--verbose", .help = "Also print the output of build scripts", .target = &flags.verbose},
      {.names = "-j,--jobs",
       .value = "NUMBER",
       .help = "Use this many threads, and as CPU_COUNT of build scripts",
       .target = Number{.value = &flags.jobs, .least = 1, .most = kMostJobs},
       .default_text = "all CPUs, fewer if memory is short"},
      {.names = "--color",
       .help = "Colour messages; auto honours NO_COLOR",
       .target = &flags.color,
       .choices = {"auto", "always", "never"},
       .default_text = "auto"},
      {.names = "--log-format",
       .help = "Choose how to show progress; auto is plain in CI",
       .target = &flags.log_format,
       .choices = {"auto", "terminal", "plain", "json"},
       .default_text = "auto"},
      {.names = "--cache-dir",
       .value = "DIR",
       .help = "Keep downloads and build results in DIR",
       .target = &flags.cache_dir,
       .default_text = "~/.cache/ptpkg",
       .env = "PTPKG_CACHE_DIR"},
      {.names = "--no-config", .help = "Read no configuration files", .target = &flags.no_config},
      {.names = "-V,--version", .help = "Print the version, commit and libraries", .target = &flags.version},
  };
}

}  // namespace

Program MakeProgram(CommonFlags& flags) {
  return {
      .name = "ptpkg",
      .summary = "Builds conda packages and wheels from one recipe, checks them and publishes them.",
      .common = CommonOptions(flags),
      .verbs = {BuildVerb(),   DevVerb(),        ShellVerb(),     EnvVerb(),       SourceVerb(),
                CondaVerb(),   WheelVerb(),      RenderVerb(),    RelinkVerb(),    RepairVerb(),
                RetagVerb(),   SliceVerb(),      TransmuteVerb(), CheckVerb(),     InspectVerb(),
                DiffVerb(),    RebuildVerb(),    IndexVerb(),     PublishVerb(),   PromoteVerb(),
                YankVerb(),    RemoveVerb(),     CiVerb(),        ImageVerb(),     MatrixVerb(),
                DoctorVerb(),  BenchVerb(),      CacheVerb(),     ConfigVerb(),    ExplainVerb(),
                RunNodeVerb(), CompletionVerb(), ManVerb(),       HelpVerb(flags), VersionVerb()},
      .examples = {"ptpkg build fixtures/toymagma fixtures/toytorch --output dist", "ptpkg build --help"},
      // 'ptpkg config' and --no-cache have to tell a value of the command line from a setting or a default.
      .given = &flags.given};
}

}  // namespace ptpkg::cli
