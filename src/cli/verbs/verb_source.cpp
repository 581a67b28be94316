// ptpkg source. Layer: cli. A build takes archives and commits of its own cache. These clones are for people
// who edit: they get the ref of the recipe, and 'ptpkg build --source NAME=DIR/CLONE' builds them.

#include <algorithm>
#include <fmt/core.h>
#include <memory>

#include "cli/verbs/recipe_flags.h"
#include "cli/verbs/verbs.h"
#include "pipeline/develop/source_clones.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

using pipeline::SourceClone;

struct SourceFlags {
  std::string action;
  std::vector<std::string> recipes;
  std::vector<std::string> variant_files;
  std::vector<std::string> select;
  std::string into = ".";
  bool offline = false;
};

Json CloneToJson(const SourceClone& clone) {
  return {{"name", clone.name},       {"path", clone.path.str()}, {"ref", clone.ref},
          {"wanted", clone.wanted},   {"commit", clone.commit},   {"before", clone.before},
          {"commits", clone.commits}, {"files", clone.files},     {"submodules", clone.submodules},
          {"edited", clone.edited},   {"unready", clone.unready}, {"as_wanted", clone.IsAsWanted()}};
}

std::string ShortCommit(const std::string& commit) {
  constexpr std::size_t kShort = 12;
  return commit.substr(0, kShort);
}

/// Commits, files and submodules that an update changed, as one line.
std::string ChangeText(const SourceClone& clone) {
  if (clone.before == clone.commit) return "nothing changed";
  std::string text = fmt::format("from {}: {}, {} changed", ShortCommit(clone.before),
                                 Plural(clone.commits, "new commit"), Plural(clone.files, "file"));
  if (!clone.submodules.empty()) text += fmt::format("; submodules: {}", FirstNames(clone.submodules, 8));
  return text;
}

std::string StatusText(const SourceClone& clone) {
  if (clone.commit.empty()) return fmt::format("no clone at '{}'", clone.path.str());
  std::string text = clone.commit == clone.wanted ? clone.ref
                     : clone.wanted.empty()
                         ? fmt::format("commit {}; {} is not fetched", ShortCommit(clone.commit), clone.ref)
                         : fmt::format("commit {}, not {}", ShortCommit(clone.commit), clone.ref);
  // Changes of the user block an update. Submodules that are not ready are mended by one.
  if (!clone.edited.empty()) text += fmt::format("; changed files: {}", FirstNames(clone.edited, 5));
  if (!clone.unready.empty()) {
    text +=
        fmt::format("; submodules that are missing or at another commit: {}", FirstNames(clone.unready, 5));
  }
  return text;
}

Result<ExitCode> RunSource(Context& context, const SourceFlags& flags) {
  // 'status' asks no server anyway. The others fail at once, and change nothing.
  if (flags.offline) context.env().offline = true;
  pipeline::SourcesRequest request{.render = {}, .folder = context.env().cwd};
  PTPKG_TRY(request.render.select, ParseSelect(flags.select));
  PTPKG_TRY(request.folder, context.Path(flags.into));
  // Last, so that a mistake in the words comes before a missing file.
  PTPKG_TRY(request.render.recipes, ResolveExisting(context, flags.recipes));
  PTPKG_TRY(request.render.variant_files, ResolveExisting(context, flags.variant_files));
  Env& env = context.env();
  PTPKG_TRY(const std::vector<SourceClone> clones,
            flags.action == "clone"    ? pipeline::CloneSources(env, request)
            : flags.action == "update" ? pipeline::UpdateSources(env, request)
                                       : pipeline::SourceStatus(env, request));
  if (context.json()) {
    Json list = Json::array();
    for (const SourceClone& clone : clones) list.push_back(CloneToJson(clone));
    context.PrintJson(list);
  } else {
    for (const SourceClone& clone : clones) {
      context.Print(fmt::format("{}: {}", clone.name, StatusText(clone)));
      // Only an update has a commit from before.
      if (flags.action == "update") context.Print("  " + ChangeText(clone));
    }
  }
  // As with 'check': a clone at another commit is a result and not an error. A script can ask before a build.
  const bool as_wanted =
      std::ranges::all_of(clones, [](const SourceClone& clone) { return clone.IsAsWanted(); });
  return as_wanted ? kDone : kCheckFound;
}

}  // namespace

Verb SourceVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<SourceFlags>();
  return {.name = "source",
          .summary = "Clone and update the repositories that recipes build from",
          .known_as = {"clone", "checkout"},
          .options = {{.names = "ACTION",
                       .help = "Clone, update, or compare clones with the recipes",
                       .target = &flags->action,
                       .choices = {"clone", "update", "status"}},
                      {.names = "RECIPE", .help = "recipe.yaml or its directory", .target = &flags->recipes},
                      VariantsOption(flags->variant_files),
                      SelectOption(flags->select, "Count only variants with this value; may be repeated"),
                      {.names = "--into",
                       .value = "DIR",
                       .help = "Keep the clones in DIR",
                       .target = &flags->into,
                       .default_text = "the working directory"},
                      // clone and update need a server, and say so.
                      OfflineOption(flags->offline, "Ask no server: for status")},
          .notes =
              "Each clone has the submodules that the recipe's source has, and is at its tag, branch or "
              "commit. If the variants have several versions, the newest counts. 'update' fetches and "
              "checks out a detached HEAD; branches stay, and so do URLs that you set for submodules. "
              "It refuses clones with changed files, with untracked or ignored files in the way, with "
              "commits that no branch holds, or of another repository, before it changes any. After an "
              "interruption, update again.\n"
              "\n"
              "A clone is named NAME after its recipe, or NAME-TARGET for a source with a "
              "'target_directory'. Build from the clone of a recipe's first source with '--source "
              "NAME=DIR/CLONE'.\n"
              "\n"
              "Exit codes: 0 done, 1 a clone is not at the recipe's ref, 2 wrong command line, 4 no such "
              "clone, ref or repository, 5 git failed, 7 refused, or a clone exists, 8 network.",
          .examples = {"ptpkg source clone my-recipe --select torch_version=2.6.0 --into ../sources",
                       "ptpkg source status my-recipe --into ../sources"},
          .run = [flags](Context& context) { return RunSource(context, *flags); }};
}

}  // namespace ptpkg::cli
