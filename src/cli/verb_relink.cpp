// ptpkg relink. Layer: cli.

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>

#include "cli/verbs.h"
#include "pipeline/relink.h"
#include "support/text.h"

namespace ptpkg::cli {

namespace {

struct RelinkFlags {
  std::vector<std::string> paths;
  std::string layout;
  std::optional<std::string> set_rpath;
  bool force_rpath = false;
  bool plan = false;
};

Json ItemsToJson(const std::vector<pipeline::RelinkItem>& items) {
  Json list = Json::array();
  for (const pipeline::RelinkItem& item : items) {
    list.push_back({{"file", item.file.str()},
                    {"old_tag", item.old_tag},
                    {"old_path", item.old_path},
                    {"new_tag", item.new_tag},
                    {"new_path", item.new_path},
                    {"tier", item.tier},
                    {"bytes_to_write", item.bytes_to_write},
                    {"bytes_grown", item.bytes_grown}});
  }
  return list;
}

std::string Describe(const std::string& tag, const std::string& path) {
  return tag.empty() ? "(none)" : fmt::format("{} {}", tag, path.empty() ? "(empty)" : path);
}

Result<ExitCode> RunRelink(Context& context, const RelinkFlags& flags) {
  pipeline::RelinkRequest request;
  request.layout = flags.layout;
  request.use_rpath_tag = flags.force_rpath;
  request.plan_only = flags.plan;
  for (const std::string& path : flags.paths) {
    PTPKG_TRY(AbsPath resolved, context.Path(path));
    request.paths.push_back(std::move(resolved));
  }
  if (flags.set_rpath) {
    request.search_path =
        flags.set_rpath->empty() ? std::vector<std::string>{} : Split(*flags.set_rpath, ':');
  }
  PTPKG_TRY(const std::vector<pipeline::RelinkItem> items, pipeline::Relink(context.env(), request));
  if (context.json()) {
    PrintResult(ItemsToJson(items).dump(2));
    return kDone;
  }
  std::uint64_t bytes = 0;
  std::size_t changed = 0;
  for (const pipeline::RelinkItem& item : items) {
    bytes += item.bytes_to_write;
    if (item.tier == "nothing") continue;
    ++changed;
    PrintResult(fmt::format("{}\n  old: {}\n  new: {}\n  {}, {} bytes to write, file grows by {}",
                            item.file.str(), Describe(item.old_tag, item.old_path),
                            Describe(item.new_tag, item.new_path), item.tier, item.bytes_to_write,
                            item.bytes_grown));
  }
  context.env().reporter.Note(fmt::format("{} of {} ELF files {}, {} bytes", changed, items.size(),
                                          flags.plan ? "would change" : "changed", bytes));
  return kDone;
}

}  // namespace

void AddRelinkVerb(CLI::App& app, Action& action) {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RelinkFlags>();
  CLI::App* verb = app.add_subcommand("relink", "Change the run-time search paths of ELF files, in place");
  verb->add_option("PATH", flags->paths, "ELF files, or folders searched for them")->required();
  CLI::Option* layout =
      verb->add_option("--layout", flags->layout, "Built-in layout for the files of a folder")
          ->check(CLI::IsMember(pipeline::LayoutNames()));
  verb->add_option("--set-rpath", flags->set_rpath,
                   "This search path for every file; entries separated by ':'")
      ->type_name("PATH")
      ->excludes(layout);
  verb->add_flag("--force-rpath", flags->force_rpath, "With --set-rpath: DT_RPATH instead of DT_RUNPATH");
  verb->add_flag("--plan,--dry-run", flags->plan, "Print what would change, and write nothing");
  verb->footer(
      "Flags of every verb: see ptpkg --help\n\nExample:\n  ptpkg relink site-packages --layout "
      "pytorch-conda --plan");
  verb->callback(
      [&action, flags] { action = [flags](Context& context) { return RunRelink(context, *flags); }; });
}

}  // namespace ptpkg::cli
