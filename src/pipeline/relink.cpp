#include "pipeline/relink.h"

#include <fmt/format.h>

#include "elf/layouts.h"
#include "elf/relink.h"
#include "support/staged_tree.h"
#include "support/text.h"

namespace ptpkg::pipeline {

namespace {

std::string_view TagName(elf::PathTag tag) { return tag == elf::PathTag::kRpath ? "rpath" : "runpath"; }

RelinkItem ItemOf(const AbsPath& root, const elf::PathChange& change) {
  return {.file = root / change.file,
          .old_tag = change.had_path ? std::string(TagName(change.old_tag)) : "",
          .old_path = Join(change.old_path, ":"),
          .new_tag = change.has_path ? std::string(TagName(change.new_tag)) : "",
          .new_path = Join(change.new_path, ":"),
          .tier = std::string(elf::WriteTierName(change.tier)),
          .bytes_to_write = change.bytes_to_write,
          .bytes_grown = change.bytes_grown};
}

Result<elf::RelinkOptions> OptionsOf(const RelinkRequest& request) {
  elf::RelinkOptions options;
  if (!request.layout.empty()) {
    PTPKG_TRY(options.rules, elf::BuiltInLayout(request.layout));
  } else if (request.search_path) {
    const elf::PathTag tag = request.use_rpath_tag ? elf::PathTag::kRpath : elf::PathTag::kRunpath;
    options.rules = {{.files = "**", .search_path = *request.search_path, .tag = tag}};
  }
  return options;
}

/// A single file is a tree of one: its folder with that entry only.
Result<StagedTree> TreeOf(Env& env, const AbsPath& path) {
  PTPKG_TRY(const FileStat stat, env.fs.Lstat(path));
  if (stat.kind == FileKind::kDirectory) return ScanTree(env, path, {.hash = false});
  if (stat.kind != FileKind::kRegular) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a regular file", path.str()))
        .WithHint("name the file that the link points to");
  }
  PTPKG_TRY(RelPath name, RelPath::Parse(path.Name()));
  StagedTree tree{.root = path.Parent()};
  tree.entries.push_back({.path = std::move(name), .size_bytes = stat.size_bytes});
  return tree;
}

}  // namespace

Result<std::vector<RelinkItem>> Relink(Env& env, const RelinkRequest& request) {
  if (!request.layout.empty() && request.search_path) {
    return Error(ErrorCode::kUsage, "a layout and a search path exclude each other");
  }
  PTPKG_TRY(const elf::RelinkOptions options, OptionsOf(request));
  std::vector<RelinkItem> items;
  for (const AbsPath& path : request.paths) {
    Task task(env.reporter, {.stage = "relink", .subject = std::string(path.Name())});
    PTPKG_TRY(StagedTree tree, TreeOf(env, path));
    PTPKG_TRY(const std::vector<elf::PathChange> plan, elf::PlanRelink(env, tree, options));
    if (plan.empty() && tree.entries.size() == 1) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'{}' is not a dynamically linked ELF file", path.str()));
    }
    for (const elf::PathChange& change : plan) items.push_back(ItemOf(tree.root, change));
    if (!request.plan_only) PTPKG_CHECK(elf::ApplyRelink(env, tree, plan));
    task.Done();
  }
  return items;
}

std::vector<std::string> LayoutNames() { return elf::BuiltInLayoutNames(); }

}  // namespace ptpkg::pipeline
