// ptpkg promote, yank and remove. Layer: cli.

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
    if (item.requests.empty()) {
      one["outcome"] = item.fate;
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
      context.Print(fmt::format("{}: {}", item.name, item.fate));
      if (item.error) context.LogAlways(FormatError(*item.error));
      continue;
    }
    context.Print(item.name);
    for (const std::string& request : item.requests) context.Print("  " + request);
  }
}

Result<ExitCode> RunChange(Context& context, const ChangeFlags& flags, Change change) {
  ForbidCoreDumps();
  pipeline::ChangeRequest request = flags.request;
  PTPKG_TRY(request.paths, ResolveExisting(context, flags.paths));
  PTPKG_TRY(const pipeline::ChangeSummary summary, change(context.env(), request));
  if (context.json()) {
    context.PrintJson(ChangesToJson(summary));
  } else {
    PrintChanges(context, summary);
  }
  const Error* first = nullptr;
  std::size_t failed = 0;
  for (const pipeline::ChangedItem& item : summary.items) {
    if (!item.error) continue;
    ++failed;
    if (first == nullptr) first = &*item.error;
  }
  if (first == nullptr) return context.env().cancel.cancelled() ? kInterrupted : kDone;
  context.LogAlways(fmt::format("{} of {} failed; run it again: what is done is not done again", failed,
                                Plural(summary.items.size(), "artifact")));
  return ExitCodeOf(first->code());
}

/// `own` of one verb, between those that all have.
std::vector<Option> WithShared(ChangeFlags& flags, const std::vector<Option>& own) {
  pipeline::ChangeRequest& request = flags.request;
  std::vector<Option> options = {
      {.names = "ARTIFACT",
       .help = "Files here, or output folders: of these what manifest.json lists. What the target has under "
               "their names must have their digests",
       .target = &flags.paths,
       .optional = true},
      {.names = "--name",
       .value = "NAME",
       .help = "One that need not be here, as the target calls it: linux-64/toy-1.0-0.conda[#sha256=HEX]; of "
               "a wheel in the folder of a backend cu130/NAME; may be given again",
       .target = &request.names},
      {.names = "--from", .value = "TARGET", .help = "Where they are: see below", .target = &request.from}};
  options.insert(options.end(), own.begin(), own.end());
  options.push_back({.names = "--server",
                     .value = "URL",
                     .help = "Base URL of the server, in place of the usual one",
                     .target = &request.server});
  options.push_back({.names = "--dry-run",
                     .help = "Read everything here, show the requests, change nothing",
                     .target = &request.dry_run});
  return options;
}

std::string NotesOf(const std::string& targets) {
  return targets +
         "\n\nA rerun of what is done is success. With a file of another digest, nothing of\n"
         "the run is changed. 'ptpkg explain publishing' says what each target can, and\n"
         "where tokens are looked for.";
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
      .summary = "Show what a channel has under another label too, or copy it to another channel",
      .options = WithShared(
          *flags,
          {{.names = "--to", .value = "TARGET", .help = "Where they are to be too", .target = &request.to},
           {.names = "--move",
            .help = "Take them away from --from: what was there is at --to alone",
            .target = &request.move}}),
      .notes = NotesOf("Targets:\n"
                       "  anaconda:OWNER[/LABEL]    --from without a label: whichever it has; --to: main\n"
                       "  artifactory:REPOSITORY    at --server, which copies itself"),
      .examples = {"ptpkg promote dist --from anaconda:me/dev --to anaconda:me/main",
                   "ptpkg promote a-1-0.conda --from anaconda:me/main --to anaconda:me/bad --move"},
      .run = RunOf(flags, pipeline::Promote)};
}

Verb YankVerb() {
  const SharedFlags flags(new ChangeFlags);
  pipeline::ChangeRequest& request = flags->request;
  return {.name = "yank",
          .summary = "Keep installers from choosing wheels, but for those that pin them (PEP 592)",
          .options = WithShared(
              *flags, {{.names = "--reason",
                        .value = "TEXT",
                        .help = "Why, for people: pip shows it to those who pin the wheel",
                        .target = &request.reason},
                       {.names = "--undo", .help = "Offer them again, as before", .target = &request.undo}}),
          .notes = NotesOf("Targets:\n"
                           "  s3://BUCKET[/PREFIX]      the simple index in a bucket\n"
                           "  file:///DIR               the simple index of a folder"),
          .examples = {"ptpkg yank toy-*.whl --from file:///srv/channel --reason 'wrong metadata'",
                       "ptpkg yank --name toy-1.0-py3-none-any.whl --from s3://bucket --undo"},
          .run = RunOf(flags, pipeline::Yank)};
}

Verb RemoveVerb() {
  const SharedFlags flags(new ChangeFlags);
  return {
      .name = "remove",
      .summary = "Remove artifacts from a channel or index, for good and for everybody",
      .known_as = {"delete", "rm", "unpublish"},
      .options = WithShared(*flags, {{.names = "--yes",
                                      .help = "Remove what --name says without #sha256=, whatever its digest",
                                      .target = &flags->request.any_digest}}),
      .notes = NotesOf("Targets:\n"
                       "  anaconda:OWNER            from all its labels\n"
                       "  prefix:CHANNEL, quetz:CHANNEL, artifactory:REPOSITORY\n"
                       "  s3://BUCKET[/PREFIX]      first its entry in the index, then the file\n"
                       "  file:///DIR               the same\n"
                       "\nWhat is not there is success, and told."),
      .examples = {"ptpkg remove toy-1.0-0.conda --from anaconda:me",
                   "ptpkg remove --name linux-64/toy-1.0-0.conda#sha256=HEX --from anaconda:me"},
      .run = RunOf(flags, pipeline::Remove)};
}

}  // namespace ptpkg::cli
