#pragma once
// Computes the new dynamic section of an edit. Layer: elf, private to it.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "elf/edit/edit.h"

namespace ptpkg::elf {

struct NewDynamicEntry {
  DynamicEntry entry;                    ///< `value` is final unless `wish` is set.
  std::optional<std::size_t> old_index;  ///< Its current index; empty for a new one.
  std::string text;                      ///< String of NEEDED, SONAME, RPATH and RUNPATH.
  std::optional<std::size_t> wish;       ///< Index of the string that it wants.
};

struct NewVersionNeed {
  VersionNeed need;
  std::string text;
  std::optional<std::size_t> wish;
  bool is_removed = false;  ///< Its library is in Edits::remove_needed.
};

/// A string that must be found a place, and the strings that it supersedes.
struct StringRequest {
  std::string text;
  std::vector<std::uint64_t> supersedes;  ///< Offsets in .dynstr.
};

struct NewDynamicState {
  std::vector<NewDynamicEntry> entries;
  std::vector<NewVersionNeed> needs;
  MappedRange needs_range;                   ///< Current range of .gnu.version_r.
  std::set<std::uint16_t> dropped_versions;  ///< Indices in .gnu.version that lose their meaning.
  std::vector<StringRequest> wishes;
  std::vector<std::uint64_t> released;     ///< String offsets that lose a user; sorted, unique.
  std::vector<std::uint64_t> kept;         ///< String offsets in use afterwards, other than by symbols.
  std::optional<std::string> interpreter;  ///< Only if it changes.
  std::optional<bool> executable_stack;    ///< Only if it changes.
  char blank = '\0';                       ///< Edits::blank.
  LinkFacts before;
  LinkFacts after;

  [[nodiscard]] bool NeedsChanged() const { return needs_changed_; }
  bool needs_changed_ = false;
};

/// Errors: kUnsupported, kCorrupt, kInvalidInput, kIo, as PlanEdit.
Result<NewDynamicState> ComputeNewDynamic(File& file, const Image& image, const Edits& edits);

}  // namespace ptpkg::elf
