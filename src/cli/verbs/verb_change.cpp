// ptpkg promote, yank and remove: the only verbs that change published files. Layer: cli. They differ in one
// function of the pipeline and in a few options, so they share flags, output and exit codes. An artifact of
// --artifact has no local file, so nothing can be compared unless its name holds a digest.

#include <fmt/core.h>
#include <memory>

#include "cli/exit_code.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/change_command.h"
#include "support/process/core_dumps.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

using Change = Result<pipeline::ChangeSummary> (*)(Env&, const pipeline::ChangeRequest&);

struct ChangeFlags {
  std::vector<std::string> paths;
  pipeline::ChangeRequest request;
};

Json ChangesToJson(const pipeline::ChangeSummary& summary) {
  Json items = Json::array();
  for (const pipeline::ChangedItem& item : summary.items) {
    Json one = {{"name", item.name}, {"sha256", item.sha256.empty() ? Json(nullptr) : Json(item.sha256)}};
    // Only a dry run has requests, and it has no outcomes.
    if (item.requests.empty()) {
      one["outcome"] = item.result;
      if (item.error) one["error"] = item.error->message();
    } else {
      one["requests"] = item.requests;
    }
    items.push_back(std::move(one));
  }
  return {{"target", summary.target}, {"artifacts", items}};
}

void PrintChanges(Context& context, const pipeline::ChangeSummary& summary) {
  for (const pipeline::ChangedItem& item : summary.items) {
    if (item.requests.empty()) {
      context.Print(fmt::format("{}: {}", item.name, item.result));
      if (item.error) context.LogAlways(FormatError(*item.error));
      continue;
    }
    context.Print(item.name);
    for (const std::string& request : item.requests) context.Print("  " + request);
  }
}

Result<ExitCode> RunChange(Context& context, const ChangeFlags& flags, Change change) {
  // This process holds tokens in more places than anybody wipes (support/process/core_dumps.h).
  ForbidCoreDumps();
  pipeline::ChangeRequest request = flags.request;
  PTPKG_TRY(request.paths, ResolveExisting(context, flags.paths));
  PTPKG_TRY(const pipeline::ChangeSummary summary, change(context.env(), request));
  if (context.json()) {
    context.PrintJson(ChangesToJson(summary));
  } else {
    PrintChanges(context, summary);
  }
  // The others were changed all the same, and the list above has each outcome. The first error gives the
  // code.
  const Error* first = nullptr;
  std::size_t failed = 0;
  for (const pipeline::ChangedItem& item : summary.items) {
    if (!item.error) continue;
    ++failed;
    if (first == nullptr) first = &*item.error;
  }
  // A signal lets running requests end and starts no others, which have no error then.
  if (first == nullptr) return context.env().cancel.cancelled() ? kInterrupted : kDone;
  context.LogAlways(fmt::format("{} of {} failed; rerun to retry only these", failed,
                                Plural(summary.items.size(), "artifact")));
  return ExitCodeOf(first->code());
}

/// `own` of one verb, between those that all have.
std::vector<Option> WithShared(ChangeFlags& flags, const std::vector<Option>& own) {
  pipeline::ChangeRequest& request = flags.request;
  std::vector<Option> options = {{.names = "ARTIFACT",
                                  .help = "Local files, or output directories with a manifest",
                                  .target = &flags.paths,
                                  .optional = true},
                                 {.names = "--artifact",
                                  .value = "NAME",
                                  .help = "Add an artifact by its name on the target; may be repeated",
                                  .target = &request.names},
                                 {.names = "--from",
                                  .value = "TARGET",
                                  .help = "Look for the artifacts at TARGET",
                                  .target = &request.from}};
  options.insert(options.end(), own.begin(), own.end());
  options.push_back({.names = "--server",
                     .value = "URL",
                     .help = "Use the server at URL instead of the usual one",
                     .target = &request.server});
  options.push_back(
      {.names = "--dry-run", .help = "Show the requests; change nothing", .target = &request.dry_run});
  return options;
}

