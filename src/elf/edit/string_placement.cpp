// Decides where each new string of .dynstr goes.
//
// In this order: over the string that it replaces, where equal text is already in the table (also the tail
// of a longer string), in spare NULs at the end, behind the end. The order matters: all reused slots are
// chosen and all released strings are blanked before other places are searched. Otherwise FindString could
// return text that this same edit erases, and `avoid_` lists these ranges.
//
// A superseded string is erased unless something else uses it: old build paths must not survive, even in
// unused bytes.

#include "elf/edit/string_placement.h"

#include <algorithm>
#include <utility>

namespace ptpkg::elf {
namespace {

class Placer {
 public:
  Placer(File& file, const Image& image, const NewDynamicState& state, SlotReuse reuse)
      : file_(file), image_(image), state_(state), reuse_(reuse) {}

  Result<Placement> Run() {
    if (state_.wishes.empty() && state_.released.empty()) return Placement();
    PTPKG_TRY(StringSlots found, ExamineStrings(file_, image_, state_.released, state_.kept));
    slots_ = std::move(found.slots);
    spare_begin_ = found.spare_begin;
    placement_.offsets.assign(state_.wishes.size(), 0);
    std::vector<bool> placed(state_.wishes.size(), false);
    if (reuse_ == SlotReuse::kAllowed) {
      for (std::size_t i = 0; i < state_.wishes.size(); ++i) placed[i] = ReuseOwnSlot(i);
    }
    BlankReleasedStrings();
    for (std::size_t i = 0; i < state_.wishes.size(); ++i) {
      if (!placed[i]) PTPKG_CHECK(PlaceElsewhere(i));
    }
    return std::move(placement_);
  }

 private:
  bool ReuseOwnSlot(std::size_t index) {
    const StringRequest& wish = state_.wishes[index];
    for (StringSlot& slot : slots_) {
      const bool own =
          std::find(wish.supersedes.begin(), wish.supersedes.end(), slot.offset) != wish.supersedes.end();
      // A visible blank marks what is superseded, so strings only shrink in their place then.
      const std::uint64_t room = state_.blank == '\0' ? slot.room : std::min(slot.room, slot.length);
      if (!own || slot.shared || room < wish.text.size()) continue;
      std::string bytes = wish.text;
      bytes.resize(std::max<std::size_t>(wish.text.size(), slot.length), '\0');
      Avoid(slot.offset, slot.offset + bytes.size() + 1);
      placement_.strings.push_back({.offset = slot.offset, .bytes = std::move(bytes)});
      placement_.offsets[index] = slot.offset;
      // A slot at the table's end may have grown into the spare room.
      spare_begin_ = std::max(spare_begin_, slot.offset + wish.text.size() + 1);
      // Taken: no later wish may use it, and BlankReleasedStrings leaves it alone.
      slot.shared = true;
      return true;
    }
    return false;
  }

  void BlankReleasedStrings() {
    for (const StringSlot& slot : slots_) {
      if (slot.shared || slot.length == 0) continue;
      placement_.blanks.push_back({.offset = slot.offset, .bytes = std::string(slot.length, state_.blank)});
      Avoid(slot.offset, slot.offset + slot.length + 1);
    }
  }

  Result<void> PlaceElsewhere(std::size_t index) {
    const std::string& text = state_.wishes[index].text;
    PTPKG_TRY(const auto present, FindString(file_, image_, text, avoid_));
    if (present) {
      placement_.offsets[index] = *present;
      return Ok();
    }
    const std::uint64_t table_size = image_.strings.size_bytes;
    if (reuse_ == SlotReuse::kAllowed && spare_begin_ < table_size &&
        text.size() + 1 <= table_size - spare_begin_) {
      placement_.offsets[index] = spare_begin_;
      placement_.strings.push_back({.offset = spare_begin_, .bytes = text});
      Avoid(spare_begin_, spare_begin_ + text.size() + 1);
      spare_begin_ += text.size() + 1;
      return Ok();
    }
    const std::uint64_t offset = table_size + placement_.appended.size();
    if (offset + text.size() > 0xffffffffU) {
      return Error(ErrorCode::kUnsupported, "the dynamic string table would pass 4 GiB");
    }
    placement_.offsets[index] = offset;
    placement_.appended += text;
    placement_.appended += '\0';
    return Ok();
  }

  void Avoid(std::uint64_t begin, std::uint64_t end) { avoid_.push_back({.begin = begin, .end = end}); }

  File& file_;
  const Image& image_;
  const NewDynamicState& state_;
  SlotReuse reuse_;
  Placement placement_;
  std::vector<StringSlot> slots_;
  std::vector<StringRange> avoid_;
  std::uint64_t spare_begin_ = 0;
};

}  // namespace

Result<Placement> PlaceStrings(File& file, const Image& image, const NewDynamicState& state,
                               SlotReuse reuse) {
  return Placer(file, image, state, reuse).Run();
}

}  // namespace ptpkg::elf
