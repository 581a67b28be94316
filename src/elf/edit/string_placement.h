#pragma once
// Places the strings of an edit in .dynstr. Layer: elf, private to it.

#include <string>
#include <vector>

#include "elf/edit/new_dynamic.h"
#include "elf/edit/string_slots.h"

namespace ptpkg::elf {

/// Bytes to put at an offset of .dynstr.
struct TablePatch {
  std::uint64_t offset = 0;
  std::string bytes;
};

struct Placement {
  std::vector<std::uint64_t> offsets;  ///< Per wish: offset of its string.
  std::vector<TablePatch> strings;     ///< New strings inside the existing table.
  std::vector<TablePatch> blanks;      ///< NULs over unused strings.
  std::string appended;                ///< New strings beyond the table's end, NULs included.
};

enum class SlotReuse : std::uint8_t {
  kAllowed,    ///< Can overwrite superseded strings and use spare room.
  kForbidden,  ///< The old strings must stay readable until the switch: only find or append.
};

/// Places state.wishes. Preference: the slot of a superseded string, an existing string (whole or as a tail),
/// spare room at the end, beyond the end. Errors: kCorrupt, kIo; kUnsupported if the table would pass 4 GiB.
Result<Placement> PlaceStrings(File& file, const Image& image, const NewDynamicState& state, SlotReuse reuse);

}  // namespace ptpkg::elf
