// ptpkg relink. Layer: cli. Most edits of patchelf have a flag here, and both programs use the same engine
// (elf/edit). A layout gives each file a path by its place in the tree, as in packages that ptpkg builds. So
// it excludes a path for all files.

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <memory>

#include "cli/verbs/verbs.h"
#include "pipeline/commands/relink_command.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

struct RelinkFlags {
  std::vector<std::string> paths;
  std::string layout;
  std::string recipe;
  std::vector<std::string> select;
  std::string root;
  bool remove_rpath = false;
  bool shrink_rpath = false;
  std::optional<std::string> set_rpath;
  std::optional<std::string> add_rpath;
  std::vector<std::string> allowed_prefixes;
  std::vector<std::string> replace_needed;
  bool clear_execstack = false;
  elf::EditRequest edits;
  std::string verify = "auto";
  std::string writer = "own";
  bool keep_mtime = false;
  bool allow_strip_hazard = false;
  bool allow_payload = false;
  bool plan = false;
};

/// The edits that the flags name; nullopt when they name none.
Result<std::optional<elf::EditRequest>> EditsOf(const RelinkFlags& flags) {
  elf::EditRequest edits = flags.edits;
  using elf::PathAction;
  if (flags.remove_rpath) edits.path_action = PathAction::kRemove;
  if (flags.shrink_rpath) edits.path_action = PathAction::kShrink;
  if (flags.set_rpath) {
    edits.path_action = PathAction::kSet;
    edits.path_text = *flags.set_rpath;
  }
  if (flags.add_rpath) {
    edits.path_action = PathAction::kAdd;
    edits.path_text = *flags.add_rpath;
  }
  edits.allowed_prefixes = flags.allowed_prefixes;
  if (flags.clear_execstack) edits.executable_stack = false;
  PTPKG_TRY(edits.replace_needed, SplitAssignments("--replace-needed", flags.replace_needed));
  // No edit at all is not 'change nothing': then relink makes absolute entries relative, which is its
  // purpose.
  const bool any = edits.path_action != PathAction::kKeep || edits.interpreter || edits.soname ||
                   !edits.add_needed.empty() || !edits.remove_needed.empty() ||
                   !edits.replace_needed.empty() || edits.executable_stack;
  return any ? std::optional(std::move(edits)) : std::nullopt;
}

elf::Verification VerificationOf(const std::string& name) {
  if (name == "quick") return elf::Verification::kQuick;
  if (name == "deep") return elf::Verification::kDeep;
  // In place, a few known bytes change. A file that grew has moved tables, which LIEF then compares.
  return elf::Verification::kDeepIfGrown;
}

Result<pipeline::RelinkRequest> RequestOf(const Context& context, const RelinkFlags& flags) {
  pipeline::RelinkRequest request;
  PTPKG_TRY(request.paths, ResolveExisting(context, flags.paths));
  request.layout = flags.layout;
  // A recipe names its own layouts, which the parser can't know, so --layout has no list of choices. Without
  // a recipe only the built-in names count.
  if (!flags.recipe.empty()) {
    PTPKG_TRY(request.recipe, context.Path(flags.recipe));
    if (flags.layout.empty()) {
      return Error(ErrorCode::kUsage, "--recipe needs --layout: conda, wheel or zip");
    }
  } else if (!flags.layout.empty()) {
    const std::vector<std::string> names = pipeline::LayoutNames();
    if (std::find(names.begin(), names.end(), flags.layout) == names.end()) {
      return Error(ErrorCode::kUsage, fmt::format("no built-in layout '{}'", flags.layout))
          .WithHint(fmt::format("choose {}, or name a recipe with --recipe", Join(names, ", ")));
    }
  }
  // Each of these decides the whole path. The order of two on a line would be a guess.
  const int paths = (flags.layout.empty() ? 0 : 1) + (flags.set_rpath ? 1 : 0) + (flags.add_rpath ? 1 : 0) +
                    (flags.remove_rpath ? 1 : 0) + (flags.shrink_rpath ? 1 : 0);
  if (paths > 1) {
    return Error(ErrorCode::kUsage,
                 "--layout, --set-rpath, --add-rpath, --remove-rpath and --shrink-rpath exclude each other");
  }
  PTPKG_TRY(request.select, ParseSelect(flags.select));
  PTPKG_TRY(request.edits, EditsOf(flags));
  // The tag belongs to the entry that is written. Without a path of these flags it would be dropped.
  const bool writes_path = flags.set_rpath || flags.add_rpath || flags.shrink_rpath;
  if (flags.edits.rpath_tag && !writes_path) {
    return Error(ErrorCode::kUsage, "--force-rpath needs --set-rpath, --add-rpath or --shrink-rpath")
        .WithHint("a layout decides which tag its paths get");
  }
  if (!flags.root.empty()) {
    PTPKG_TRY(request.root, context.Path(flags.root));
  }
  request.plan_only = flags.plan;
  request.allow_strip_hazard = flags.allow_strip_hazard;
  request.allow_payload = flags.allow_payload;
  request.apply = {.keep_mtime = flags.keep_mtime,
                   .verification = VerificationOf(flags.verify),
                   .writer = flags.writer == "lief" ? elf::Writer::kLief : elf::Writer::kOwn};
  return request;
}

