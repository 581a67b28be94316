#include "elf/edit/new_dynamic.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

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

class NewDynamicBuilder {
 public:
  NewDynamicBuilder(File& file, const Image& image, NewDynamicState& state)
      : file_(file), image_(image), state_(state) {}

  Result<void> Load() {
    PTPKG_TRY(state_.before, ReadLinkFacts(file_, image_));
    if (!image_.dynamic) return Ok();
    for (std::size_t i = 0; i < image_.dynamic->entries.size(); ++i) {
      NewDynamicEntry entry{.entry = image_.dynamic->entries[i], .old_index = i, .text = {}, .wish = {}};
      if (HasText(entry.entry.tag)) {
        PTPKG_TRY(entry.text, ReadDynamicString(file_, image_, entry.entry.value, "a dynamic entry"));
      }
      state_.entries.push_back(std::move(entry));
    }
    PTPKG_TRY(VersionNeeds needs, ReadVersionNeeds(file_, image_));
    state_.needs_range = needs.range;
    for (VersionNeed& need : needs.records) {
      PTPKG_TRY(std::string text, ReadDynamicString(file_, image_, need.name, "a version requirement"));
      state_.needs.push_back({.need = std::move(need), .text = std::move(text), .wish = {}});
    }
    return Ok();
  }

  void SetSearchPath(const SearchPath& path) {
    auto keep = FindTag(kDtRunpath);
    if (keep == state_.entries.end()) keep = FindTag(kDtRpath);
    if (keep == state_.entries.end()) {
      Append(TagValue(path.tag), path.text);
      return;
    }
    keep->entry.tag = TagValue(path.tag);
    Retext(*keep, path.text);
    const std::optional<std::size_t> kept = keep->old_index;
    Erase([&](const NewDynamicEntry& e) { return IsPathTag(e.entry.tag) && e.old_index != kept; });
  }

  void RemoveSearchPath() {
    Erase([](const NewDynamicEntry& e) { return IsPathTag(e.entry.tag); });
  }

  void ReplaceNeeded(const std::map<std::string, std::string>& names) {
    for (NewDynamicEntry& entry : state_.entries) {
      if (entry.entry.tag != kDtNeeded) continue;
      if (const auto it = names.find(entry.text); it != names.end()) Retext(entry, it->second);
    }
    for (NewVersionNeed& need : state_.needs) {
      const auto it = names.find(need.text);
      if (it == names.end() || it->second == need.text) continue;
      need.text = it->second;
      need.wish = RequestString(it->second, need.need.name);
      state_.needs_changed_ = true;
    }
  }

  void RemoveNeeded(const std::vector<std::string>& names) {
    const auto named = [&](const std::string& text) {
      return std::find(names.begin(), names.end(), text) != names.end();
    };
    Erase([&](const NewDynamicEntry& e) { return e.entry.tag == kDtNeeded && named(e.text); });
    for (const NewVersionNeed& need : state_.needs) {
      if (!named(need.text)) continue;
      Release(need.need.name);
      state_.needs_changed_ = true;
      for (const auto& version : need.need.versions) {
        Release(version.name);
        state_.dropped_versions.insert(static_cast<std::uint16_t>(version.index & 0x7fffU));
      }
    }
    std::erase_if(state_.needs, [&](const NewVersionNeed& need) { return named(need.text); });
  }

  void AddNeeded(const std::vector<std::string>& names) {
    std::size_t at = 0;
    for (const std::string& name : names) {
      const auto same = [&](const NewDynamicEntry& e) { return e.entry.tag == kDtNeeded && e.text == name; };
      if (std::any_of(state_.entries.begin(), state_.entries.end(), same)) continue;
      NewDynamicEntry entry{
          .entry = {.tag = kDtNeeded}, .old_index = {}, .text = name, .wish = RequestString(name, {})};
      state_.entries.insert(state_.entries.begin() + static_cast<std::ptrdiff_t>(at++), std::move(entry));
    }
  }

  void SetSoname(const std::string& name) {
    const auto it = FindTag(kDtSoname);
    if (it == state_.entries.end()) {
      Append(kDtSoname, name);
    } else {
      Retext(*it, name);
    }
  }

  void SetNoDefaultLibraries() {
    auto it = FindTag(kDtFlags1);
    if (it == state_.entries.end()) {
      it = state_.entries.insert(it, {.entry = {.tag = kDtFlags1}, .old_index = {}, .text = {}, .wish = {}});
    }
    it->entry.value |= kFlag1NoDefaultLibraries;
  }

  void AddDebugEntry() {
    if (FindTag(kDtDebug) != state_.entries.end()) return;
    state_.entries.push_back({.entry = {.tag = kDtDebug}, .old_index = {}, .text = {}, .wish = {}});
  }

  /// DT_VERNEED follows the records: its address is set by the planner, its count and presence here.
  void CountNeeds(bool has_definitions) {
    if (!state_.needs_changed_) return;
    for (NewDynamicEntry& entry : state_.entries) {
      if (entry.entry.tag == kDtVerneednum) entry.entry.value = state_.needs.size();
    }
    if (!state_.needs.empty()) return;
    // Without any version record ld.so has no table for .gnu.version to index.
    Erase([&](const NewDynamicEntry& e) {
      return e.entry.tag == kDtVerneed || e.entry.tag == kDtVerneednum ||
             (e.entry.tag == kDtVersym && !has_definitions);
    });
  }

