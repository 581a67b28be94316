// ptpkg publish. Layer: cli. The target is --to, or anaconda-client's -u and -l, which mean '--to
// anaconda:OWNER/LABEL' (docs/coming-from.md). No option takes a token: command lines are in shell histories
// and in the list of processes.

#include <fmt/core.h>
#include <memory>
#include <set>

#include "cli/exit_code.h"
#include "cli/output/findings.h"
#include "cli/verbs/verbs.h"
#include "pipeline/commands/publish.h"
#include "support/process/core_dumps.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

struct PublishFlags {
  std::vector<std::string> paths;
  std::string user;             ///< As anaconda-client names an owner.
  std::string label;            ///< Of `user`.
  std::set<std::string> given;  ///< Long names of the options on the command line.
  pipeline::PublishRequest request;
};

Json OutcomeToJson(const pipeline::PublishOutcome& outcome) {
  Json items = Json::array();
  for (const pipeline::PublishedItem& item : outcome.items) {
    Json one = {{"name", item.name}, {"sha256", item.sha256}};
    // Requests are only there in a dry run, which has no outcomes.
    if (item.requests.empty()) {
      one["outcome"] = item.result;
      // With a conflict, the two digests show which file the server has.
      one["remote_sha256"] = item.remote_sha256.empty() ? Json(nullptr) : Json(item.remote_sha256);
      if (item.error) one["error"] = item.error->message();
    } else {
      one["requests"] = item.requests;
    }
    items.push_back(std::move(one));
  }
  return {{"target", outcome.target}, {"artifacts", items}};
}

void PrintOutcome(Context& context, const pipeline::PublishOutcome& outcome) {
  std::string told;
  for (const pipeline::PublishedItem& item : outcome.items) {
    if (item.requests.empty()) {
      context.Print(fmt::format("{}: {}", item.name, item.result));
      // An index that cannot be written is the error of all of them.
      if (item.error && FormatError(*item.error) != told) context.LogAlways(told = FormatError(*item.error));
      continue;
    }
    context.Print(item.name);
    for (const std::string& request : item.requests) context.Print("  " + request);
  }
}

Result<ExitCode> RunPublish(Context& context, const PublishFlags& flags) {
  // This process holds tokens in more places than anybody wipes (support/process/core_dumps.h).
  ForbidCoreDumps();
  pipeline::PublishRequest request = flags.request;
  // Options of the command line win over a configuration file.
  const bool is_to_given = flags.given.contains("--to");
  const bool is_user_given = flags.given.contains("--user") || flags.given.contains("--label");
  if (!flags.user.empty() && (is_user_given || !is_to_given)) {
    const std::string target =
        fmt::format("anaconda:{}{}{}", flags.user, flags.label.empty() ? "" : "/", flags.label);
    // Both from the line, or both from files: nothing says which one is meant, and a wrong upload can't be
    // undone everywhere.
    if (!request.to.empty() && request.to != target && is_to_given == is_user_given) {
      return Error(ErrorCode::kUsage,
                   fmt::format("--to {} and --user {} name different targets", request.to, flags.user))
          .WithHint(fmt::format("leave --user out, or --to for '{}'", target));
    }
    request.to = target;
  }
  PTPKG_TRY(request.paths, ResolveExisting(context, flags.paths));
  // Printed before the first upload, which can take long, and not with its outcome.
  request.on_checked = [&](const std::vector<Report>& reports) { PrintFindings(context, reports); };
  PTPKG_TRY(const pipeline::PublishOutcome outcome, pipeline::Publish(context.env(), request));
  if (context.json()) {
    context.PrintJson(OutcomeToJson(outcome));
  } else {
    PrintOutcome(context, outcome);
  }
  // Files go out independently. Each outcome is printed above, and the first error gives the code.
  const Error* first = nullptr;
  std::size_t failed = 0;
  bool passes_by_itself = false;
  for (const pipeline::PublishedItem& item : outcome.items) {
    if (!item.error) continue;
    ++failed;
    if (first == nullptr) first = &*item.error;
    // Only the network: everything else fails again until somebody changes something.
    passes_by_itself = passes_by_itself || item.error->code() == ErrorCode::kNetwork;
  }
  if (first == nullptr) {
    // A signal lets running uploads end and starts no others. Files that were not tried have no error.
    if (context.env().cancel.cancelled()) return kInterrupted;
    // A dry run has printed its requests, and nothing is at the target.
    if (!request.dry_run) {
      context.env().reporter.Note(
          fmt::format("{} at {}", Plural(outcome.items.size(), "artifact"), outcome.target));
    }
    return kDone;
  }
  // A refusal repeats: each error has its own hint.
  context.LogAlways(fmt::format("{} of {} failed{}", failed, Plural(outcome.items.size(), "artifact"),
                                passes_by_itself ? "; rerun to send the rest" : ""));
  return ExitCodeOf(first->code());
}

}  // namespace

Verb PublishVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<PublishFlags>();
  pipeline::PublishRequest& request = flags->request;
  return {
      .name = "publish",
      .summary = "Upload packages and wheels to a channel, index or directory",
      .known_as = {"upload", "push", "deploy", "release"},
      .options = {{.names = "ARTIFACT",
                   .help = ".conda, .tar.bz2 or .whl file, or an output directory",
                   .target = &flags->paths},
                  {.names = "--to", .value = "TARGET", .help = "Upload to TARGET", .target = &request.to},
                  {.names = "-u,--user",
                   .value = "OWNER",
                   .help = "Upload to anaconda:OWNER, as with anaconda-client",
                   .target = &flags->user},
                  {.names = "-l,--label",
                   .value = "LABEL",
                   .help = "Upload to this label of --user",
                   .target = &flags->label,
                   .needs = "--user"},
                  {.names = "--server",
                   .value = "URL",
                   .help = "Use the server at URL instead of the usual one",
                   .target = &request.server},
                  {.names = "--check-url",
                   .value = "URL",
                   .help = "Look up uploaded files in the simple index at URL",
                   .target = &request.check_url,
                   .env = "UV_PUBLISH_CHECK_URL"},
                  {.names = "--force",
                   .help = "Replace files of the same names, if the server allows it",
                   .target = &request.force},
                  {.names = "--dry-run",
                   .help = "Check everything and show the requests; upload nothing",
                   .target = &request.dry_run}},
      .notes = "Targets:\n" + pipeline::PublishTargets() +
               "\n\nptpkg checks each artifact again first. If the server already has the same file, that is "
               "success; a different file of that name is a conflict. Tokens come from the environment "
               "or from files: see 'ptpkg explain publishing'.",
      .examples = {"ptpkg publish dist --to anaconda:me/dev", "ptpkg publish dist --to file:///srv/channel",
                   "ptpkg publish dist/wheels/*.whl --to pypi:testpypi --dry-run"},
      .run = [flags](Context& context) { return RunPublish(context, *flags); },
      .given = &flags->given};
}

}  // namespace ptpkg::cli