Json ItemsToJson(const std::vector<pipeline::RelinkItem>& items) {
  Json list = Json::array();
  for (const pipeline::RelinkItem& item : items) {
    list.push_back({{"file", item.file.str()},
                    {"before", pipeline::LinkFactsToJson(item.before)},
                    {"after", pipeline::LinkFactsToJson(item.after)},
                    // How the edit is placed, from a few bytes in place up to a tail at the end of the file
                    // (docs/formats/elf-search-path.md).
                    {"tier", item.tier},
                    {"bytes_to_write", item.bytes_to_write},
                    {"bytes_grown", item.bytes_grown}});
  }
  return list;
}

Result<ExitCode> RunRelink(Context& context, const RelinkFlags& flags) {
  PTPKG_TRY(const pipeline::RelinkRequest request, RequestOf(context, flags));
  // All files are planned before the first is written, so most errors mean that nothing has changed.
  PTPKG_TRY(const std::vector<pipeline::RelinkItem> items, pipeline::Relink(context.env(), request));
  if (context.json()) {
    context.PrintJson(ItemsToJson(items));
    return kDone;
  }
  std::uint64_t bytes = 0;
  std::size_t changed = 0;
  for (const pipeline::RelinkItem& item : items) {
    bytes += item.bytes_to_write;
    // Only files that change have lines; the sum at the end counts all.
    if (item.tier == "nothing") continue;
    ++changed;
    context.Print(item.file.str());
    for (const std::string& line : pipeline::DescribeChanges(item.before, item.after)) {
      context.Print(fmt::format("  {}", line));
    }
    context.Print(fmt::format("  {}: {} bytes to write, file grows by {}", item.tier, item.bytes_to_write,
                              item.bytes_grown));
  }
  // No error: a directory of a package need not have such files. A named file without any is refused before.
  if (items.empty()) {
    context.env().reporter.Warn("found no dynamically linked ELF file");
    return kDone;
  }
  context.env().reporter.Note(fmt::format("{} of {} ELF files {}, {} bytes", changed, items.size(),
                                          flags.plan ? "would change" : "changed", bytes));
  return kDone;
}

/// The group in --help shows which options exclude each other; RequestOf() refuses two of them.
std::vector<Option> PathOptions(RelinkFlags& flags) {
  const std::string one_of = "Search path, one of";
  return {
      {.names = "--layout",
       .value = "NAME",
       .help = "Set the paths of this layout",
       .target = &flags.layout,
       .group = one_of},
      {.names = "--set-rpath",
       .value = "PATH",
       .help = "Set this RPATH; separate entries with ':'",
       .target = &flags.set_rpath,
       .group = one_of,
       .instead_of_empty = "'--remove-rpath' removes the path"},
      {.names = "--add-rpath",
       .value = "PATH",
       .help = "Append entries to the RPATH",
       .target = &flags.add_rpath,
       .group = one_of},
      {.names = "--remove-rpath", .help = "Remove the RPATH", .target = &flags.remove_rpath, .group = one_of},
      {.names = "--shrink-rpath",
       .help = "Drop absolute entries without any needed library",
       .target = &flags.shrink_rpath,
       .group = one_of},
      {.names = "--recipe",
       .value = "RECIPE",
       .help = "Take --layout conda, wheel or zip from this recipe",
       .target = &flags.recipe},
      {.names = "--select",
       .value = "KEY=VALUE",
       .help = "Use only variants with this value; may be repeated",
       .target = &flags.select,
       .needs = "--recipe"},
      {.names = "--allowed-rpath-prefix",
       .value = "PREFIX",
       .help = "Also drop entries that do not begin with PREFIX",
       .target = &flags.allowed_prefixes,
       .needs = "--shrink-rpath"},
      {.names = "--force-rpath",
       .help = "Write DT_RPATH instead of DT_RUNPATH",
       .target = &flags.edits.rpath_tag},
      {.names = "--root", .value = "DIR", .help = "Make entries relative to DIR", .target = &flags.root},
  };
}

