// ptpkg explain: pages of the documentation that messages name. Layer: cli. CMake compiles the pages into the
// program, so that the hints in messages work on any machine, offline, and for the version that printed them.

#include <algorithm>
#include <cli_pages.h>
#include <fmt/core.h>
#include <memory>

#include "cli/output/findings.h"
#include "cli/verbs/verbs.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// "# title" is the name again; the first sentence behind it says what the page is about.
std::string FirstSentence(std::string_view text) {
  // Pages begin with a title, an empty line and a sentence; a page without them gives less text, never an
  // error.
  const std::size_t begin = std::min(text.find("\n\n"), text.size());
  text.remove_prefix(std::min(begin + 2, text.size()));
  const std::size_t end = std::min({text.find(". "), text.find(".\n"), text.find("\n\n"), text.size()});
  return ReplaceAll(std::string(text.substr(0, end)), "\n", " ");
}

Result<ExitCode> RunExplain(Context& context, const std::optional<std::string>& name) {
  if (!name) {
    Json list = Json::object();
    std::string lines;
    for (const Page& page : kPages) {
      list[std::string(page.name)] = FirstSentence(page.text);
      lines += fmt::format("{}{}: {}", lines.empty() ? "" : "\n", page.name, FirstSentence(page.text));
    }
    if (context.json()) {
      context.PrintJson({{"pages", list}});
    } else {
      context.Print(lines);
    }
    return kDone;
  }
  const auto* const page =
      std::find_if(kPages.begin(), kPages.end(), [&](const Page& one) { return one.name == *name; });
  if (page == kPages.end()) {
    std::vector<std::string> names;
    for (const Page& one : kPages) names.emplace_back(one.name);
    const auto nearest = NearestMatch(*name, names);
    return Error(ErrorCode::kUsage, fmt::format("no page '{}'", *name))
        .WithHint(nearest ? fmt::format("did you mean 'ptpkg explain {}'?", *nearest)
                          : "'ptpkg explain' lists the pages");
  }
  if (context.json()) {
    context.PrintJson({{"name", page->name}, {"text", page->text}});
  } else {
    context.Print(page->text.substr(0, page->text.size() - 1));  // Print adds the last line break
  }
  return kDone;
}

}  // namespace

bool HasPage(std::string_view name) { return std::ranges::find(kPages, name, &Page::name) != kPages.end(); }

Verb ExplainVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto name = std::make_shared<std::optional<std::string>>();
  return {.name = "explain",
          .summary = "Print the page of a finding, or a guide",
          .options = {{.names = "NAME",
                       .help = "Id of a finding, or a guide; without it, list all",
                       .target = &*name}},
          .examples = {"ptpkg explain elf-unreachable-needed", "ptpkg explain publishing"},
          .run = [name](Context& context) { return RunExplain(context, *name); }};
}

}  // namespace ptpkg::cli
