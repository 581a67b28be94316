// Idea: an edit changes a copy of the dynamic entries and version records. A changed text becomes a wish for
// a string, and string_placement.h finds its place in .dynstr. The copy also lists the strings that lose a
// user (`released`) and those that keep one (`kept`), so that only strings without users are overwritten.

#include "elf/edit/new_dynamic.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "elf/load/search_path.h"
#include "elf/load/self_loading.h"

namespace ptpkg::elf {
namespace {

bool IsPathTag(std::uint64_t tag) { return tag == kDtRpath || tag == kDtRunpath; }

bool HasText(std::uint64_t tag) { return tag == kDtNeeded || tag == kDtSoname || IsPathTag(tag); }

bool PointsToString(std::uint64_t tag) {
  static constexpr std::array kOthers = {kDtConfig, kDtDepaudit, kDtAudit, kDtAuxiliary, kDtFilter};
  return HasText(tag) || std::find(kOthers.begin(), kOthers.end(), tag) != kOthers.end();
}

std::uint64_t TagValue(PathTag tag) { return tag == PathTag::kRpath ? kDtRpath : kDtRunpath; }

/// Reads the entries and version records of the file.
Result<NewDynamicState> ReadDynamicState(File& file, const Image& image) {
  NewDynamicState state;
  PTPKG_TRY(state.before, ReadLinkFacts(file, image));
  if (!image.dynamic) return state;
  for (std::size_t i = 0; i < image.dynamic->entries.size(); ++i) {
    NewDynamicEntry entry{.entry = image.dynamic->entries[i], .old_index = i, .text = {}, .wish = {}};
    if (HasText(entry.entry.tag)) {
      PTPKG_TRY(entry.text, ReadDynamicString(file, image, entry.entry.value, "a dynamic entry"));
    }
    state.entries.push_back(std::move(entry));
  }
  PTPKG_TRY(VersionNeeds needs, ReadVersionNeeds(file, image));
  state.needs_range = needs.range;
  for (VersionNeed& need : needs.records) {
    PTPKG_TRY(std::string text, ReadDynamicString(file, image, need.name, "a version requirement"));
    state.needs.push_back({.need = std::move(need), .text = std::move(text), .wish = {}});
  }
  return state;
}

std::vector<NewDynamicEntry>::iterator FindEntry(std::uint64_t tag, NewDynamicState& state) {
  return std::find_if(state.entries.begin(), state.entries.end(),
                      [&](const NewDynamicEntry& e) { return e.entry.tag == tag; });
}

void Release(std::uint64_t offset, NewDynamicState& state) { state.released.push_back(offset); }

std::size_t RequestString(const std::string& text, std::optional<std::uint64_t> supersedes,
                          NewDynamicState& state) {
  auto it =
      std::find_if(state.wishes.begin(), state.wishes.end(), [&](const auto& w) { return w.text == text; });
  if (it == state.wishes.end()) it = state.wishes.insert(it, StringRequest{.text = text, .supersedes = {}});
  if (supersedes) {
    it->supersedes.push_back(*supersedes);
    Release(*supersedes, state);
  }
  return static_cast<std::size_t>(it - state.wishes.begin());
}

void Retext(NewDynamicEntry& entry, const std::string& text, NewDynamicState& state) {
  if (entry.text == text) return;
  entry.text = text;
  entry.wish = RequestString(text, entry.entry.value, state);
}

void AppendEntry(std::uint64_t tag, const std::string& text, NewDynamicState& state) {
  state.entries.push_back(
      {.entry = {.tag = tag}, .old_index = {}, .text = text, .wish = RequestString(text, {}, state)});
}

template <class Predicate>
void EraseEntries(Predicate predicate, NewDynamicState& state) {
  for (const NewDynamicEntry& entry : state.entries) {
    if (predicate(entry) && PointsToString(entry.entry.tag) && !entry.wish) Release(entry.entry.value, state);
  }
  std::erase_if(state.entries, predicate);
}

void SetSearchPath(const SearchPath& path, NewDynamicState& state) {
  auto keep = FindEntry(kDtRunpath, state);
  if (keep == state.entries.end()) keep = FindEntry(kDtRpath, state);
  if (keep == state.entries.end()) {
    AppendEntry(TagValue(path.tag), path.text, state);
    return;
  }
  keep->entry.tag = TagValue(path.tag);
  Retext(*keep, path.text, state);
  const std::optional<std::size_t> kept = keep->old_index;
  EraseEntries([&](const NewDynamicEntry& e) { return IsPathTag(e.entry.tag) && e.old_index != kept; },
               state);
}

void RemoveSearchPath(NewDynamicState& state) {
  EraseEntries([](const NewDynamicEntry& e) { return IsPathTag(e.entry.tag); }, state);
}

void ReplaceNeeded(const std::map<std::string, std::string>& names, NewDynamicState& state) {
  for (NewDynamicEntry& entry : state.entries) {
    if (entry.entry.tag != kDtNeeded) continue;
    if (const auto it = names.find(entry.text); it != names.end()) Retext(entry, it->second, state);
  }
  for (NewVersionNeed& need : state.needs) {
    const auto it = names.find(need.text);
    if (need.is_removed || it == names.end() || it->second == need.text) continue;
    need.text = it->second;
    need.wish = RequestString(it->second, need.need.name, state);
    state.needs_changed_ = true;
  }
}

void RemoveNeeded(const std::vector<std::string>& names, NewDynamicState& state) {
  const auto named = [&](const std::string& text) {
    return std::find(names.begin(), names.end(), text) != names.end();
  };
  EraseEntries([&](const NewDynamicEntry& e) { return e.entry.tag == kDtNeeded && named(e.text); }, state);
  for (NewVersionNeed& need : state.needs) need.is_removed = named(need.text);
}

/// Drops the version requirements on removed libraries, unless another edit made the library needed again.
void DropVersionNeeds(NewDynamicState& state) {
  const auto is_dropped = [&](const NewVersionNeed& need) {
    return need.is_removed && std::none_of(state.entries.begin(), state.entries.end(), [&](const auto& e) {
             return e.entry.tag == kDtNeeded && e.text == need.text;
           });
  };
  for (const NewVersionNeed& need : state.needs) {
    if (!is_dropped(need)) continue;
    Release(need.need.name, state);
    state.needs_changed_ = true;
    for (const auto& version : need.need.versions) {
      Release(version.name, state);
      state.dropped_versions.insert(static_cast<std::uint16_t>(version.index & 0x7fffU));
    }
  }
  std::erase_if(state.needs, is_dropped);
}

/// A library that is needed already moves: symbols are searched in this order, so a name that asks for the
/// front must not stay behind others.
void AddNeeded(const std::vector<std::string>& names, NewDynamicState& state) {
  std::ptrdiff_t at = 0;  // The names before it are done.
  for (const std::string& name : names) {
    const auto is_needed = [](const NewDynamicEntry& e) { return e.entry.tag == kDtNeeded; };
    const auto same = [&](const NewDynamicEntry& e) { return is_needed(e) && e.text == name; };
    const auto front = state.entries.begin() + at;
    if (std::any_of(state.entries.begin(), front, same)) continue;
    const auto old = std::find_if(front, state.entries.end(), same);
    if (old != state.entries.end()) {
      const auto first = std::find_if(front, old, is_needed);
      std::rotate(first, old, old + 1);
      at = first - state.entries.begin() + 1;
      continue;
    }
    NewDynamicEntry entry{
        .entry = {.tag = kDtNeeded}, .old_index = {}, .text = name, .wish = RequestString(name, {}, state)};
    state.entries.insert(state.entries.begin() + at++, std::move(entry));
  }
}

void SetSoname(const std::string& name, NewDynamicState& state) {
  const auto it = FindEntry(kDtSoname, state);
  if (it == state.entries.end()) {
    AppendEntry(kDtSoname, name, state);
  } else {
    Retext(*it, name, state);
  }
}

void SetNoDefaultLibraries(NewDynamicState& state) {
  auto it = FindEntry(kDtFlags1, state);
  if (it == state.entries.end()) {
    it = state.entries.insert(it, {.entry = {.tag = kDtFlags1}, .old_index = {}, .text = {}, .wish = {}});
  }
  it->entry.value |= kFlag1NoDefaultLibraries;
}

void AddDebugEntry(NewDynamicState& state) {
  if (FindEntry(kDtDebug, state) != state.entries.end()) return;
  state.entries.push_back({.entry = {.tag = kDtDebug}, .old_index = {}, .text = {}, .wish = {}});
}

/// Carries out the edits of entries and version records, in the order that Edits documents.
void EditEntries(const Edits& edits, NewDynamicState& state) {
  if (edits.search_path) SetSearchPath(*edits.search_path, state);
  if (edits.remove_search_path) RemoveSearchPath(state);
  RemoveNeeded(edits.remove_needed, state);
  ReplaceNeeded(edits.replace_needed, state);
  AddNeeded(edits.add_needed, state);
  DropVersionNeeds(state);
  if (edits.soname) SetSoname(*edits.soname, state);
  if (edits.no_default_libraries) SetNoDefaultLibraries(state);
  if (edits.add_debug_entry) AddDebugEntry(state);
}

/// ld.so expands tokens in NEEDED, and not in the version records, so it would not find the library of a
/// record again, and abort.
Result<void> CheckVersionNames(const NewDynamicState& state) {
  for (const NewVersionNeed& need : state.needs) {
    if (!need.wish || !UsesAnyToken(need.text)) continue;
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the file requires symbol versions of a library that would be needed as '{}', "
                             "but ld.so expands no $ORIGIN in the names of version requirements",
                             need.text))
        .WithHint("keep the plain name, and add the directory to the search path");
  }
  return Ok();
}

