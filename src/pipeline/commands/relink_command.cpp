// All paths are planned before any file is written. So a mistake in the last argument changes nothing, and a
// file that is named twice, by itself and through its directory, is refused: its second plan would describe
// bytes that the first one changes.
//
// A single file is planned as a tree with one entry, below --root or its own directory. In a directory, files
// that cannot be changed are passed over. For a named file the same is an error, and an empty plan needs a
// second look: it means either "nothing to do" or "not dynamically linked".
//
// With --recipe all selected variants must have the same layout, or --select has to choose among them. LIEF
// rewrites a whole file, so the hazards of ptpkg's own writer don't apply to it.

#include "pipeline/commands/relink_command.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "convert/layout_rules.h"
#include "convert/layouts.h"
#include "elf/edit/edit.h"
#include "elf/edit/elf_files.h"
#include "elf/edit/relink_tree.h"
#include "model/staged_tree.h"
#include "pipeline/commands/render.h"
#include "pipeline/plan/result_names.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::pipeline {

namespace {

std::string Shown(const std::optional<std::string>& text) {
  if (!text) return "(none)";
  return text->empty() ? "(empty)" : *text;
}

std::optional<std::string> PathText(const std::optional<elf::SearchPath>& path) {
  return path ? std::optional(path->text) : std::nullopt;
}

std::string_view StackText(elf::StackFlag flag) {
  switch (flag) {
    case elf::StackFlag::kUnstated:
      return "unstated";
    case elf::StackFlag::kNotExecutable:
      return "not executable";
    case elf::StackFlag::kExecutable:
      return "executable";
  }
  return "";
}

Json TextOrNull(const std::optional<std::string>& text) { return text ? Json(*text) : Json(nullptr); }

/// The rules of the recipe's layout. Its variants have to agree.
Result<std::vector<elf::PathRule>> RecipeRules(Env& env, const RelinkRequest& request) {
  PTPKG_TRY(const std::vector<recipe::Recipe> recipes,
            Render(env, {.recipes = {*request.recipe}, .variant_files = {}, .select = request.select}));
  std::optional<std::vector<elf::PathRule>> rules;
  for (const recipe::Recipe& recipe : recipes) {
    if (recipe.skip) continue;
    const auto layout = recipe.ptpkg.layouts.find(request.layout);
    if (layout == recipe.ptpkg.layouts.end()) {
      std::vector<std::string> names;
      for (const auto& [name, other] : recipe.ptpkg.layouts) names.push_back(name);
      return Error(ErrorCode::kUsage,
                   fmt::format("recipe '{}' has no layout '{}'", recipe.name, request.layout))
          .WithHint(names.empty() ? "it has no layouts (extra.ptpkg.layouts)"
                                  : fmt::format("--layout {}", Join(names, " or --layout ")));
    }
    std::vector<elf::PathRule> found = convert::LayoutRules(layout->second);
    if (rules && *rules != found) {
      return Error(ErrorCode::kUsage, fmt::format("the variants of '{}' differ in their layout '{}'",
                                                  recipe.name, request.layout))
          .WithHint("choose one with --select KEY=VALUE; 'ptpkg render' lists them");
    }
    rules = std::move(found);
  }
  if (!rules) {
    return Error(ErrorCode::kUsage, fmt::format("no variant of '{}' is selected", request.recipe->str()))
        .WithHint("'ptpkg render' lists them");
  }
  return *std::move(rules);
}

Result<elf::RelinkOptions> OptionsOf(Env& env, const RelinkRequest& request) {
  if (!request.layout.empty() && request.edits) {
    return Error(ErrorCode::kUsage, "--layout cannot be combined with edits of single names");
  }
  elf::RelinkOptions options;
  options.edits = request.edits;
  // Hazards of ptpkg's own writer do not apply to LIEF's.
  options.allow_strip_hazard = request.allow_strip_hazard || request.apply.writer == elf::Writer::kLief;
  options.allow_payload = request.allow_payload;
  if (request.root) options.build_prefix = request.root->str();
  if (request.recipe) {
    PTPKG_TRY(options.rules, RecipeRules(env, request));
  } else if (!request.layout.empty()) {
    PTPKG_TRY(options.rules, convert::BuiltInLayout(request.layout));
  }
  return options;
}

/// The ELF files below `folder`. Unfinished copies of a killed edit go first.
Result<StagedTree> FilesBelow(Env& env, const AbsPath& folder) {
  PTPKG_TRY(StagedTree tree, elf::FindElfFiles(env, folder));
  std::set<AbsPath> folders;
  bool left = false;
  for (const TreeEntry& entry : tree.entries) {
    folders.insert((folder / entry.path).Parent());
    left = left || entry.path.str().find(elf::kEditFolderPrefix) != std::string::npos;
  }
  for (const AbsPath& one : folders) RemoveAbandonedScratch(env, one);
  return left ? elf::FindElfFiles(env, folder) : std::move(tree);
}

/// A single file is a tree of one: the root with that entry only.
Result<StagedTree> TreeOf(Env& env, const AbsPath& path, const FileStat& stat, const RelinkRequest& request) {
  if (stat.kind == FileKind::kDirectory)
    return request.plan_only ? elf::FindElfFiles(env, path) : FilesBelow(env, path);
  if (stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()))
        .WithHint("give the file that the link points to");
  }
  if (!request.plan_only) RemoveAbandonedScratch(env, path.Parent());
  StagedTree tree{.root = request.root.value_or(path.Parent())};
  auto name = path.RelativeTo(tree.root);
  if (!name) {
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is not below the root '{}'", path.str(), tree.root.str()));
  }
  tree.entries.push_back({.path = *std::move(name), .size_bytes = stat.size_bytes});
  return tree;
}

