// The verbs in the order that --help shows, and what all of them take. Layer: cli.

#include "cli/verbs/verbs.h"

namespace ptpkg::cli {

namespace {

std::vector<Option> CommonOptions(CommonFlags& flags) {
  constexpr std::uint64_t kMostJobs = 1024;
  return {
      {.names = "--json", .help = "Print the result as one JSON document on stdout", .target = &flags.json},
      {.names = "-q,--quiet", .help = "Print warnings and errors only", .target = &flags.quiet},
      {.names = "-v,--verbose", .help = "Print the output of build scripts too", .target = &flags.verbose},
      {.names = "-j,--jobs",
       .value = "NUMBER",
       .help =
           "Threads to use, and CPU_COUNT of build scripts (default: all CPUs that control groups allow; for "
           "a script no more than fit the memory)",
       .target = Number{.value = &flags.jobs, .least = 1, .most = kMostJobs}},
      {.names = "--color",
       .help = "Colours on stderr (default: auto; NO_COLOR is honoured)",
       .target = &flags.color,
       .choices = {"auto", "always", "never"}},
      {.names = "--log-format",
       .help =
           "How progress is shown (default: auto: plain without a terminal or with CI set, else terminal)",
       .target = &flags.log_format,
       .choices = {"auto", "terminal", "plain", "json"}},
      {.names = "--cache-dir",
       .value = "DIR",
       .help = "Downloads and stage results (default: PTPKG_CACHE_DIR, else $XDG_CACHE_HOME/ptpkg, else "
               "~/.cache/ptpkg)",
       .target = &flags.cache_dir},
      {.names = "-V,--version",
       .help = "Print the version, the commit, and the libraries",
       .target = &flags.version},
  };
}

}  // namespace

Program MakeProgram(CommonFlags& flags) {
  return {
      .name = "ptpkg",
      .summary = "Builds conda packages, wheels and zips from one recipe, checks them, and indexes them.",
      .common = CommonOptions(flags),
      .verbs = {BuildVerb(),   DevVerb(),     ShellVerb(),   CondaVerb(),      WheelVerb(),
                RenderVerb(),  RelinkVerb(),  RepairVerb(),  RetagVerb(),      SliceVerb(),
                CheckVerb(),   InspectVerb(), DiffVerb(),    IndexVerb(),      PublishVerb(),
                PromoteVerb(), YankVerb(),    RemoveVerb(),  CiVerb(),         DoctorVerb(),
                CacheVerb(),   ExplainVerb(), RunNodeVerb(), CompletionVerb(), ManVerb()},
      .examples = {"ptpkg build fixtures/toymagma fixtures/toytorch --output dist", "ptpkg build --help"}};
}

}  // namespace ptpkg::cli
