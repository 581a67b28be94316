// ptpkg cache. Layer: cli. Without a word it only shows, and 'clean' removes. A failure to remove one entry
// ends nothing: the others are removed, and the exit code says that some are left.

#include <array>
#include <charconv>
#include <fmt/format.h>
#include <map>
#include <memory>
#include <set>

#include "cli/quantity.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/cache.h"
#include "support/text/json.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

using pipeline::CacheItem;
using pipeline::CacheKind;

struct CacheFlags {
  std::optional<std::string> action;
  std::optional<std::string> older_than;
  std::optional<std::string> max_size;
  bool dry_run = false;
  std::set<std::string> given;  ///< Long names of the options on the command line.
};

Json ToJson(const CacheItem& item) {
  Json json = {{"kind", CacheKindName(item.kind)},
               {"state", CacheStateName(item.state)},
               {"path", item.path.str()},
               {"size_bytes", item.size_bytes},
               {"last_use", UtcTime(item.last_use_ns)}};
  // Fields that a kind does not have are left out (docs/cli/cache.md).
  if (!item.stage.empty()) json["stage"] = item.stage;
  if (!item.key.empty()) json["key"] = item.key;
  if (!item.subject.empty()) json["subject"] = item.subject;
  return json;
}

Json ToJson(const std::vector<CacheItem>& items) {
  Json list = Json::array();
  for (const CacheItem& item : items) list.push_back(ToJson(item));
  return list;
}

struct Total {
  std::uint64_t count = 0;
  std::uint64_t size_bytes = 0;
};

/// By the name of the kind; "all" holds the sum.
std::map<std::string_view, Total> Totals(const std::vector<CacheItem>& items) {
  std::map<std::string_view, Total> totals = {{"all", {}}};
  for (const CacheItem& item : items) {
    // Kinds without entries are left out: a missing one counts as none (docs/cli/cache.md).
    for (const std::string_view name : {CacheKindName(item.kind), std::string_view("all")}) {
      ++totals[name].count;
      totals[name].size_bytes += item.size_bytes;
    }
  }
  return totals;
}

/// "build toytorch-1.0-cpu_0 3f2a1b4c5d6e", "toy-1.0.tar.gz", or the path below the cache.
std::string NameOf(const CacheItem& item, const AbsPath& cache) {
  // The digits that directories in kept/ have too (pipeline/commands/cache.h).
  constexpr std::size_t kShortKey = 12;
  if (item.kind == CacheKind::kResult) {
    return fmt::format("{} {}{}{}", item.stage, item.subject, item.subject.empty() ? "" : " ",
                       item.key.substr(0, kShortKey));
  }
  const bool named = item.kind == CacheKind::kDownload || item.kind == CacheKind::kGit;
  if (named && !item.subject.empty()) return item.subject;
  if (item.kind == CacheKind::kWork || item.kind == CacheKind::kDev)
    return fmt::format("{} {}", item.subject, item.path.Name());
  const auto below = item.path.RelativeTo(cache);
  return below ? below->str() : item.path.str();
}

std::string_view Remark(const CacheItem& item) {
  if (item.state == pipeline::CacheState::kInUse) return "in use";
  // Without locks nobody can tell, so 'clean' keeps the entry, as if it were in use.
  if (item.state == pipeline::CacheState::kUnknown) return "no file locks";
  if (item.kind == CacheKind::kWork) return "resumable";
  return item.kind == CacheKind::kScratch ? "abandoned" : "";
}

void PrintItems(Context& context, const std::vector<CacheItem>& items) {
  // Wall time, because the last use is the time stamp of a file.
  const auto now = context.env().clock.WallNow();
  for (const CacheItem& item : items) {
    const std::string_view remark = Remark(item);
    context.Print(fmt::format("{:<8}  {:>8}  {:>11}  {}{}{}", CacheKindName(item.kind),
                              HumanBytes(item.size_bytes), Age(item.last_use_ns, now),
                              NameOf(item, context.env().cache_dir), remark.empty() ? "" : "  ", remark));
  }
}