std::vector<Option> NameOptions(RelinkFlags& flags) {
  return {
      {.names = "--set-soname",
       .value = "NAME",
       .help = "Set the SONAME of a library",
       .target = &flags.edits.soname},
      {.names = "--set-interpreter",
       .value = "FILE",
       .help = "Set the loader of a program",
       .target = &flags.edits.interpreter},
      {.names = "--add-needed",
       .value = "NAME",
       .help = "Add a needed library in front; may be repeated",
       .target = &flags.edits.add_needed},
      {.names = "--remove-needed",
       .value = "NAME",
       .help = "Remove a needed library; may be repeated",
       .target = &flags.edits.remove_needed},
      {.names = "--replace-needed",
       .value = "OLD=NEW",
       .help = "Rename a needed library; may be repeated",
       .target = &flags.replace_needed},
      {.names = "--clear-execstack",
       .help = "Remove the request for an executable stack",
       .target = &flags.clear_execstack},
  };
}

/// The two --allow options lift refusals of edits that work now and break later: strip(1) would break a file
/// with moved headers, and the reader of a payload looks for it where the file ends
/// (docs/formats/elf-search-path.md).
std::vector<Option> WriteOptions(RelinkFlags& flags) {
  return {
      {.names = "--plan,--dry-run", .help = "Show what would change; write nothing", .target = &flags.plan},
      {.names = "--verify",
       .help = "Set how thoroughly written files are checked",
       .target = &flags.verify,
       .choices = {"auto", "quick", "deep"},
       .default_text = "auto"},
      {.names = "--writer",
       .help = "Edit in place (own), or let LIEF write a new file",
       .target = &flags.writer,
       .choices = {"own", "lief"},
       .default_text = "own"},
      {.names = "--allow-strip-hazard",
       .help = "Also edit files that strip would break afterwards",
       .target = &flags.allow_strip_hazard},
      {.names = "--allow-payload",
       .help = "Let a file grow although a payload follows it",
       .target = &flags.allow_payload},
      {.names = "--keep-mtime",
       .help = "Keep the modification times of changed files",
       .target = &flags.keep_mtime},
  };
}

}  // namespace

Verb RelinkVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<RelinkFlags>();
  std::vector<Option> options = {
      {.names = "PATH", .help = "ELF file, or directory to search for them", .target = &flags->paths}};
  for (std::vector<Option>& part :
       std::array{PathOptions(*flags), NameOptions(*flags), WriteOptions(*flags)}) {
    std::move(part.begin(), part.end(), std::back_inserter(options));
  }
  return {
      .name = "relink",
      .summary = "Change RPATHs and names in ELF files in place",
      .known_as = {"patchelf", "rpath"},
      .options = std::move(options),
      .notes = "Without an option, absolute RPATH entries become relative. Built-in layouts: " +
               Join(pipeline::LayoutNames(), ", ") +
               ".\n\n--verify quick reads a file again. With auto, LIEF also compares its tables if it grew. "
               "With deep, LIEF compares all symbols, versions and notes, and ptpkg the code byte by byte. "
               "With --writer lief, every address can move.\n\n"
               "The program patchelf beside ptpkg has patchelf's command line.",
      .examples = {"ptpkg relink site-packages --layout pytorch-conda --plan",
                   "ptpkg relink lib/libtoy.so --set-rpath '$ORIGIN/../lib'"},
      .run = [flags](Context& context) { return RunRelink(context, *flags); }};
}

}  // namespace ptpkg::cli