/// DT_VERNEED follows the records: its address is set by the planner, its count and presence here.
void CountNeeds(bool has_definitions, NewDynamicState& state) {
  if (!state.needs_changed_) return;
  for (NewDynamicEntry& entry : state.entries) {
    if (entry.entry.tag == kDtVerneednum) entry.entry.value = state.needs.size();
  }
  if (!state.needs.empty()) return;
  // Without any version record ld.so has no table for .gnu.version to index.
  EraseEntries(
      [&](const NewDynamicEntry& e) {
        return e.entry.tag == kDtVerneed || e.entry.tag == kDtVerneednum ||
               (e.entry.tag == kDtVersym && !has_definitions);
      },
      state);
}

void SortUnique(std::vector<std::uint64_t>& offsets) {
  std::sort(offsets.begin(), offsets.end());
  offsets.erase(std::unique(offsets.begin(), offsets.end()), offsets.end());
}

/// Offsets of the strings that stay in use: NewDynamicState::kept.
Result<std::vector<std::uint64_t>> KeptStrings(File& file, const Image& image, const NewDynamicState& state) {
  std::vector<std::uint64_t> kept;
  for (const NewDynamicEntry& entry : state.entries) {
    if (PointsToString(entry.entry.tag) && !entry.wish) kept.push_back(entry.entry.value);
  }
  for (const NewVersionNeed& need : state.needs) {
    if (!need.wish) kept.push_back(need.need.name);
    for (const auto& version : need.need.versions) kept.push_back(version.name);
  }
  PTPKG_TRY(const auto definitions, ReadVersionDefinitions(file, image));
  for (const VersionDefinition& one : definitions)
    kept.insert(kept.end(), one.names.begin(), one.names.end());
  SortUnique(kept);
  return kept;
}