Result<ExitCode> Show(Context& context) {
  PTPKG_TRY(const std::vector<CacheItem> items, pipeline::ListCache(context.env()));
  const std::map<std::string_view, Total> totals = Totals(items);
  if (context.json()) {
    Json sums = Json::object();
    for (const auto& [name, total] : totals)
      sums[std::string(name)] = {{"count", total.count}, {"size_bytes", total.size_bytes}};
    context.PrintJson({{"cache", context.env().cache_dir.str()}, {"items", ToJson(items)}, {"totals", sums}});
    return kDone;
  }
  PrintItems(context, items);
  const Total& all = totals.at("all");
  context.Print(fmt::format("{}: {} in {}", context.env().cache_dir.str(), HumanBytes(all.size_bytes),
                            Plural(all.count, "entry")));
  return kDone;
}

Result<ExitCode> Clean(Context& context, const CacheFlags& flags) {
  // Both limits are read before anything is removed.
  pipeline::CacheCleanRequest request{.dry_run = flags.dry_run};
  if (flags.older_than) {
    PTPKG_TRY(request.older_than, ParseDuration("--older-than", *flags.older_than));
  }
  if (flags.max_size) {
    PTPKG_TRY(request.max_size_bytes, ParseSize("--max-size", *flags.max_size));
  }
  PTPKG_TRY(const pipeline::CacheCleanOutcome outcome, pipeline::CleanCache(context.env(), request));
  for (const std::string& failure : outcome.failures) {
    // This ends the run with an error code, so text says 'error'. The JSON log keeps that event for the end
    // of a run, and LogAlways() would make a note of it.
    if (context.logs_json()) {
      context.env().reporter.Warn(failure);
    } else {
      context.LogAlways("error: " + failure);
    }
  }
  if (context.json()) {
    context.PrintJson({{"cache", context.env().cache_dir.str()},
                       {"dry_run", flags.dry_run},
                       {"removed", ToJson(outcome.removed)},
                       {"in_use", ToJson(outcome.in_use)},
                       {"failures", outcome.failures},
                       {"freed_bytes", outcome.freed_bytes},
                       {"left_bytes", outcome.left_bytes}});
  } else {
    PrintItems(context, outcome.removed);
    if (!outcome.in_use.empty())
      context.env().reporter.Note(fmt::format("{} kept: in use", outcome.in_use.size()));
    context.Print(fmt::format("{} {}, {} left", HumanBytes(outcome.freed_bytes),
                              flags.dry_run ? "would be freed" : "freed", HumanBytes(outcome.left_bytes)));
  }
  return outcome.failures.empty() ? kDone : kIoFailed;
}

Result<ExitCode> RunCache(Context& context, const CacheFlags& flags) {
  if (flags.action) return Clean(context, flags);
  // Here and not by `needs`, which names options: 'clean' is a word, so that a line reads like a command.
  if (!flags.given.empty()) {
    return Error(ErrorCode::kUsage, "--older-than, --max-size and --dry-run need 'ptpkg cache clean'")
        .WithHint("add 'clean'");
  }
  return Show(context);
}

}  // namespace

Verb CacheVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<CacheFlags>();
  return {
      .name = "cache",
      .summary = "Show or clean the cache",
      .known_as = {"clean", "prune"},
      .options = {{.names = "clean",
                   .help = "Remove entries that are not in use",
                   .target = &flags->action,
                   .choices = {"clean"}},
                  {.names = "--older-than",
                   .value = "TIME",
                   .help = "Remove only entries unused for TIME: 12h, 30d, 2w",
                   .target = &flags->older_than},
                  {.names = "--max-size",
                   .value = "SIZE",
                   .help = "Remove the least recently used down to SIZE: 500M, 20G",
                   .target = &flags->max_size},
                  {.names = "--dry-run", .help = "Show what would be removed", .target = &flags->dry_run}},
      .notes =
          "Entries in use are never removed, even if another container or host uses them. "
          "Exit codes: 0 done, 2 wrong command line, 6 an entry could not be removed.",
      .examples = {"ptpkg cache", "ptpkg cache clean --older-than 30d --max-size 20G"},
      .run = [flags](Context& context) { return RunCache(context, *flags); },
      .given = &flags->given};
}

}  // namespace ptpkg::cli