/// The rules for names and digests are those that keep a change from hitting another file, so each page has
/// them.
std::string NotesOf(const std::string& targets) {
  return targets +
         "\n\nA name is a path on the target: linux-64/toy-1.0-0.conda, cu130/toy-1.0-py3-none-any.whl, "
         "and can end in #sha256=HEX. Files on the target must have the digests of the local files. "
         "If one differs, nothing changes. A rerun succeeds. 'ptpkg explain publishing' lists what "
         "each target supports and where tokens come from.";
}

// The flags are shared by the parser, which fills them, and the action, which reads them later: each verb's.
using SharedFlags = std::shared_ptr<ChangeFlags>;

std::function<Result<ExitCode>(Context&)> RunOf(const SharedFlags& flags, Change change) {
  return [flags, change](Context& context) { return RunChange(context, *flags, change); };
}

}  // namespace

Verb PromoteVerb() {
  const SharedFlags flags(new ChangeFlags);
  pipeline::ChangeRequest& request = flags->request;
  return {
      .name = "promote",
      .summary = "Add artifacts to another label or channel",
      .options = WithShared(
          *flags,
          {{.names = "--to",
            .value = "TARGET",
            .help = "Add the artifacts to this label or channel",
            .target = &request.to},
           {.names = "--move", .help = "Also remove the artifacts from --from", .target = &request.move}}),
      .notes = NotesOf("Targets:\n"
                       "  anaconda:OWNER[/LABEL]    without a label: any (--from), main (--to)\n"
                       "  artifactory:REPOSITORY    copied by the server at --server"),
      .examples = {"ptpkg promote dist --from anaconda:me/dev --to anaconda:me/main",
                   "ptpkg promote a-1-0.conda --from anaconda:me/main --to anaconda:me/bad --move"},
      .run = RunOf(flags, pipeline::Promote)};
}

Verb YankVerb() {
  const SharedFlags flags(new ChangeFlags);
  pipeline::ChangeRequest& request = flags->request;
  return {.name = "yank",
          .summary = "Yank wheels: installers ignore them unless pinned (PEP 592)",
          .options =
              WithShared(*flags, {{.names = "--reason",
                                   .value = "TEXT",
                                   .help = "Show this reason to users who pin the wheel",
                                   .target = &request.reason},
                                  {.names = "--undo", .help = "Unyank the wheels", .target = &request.undo}}),
          .notes = NotesOf("Targets:\n"
                           "  s3://BUCKET[/PREFIX]      simple index in a bucket\n"
                           "  file:///DIR               simple index in a directory"),
          .examples = {"ptpkg yank toy-*.whl --from file:///srv/channel --reason 'wrong metadata'",
                       "ptpkg yank --artifact toy-1.0-py3-none-any.whl --from s3://bucket --undo"},
          .run = RunOf(flags, pipeline::Yank)};
}

Verb RemoveVerb() {
  const SharedFlags flags(new ChangeFlags);
  return {.name = "remove",
          .summary = "Remove artifacts permanently from a channel or index",
          .known_as = {"delete", "rm", "unpublish"},
          .options = WithShared(*flags, {{.names = "--yes",
                                          .help = "Remove an --artifact without #sha256= too",
                                          .target = &flags->request.any_digest}}),
          .notes = NotesOf("Targets:\n"
                           "  anaconda:OWNER            from all labels\n"
                           "  prefix:CHANNEL            prefix.dev\n"
                           "  quetz:CHANNEL             Quetz at --server\n"
                           "  artifactory:REPOSITORY    Artifactory at --server\n"
                           "  s3://BUCKET[/PREFIX]      first the index entry, then the file\n"
                           "  file:///DIR               first the index entry, then the file\n"
                           "\nA missing artifact is reported and is not an error."),
          .examples = {"ptpkg remove toy-1.0-0.conda --from anaconda:me",
                       "ptpkg remove --artifact linux-64/toy-1.0-0.conda#sha256=HEX --from anaconda:me"},
          .run = RunOf(flags, pipeline::Remove)};
}

}  // namespace ptpkg::cli
