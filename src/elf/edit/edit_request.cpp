// ResolveEdits: turns options of the command line into edits of one file. Layer: elf.
//
// Relative requests (add, shrink) need the file's present path, hence each file gets edits of its own.
// Requests that do not fit a file are dropped: a SONAME is only for libraries, and a search path only for
// files with a dynamic section.

#include "elf/edit/edit_request.h"

#include "elf/load/search_path.h"
#include "elf/load/shrink.h"

namespace ptpkg::elf {
namespace {

/// The text after a set, add or shrink; nullopt when there is nothing to write.
Result<std::optional<std::string>> NewPath(Fs& fs, const EditRequest& request, const Image& image,
                                           const LinkFacts& facts) {
  const auto& current = facts.Effective();
  switch (request.path_action) {
    case PathAction::kKeep:
    case PathAction::kRemove:
      return std::optional<std::string>();
    case PathAction::kSet:
      // No path and an empty one mean the same to the loader: no entry is added for it.
      if (request.path_text.empty() && !current) return std::optional<std::string>();
      return std::optional<std::string>(request.path_text);
    case PathAction::kAdd: {
      // An empty part would make ld.so search the working directory.
      if (request.path_text.empty())
        return current ? std::optional<std::string>(current->text) : std::optional<std::string>();
      if (!current || current->text.empty()) return std::optional<std::string>(request.path_text);
      return std::optional<std::string>(current->text + ":" + request.path_text);
    }
    case PathAction::kShrink:
      break;
  }
  if (!current) return std::optional<std::string>();
  PTPKG_TRY(const auto kept, ShrinkSearchPath(fs, {.entries = SplitSearchPath(current->text),
                                                   .needed = facts.needed,
                                                   .machine = image.header.machine,
                                                   .allowed_prefixes = request.allowed_prefixes}));
  return std::optional<std::string>(JoinSearchPath(kept));
}

}  // namespace

Result<Edits> ResolveEdits(Fs& fs, const EditRequest& request, const Image& image, const LinkFacts& facts) {
  Edits edits;
  edits.blank = request.blank;
  PTPKG_TRY(const auto path, NewPath(fs, request, image, facts));
  if (path && image.dynamic) {
    // With an empty DT_RUNPATH, unlike an empty DT_RPATH, the loader ignores the DT_RPATH of loading files.
    const auto& current = facts.Effective();
    const bool stays_rpath = path->empty() && current && current->tag == PathTag::kRpath;
    const PathTag tag = request.rpath_tag || stays_rpath ? PathTag::kRpath : PathTag::kRunpath;
    edits.search_path = SearchPath{.tag = tag, .text = *path};
  }
  edits.remove_search_path = request.path_action == PathAction::kRemove;
  if (image.header.type == kTypeDyn) edits.soname = request.soname;
  edits.interpreter = request.interpreter;
  edits.add_needed = request.add_needed;
  edits.remove_needed = request.remove_needed;
  for (const auto& [from, to] : request.replace_needed) edits.replace_needed[from] = to;
  edits.executable_stack = request.executable_stack;
  edits.no_default_libraries = request.no_default_libraries;
  edits.add_debug_entry = request.add_debug_entry;
  edits.allow_strip_hazard = request.allow_strip_hazard;
  edits.allow_payload = request.allow_payload;
  return edits;
}

}  // namespace ptpkg::elf