/// Gives up entries that only make the loader faster (counts of relative relocations, which it then handles
/// one by one) where a new one finds no free slot: .dynamic would have to move, away from who reads it by
/// _DYNAMIC.
void DropOptionalEntries(std::size_t capacity, NewDynamicState& state) {
  const auto is_expendable = [](const NewDynamicEntry& e) {
    return e.entry.tag == kDtRelacount || e.entry.tag == kDtRelcount;
  };
  const auto expendable =
      static_cast<std::size_t>(std::count_if(state.entries.begin(), state.entries.end(), is_expendable));
  const std::size_t size = state.entries.size();
  if (size >= capacity && size - expendable < capacity) EraseEntries(is_expendable, state);
}

/// Facts that a re-read must find after the edit.
LinkFacts FactsAfter(const NewDynamicState& state) {
  LinkFacts after;
  after.interpreter = state.interpreter ? state.interpreter : state.before.interpreter;
  after.stack = state.before.stack;
  if (state.executable_stack) {
    after.stack = *state.executable_stack ? StackFlag::kExecutable : StackFlag::kNotExecutable;
  }
  for (const NewDynamicEntry& entry : state.entries) {
    switch (entry.entry.tag) {
      case kDtNeeded:
        after.needed.push_back(entry.text);
        break;
      case kDtSoname:
        after.soname = entry.text;
        break;
      case kDtFlags1:
        after.flags_1 = entry.entry.value;
        break;
      case kDtDebug:
        after.has_debug_entry = true;
        break;
      case kDtRpath:
        after.rpath = SearchPath{.tag = PathTag::kRpath, .text = entry.text};
        break;
      case kDtRunpath:
        after.runpath = SearchPath{.tag = PathTag::kRunpath, .text = entry.text};
        break;
      default:
        break;
    }
  }
  for (const NewVersionNeed& need : state.needs) after.version_files.push_back(need.text);
  return after;
}

