#pragma once
// Relative edits (add, shrink, replace) resolved against a file. Layer: elf. Source: patchelf 0.19 for the
// effect and the order of the edits.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "elf/edit/edit.h"

namespace ptpkg::elf {

enum class PathAction : std::uint8_t { kKeep, kSet, kAdd, kRemove, kShrink };

struct EditRequest {
  PathAction path_action = PathAction::kKeep;
  std::string path_text = {};                      ///< kSet: the whole path; kAdd: appended unless empty.
  std::vector<std::string> allowed_prefixes = {};  ///< kShrink: ShrinkInput::allowed_prefixes.
  /// Tag of a written path: DT_RPATH, else DT_RUNPATH. A DT_RPATH that becomes empty keeps its tag.
  bool rpath_tag = false;

  std::optional<std::string> interpreter = {};
  std::optional<std::string> soname = {};  ///< For libraries; programs stay unchanged.
  std::vector<std::string> add_needed = {};
  std::vector<std::string> remove_needed = {};
  std::vector<std::pair<std::string, std::string>> replace_needed = {};  ///< Old, new.
  std::optional<bool> executable_stack = {};
  bool no_default_libraries = false;
  bool add_debug_entry = false;
  bool allow_strip_hazard = false;  ///< Edits::allow_strip_hazard.
  bool allow_payload = false;       ///< Edits::allow_payload.
  char blank = '\0';                ///< Edits::blank.
};

/// The edits that `request` means for the file of `image` and `facts`. kShrink searches for the needed
/// libraries in the absolute directories of the path. Does not change the path of a file without dynamic
/// section. Errors: as ShrinkSearchPath.
Result<Edits> ResolveEdits(Fs& fs, const EditRequest& request, const Image& image, const LinkFacts& facts);

}  // namespace ptpkg::elf