struct PlannedPath {
  StagedTree tree;
  std::vector<elf::FileChange> plan;
};

Result<PlannedPath> PlanPath(Env& env, const AbsPath& path, const RelinkRequest& request,
                             const elf::RelinkOptions& options) {
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(path));
  const bool is_folder = stat.kind == FileKind::kDirectory;
  // All files of the directory would get the same value.
  if (is_folder && request.edits && (request.edits->soname || request.edits->interpreter)) {
    return Error(ErrorCode::kUsage,
                 fmt::format("'{}' is a directory: a SONAME or interpreter can only be set for one file",
                             path.str()))
        .WithHint("name the file");
  }
  PlannedPath planned;
  PTPKG_TRY(planned.tree, TreeOf(env, path, stat, request));
  elf::RelinkOptions chosen = options;
  chosen.passes_over = is_folder;
  PTPKG_TRY(planned.plan, elf::PlanRelink(env, planned.tree, chosen));
  if (!is_folder && planned.plan.empty()) {
    // Without edits an empty plan may also mean that nothing is to be done: tell the two apart.
    elf::RelinkOptions any;
    any.edits = elf::EditRequest();
    any.passes_over = false;
    PTPKG_TRY(planned.plan, elf::PlanRelink(env, planned.tree, any));
    if (planned.plan.empty()) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is not a dynamically linked ELF file", path.str()));
    }
  }
  return planned;
}

RelinkItem ItemOf(const PlannedPath& planned, const elf::FileChange& change, elf::Writer writer) {
  RelinkItem item{.file = planned.tree.root / change.file,
                  .before = change.before,
                  .after = change.after,
                  .tier = std::string(elf::WriteTierName(change.tier)),
                  .bytes_to_write = change.bytes_to_write,
                  .bytes_grown = change.bytes_grown};
  if (writer == elf::Writer::kLief && change.tier != elf::WriteTier::kNothing) {
    const TreeEntry* entry = planned.tree.Find(change.file.str());
    item.tier = "rewrite";
    item.bytes_to_write = entry == nullptr ? 0 : entry->size_bytes;
    item.bytes_grown = 0;
  }
  return item;
}