  Result<void> CollectUses() {
    for (const NewDynamicEntry& entry : state_.entries) {
      if (PointsToString(entry.entry.tag) && !entry.wish) state_.kept.push_back(entry.entry.value);
    }
    for (const NewVersionNeed& need : state_.needs) {
      if (!need.wish) state_.kept.push_back(need.need.name);
      for (const auto& version : need.need.versions) state_.kept.push_back(version.name);
    }
    PTPKG_TRY(const auto names, ReadVersionDefinitionNames(file_, image_));
    state_.kept.insert(state_.kept.end(), names.begin(), names.end());
    for (std::vector<std::uint64_t>* uses : {&state_.kept, &state_.released}) {
      std::sort(uses->begin(), uses->end());
      uses->erase(std::unique(uses->begin(), uses->end()), uses->end());
    }
    return Ok();
  }

  /// Gives up entries that only make the loader faster (counts of relative relocations, which it then handles
  /// one by one) where a new one finds no free slot: .dynamic would have to move, away from who reads it by
  /// _DYNAMIC.
  void DropOptionalEntries() {
    const std::size_t capacity = image_.dynamic->capacity;
    const auto is_expendable = [](const NewDynamicEntry& e) {
      return e.entry.tag == kDtRelacount || e.entry.tag == kDtRelcount;
    };
    const auto expendable =
        static_cast<std::size_t>(std::count_if(state_.entries.begin(), state_.entries.end(), is_expendable));
    const std::size_t size = state_.entries.size();
    if (size >= capacity && size - expendable < capacity) Erase(is_expendable);
  }

  void DeriveFacts() {
    LinkFacts& after = state_.after;
    after.interpreter = state_.interpreter ? state_.interpreter : state_.before.interpreter;
    after.stack = state_.before.stack;
    if (state_.executable_stack) {
      after.stack = *state_.executable_stack ? StackFlag::kExecutable : StackFlag::kNotExecutable;
    }
    for (const NewDynamicEntry& entry : state_.entries) {
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
    for (const NewVersionNeed& need : state_.needs) after.version_files.push_back(need.text);
  }

 private:
  std::vector<NewDynamicEntry>::iterator FindTag(std::uint64_t tag) {
    return std::find_if(state_.entries.begin(), state_.entries.end(),
                        [&](const NewDynamicEntry& e) { return e.entry.tag == tag; });
  }

  void Release(std::uint64_t offset) { state_.released.push_back(offset); }

  std::size_t RequestString(const std::string& text, std::optional<std::uint64_t> supersedes) {
    auto it = std::find_if(state_.wishes.begin(), state_.wishes.end(),
                           [&](const auto& w) { return w.text == text; });
    if (it == state_.wishes.end())
      it = state_.wishes.insert(it, StringRequest{.text = text, .supersedes = {}});
    if (supersedes) {
      it->supersedes.push_back(*supersedes);
      Release(*supersedes);
    }
    return static_cast<std::size_t>(it - state_.wishes.begin());
  }

  void Retext(NewDynamicEntry& entry, const std::string& text) {
    if (entry.text == text) return;
    entry.text = text;
    entry.wish = RequestString(text, entry.entry.value);
  }

  void Append(std::uint64_t tag, const std::string& text) {
    state_.entries.push_back(
        {.entry = {.tag = tag}, .old_index = {}, .text = text, .wish = RequestString(text, {})});
  }

  template <class Predicate>
  void Erase(Predicate predicate) {
    for (const NewDynamicEntry& entry : state_.entries) {
      if (predicate(entry) && PointsToString(entry.entry.tag) && !entry.wish) Release(entry.entry.value);
    }
    std::erase_if(state_.entries, predicate);
  }

  File& file_;
  const Image& image_;
  NewDynamicState& state_;
};

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
  NewDynamicState state;
  state.blank = edits.blank;
  NewDynamicBuilder desire(file, image, state);
  PTPKG_CHECK(desire.Load());
  PTPKG_CHECK(ComputeSegments(edits, state));
  if (image.dynamic) {
    if (edits.search_path) desire.SetSearchPath(*edits.search_path);
    if (edits.remove_search_path) desire.RemoveSearchPath();
    desire.ReplaceNeeded(edits.replace_needed);
    desire.RemoveNeeded(edits.remove_needed);
    desire.AddNeeded(edits.add_needed);
    if (edits.soname) desire.SetSoname(*edits.soname);
    if (edits.no_default_libraries) desire.SetNoDefaultLibraries();
    if (edits.add_debug_entry) desire.AddDebugEntry();
    desire.CountNeeds(image.dynamic->Find(kDtVerdef).has_value());
    desire.DropOptionalEntries();
    PTPKG_CHECK(desire.CollectUses());
  }
  desire.DeriveFacts();
  return state;
}

}  // namespace ptpkg::elf