Result<void> CheckTexts(const Edits& edits) {
  const auto check = [](const std::string& text, std::string_view what) -> Result<void> {
    if (text.find('\0') == std::string::npos) return Ok();
    return Error(ErrorCode::kInvalidInput, fmt::format("the new {} contains a NUL byte", what));
  };
  if (edits.search_path) PTPKG_CHECK(check(edits.search_path->text, "search path"));
  if (edits.soname) PTPKG_CHECK(check(*edits.soname, "SONAME"));
  if (edits.interpreter) PTPKG_CHECK(check(*edits.interpreter, "interpreter"));
  for (const auto& [from, to] : edits.replace_needed) PTPKG_CHECK(check(to, "NEEDED name"));
  for (const std::string& name : edits.add_needed) PTPKG_CHECK(check(name, "NEEDED name"));
  return Ok();
}

bool TouchesDynamic(const Edits& edits) {
  return edits.search_path || !edits.replace_needed.empty() || !edits.add_needed.empty() || edits.soname;
}

Result<void> ComputeSegments(const Edits& edits, NewDynamicState& state) {
  if (edits.interpreter && edits.interpreter != state.before.interpreter) {
    if (!state.before.interpreter) {
      return Error(ErrorCode::kUnsupported, "the file has no interpreter")
          .WithHint("only dynamically linked programs have an interpreter");
    }
    if (edits.interpreter->empty() || edits.interpreter->size() >= kMaxInterpreterBytes) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("interpreter names have 1 to {} bytes, but the new one has {}",
                               kMaxInterpreterBytes - 1, edits.interpreter->size()));
    }
    state.interpreter = edits.interpreter;
  }
  if (edits.executable_stack) {
    const StackFlag wanted = *edits.executable_stack ? StackFlag::kExecutable : StackFlag::kNotExecutable;
    if (wanted != state.before.stack) state.executable_stack = edits.executable_stack;
  }
  return Ok();
}

/// Refuses self-relocating files: they abort on a search path; a loader also reads its own names before it
/// runs.
Result<void> CheckSelfLoading(File& file, const Image& image, const Edits& edits) {
  const bool changes_names = TouchesDynamic(edits) || !edits.remove_needed.empty() || edits.add_debug_entry ||
                             edits.no_default_libraries;
  if (!changes_names) return Ok();
  PTPKG_TRY(const std::string kind, SelfLoadingKind(file, image));
  if (kind.empty() || (IsStaticPie(image) && !edits.search_path)) return Ok();
  return Error(ErrorCode::kUnsupported, "the file is " + kind)
      .WithHint("it loads itself and would abort at start-up with a search path");
}

}  // namespace

Result<NewDynamicState> ComputeNewDynamic(File& file, const Image& image, const Edits& edits) {
  PTPKG_CHECK(CheckTexts(edits));
  if (!image.dynamic && TouchesDynamic(edits)) {
    return Error(ErrorCode::kUnsupported, "the file has no dynamic section")
        .WithHint("statically linked programs, objects and debug files have no search path");
  }
  PTPKG_CHECK(CheckSelfLoading(file, image, edits));
  PTPKG_TRY(NewDynamicState state, ReadDynamicState(file, image));
  state.blank = edits.blank;
  PTPKG_CHECK(ComputeSegments(edits, state));
  if (image.dynamic) {
    EditEntries(edits, state);
    PTPKG_CHECK(CheckVersionNames(state));
    CountNeeds(image.dynamic->Find(kDtVerdef).has_value(), state);
    DropOptionalEntries(image.dynamic->capacity, state);
    PTPKG_TRY(state.kept, KeptStrings(file, image, state));
    SortUnique(state.released);
  }
  state.after = FactsAfter(state);
  return state;
}

}  // namespace ptpkg::elf