/// The sizes of rewritten files, which only the writer knows.
void CountRewritten(std::vector<RelinkItem>& items, const StagedTree& tree) {
  for (RelinkItem& item : items) {
    const auto name = item.file.RelativeTo(tree.root);
    const TreeEntry* entry = name ? tree.Find(name->str()) : nullptr;
    if (item.tier != "rewrite" || entry == nullptr) continue;
    item.bytes_grown = entry->size_bytes - std::min(entry->size_bytes, item.bytes_to_write);
    item.bytes_to_write = entry->size_bytes;
  }
}

}  // namespace

Result<std::vector<RelinkItem>> Relink(Env& env, const RelinkRequest& request) {
  PTPKG_TRY(const elf::RelinkOptions options, OptionsOf(env, request));
  std::vector<PlannedPath> all;
  std::vector<RelinkItem> items;
  std::set<AbsPath> named;
  for (const AbsPath& path : request.paths) {
    PTPKG_TRY(PlannedPath planned, PlanPath(env, path, request, options));
    for (const elf::FileChange& change : planned.plan) {
      if (!named.insert(planned.tree.root / change.file).second) {
        return Error(ErrorCode::kUsage,
                     fmt::format("'{}' is given twice", (planned.tree.root / change.file).str()))
            .WithHint("a directory includes all files below it");
      }
      items.push_back(ItemOf(planned, change, request.apply.writer));
    }
    all.push_back(std::move(planned));
  }
  if (request.plan_only) return items;
  for (std::size_t i = 0; i < all.size(); ++i) {
    Task task(env.reporter, {.stage = "relink", .subject = std::string(request.paths[i].Name())});
    PTPKG_CHECK(elf::ApplyRelink(env, all[i].tree, all[i].plan, request.apply));
    CountRewritten(items, all[i].tree);
    task.Done();
  }
  return items;
}

std::vector<std::string> LayoutNames() { return convert::BuiltInLayoutNames(); }

std::vector<std::string> DescribeChanges(const elf::LinkFacts& before, const elf::LinkFacts& after) {
  std::vector<std::string> lines;
  const auto compare = [&](std::string_view what, const std::string& old_text, const std::string& new_text) {
    if (old_text != new_text) lines.push_back(fmt::format("{}: {} → {}", what, old_text, new_text));
  };
  compare("rpath", Shown(PathText(before.rpath)), Shown(PathText(after.rpath)));
  compare("runpath", Shown(PathText(before.runpath)), Shown(PathText(after.runpath)));
  compare("needed", Join(before.needed, " "), Join(after.needed, " "));
  compare("soname", Shown(before.soname), Shown(after.soname));
  compare("interpreter", Shown(before.interpreter), Shown(after.interpreter));
  compare("stack", std::string(StackText(before.stack)), std::string(StackText(after.stack)));
  compare("version requirements", Join(before.version_files, " "), Join(after.version_files, " "));
  compare("flags_1", fmt::format("{:#x}", before.flags_1), fmt::format("{:#x}", after.flags_1));
  compare("debug entry", before.has_debug_entry ? "yes" : "no", after.has_debug_entry ? "yes" : "no");
  return lines;
}

Json LinkFactsToJson(const elf::LinkFacts& facts) {
  Json stack = nullptr;
  if (facts.stack != elf::StackFlag::kUnstated) stack = facts.stack == elf::StackFlag::kExecutable;
  return {{"rpath", TextOrNull(PathText(facts.rpath))},
          {"runpath", TextOrNull(PathText(facts.runpath))},
          {"needed", facts.needed},
          {"soname", TextOrNull(facts.soname)},
          {"interpreter", TextOrNull(facts.interpreter)},
          {"execstack", stack}};
}

}  // namespace ptpkg::pipeline
