// Describes entries of .dynamic so that two builds of the same library compare equal.
//
// Addresses move with every change of the code, so an address entry counts by its presence alone. Entries
// that another part of the comparison shows, such as NEEDED, are left out. Unknown tags follow the gABI's
// rule: even tags are addresses, odd ones values, with the exceptions named below.

#include "inspect/dynamic_entries.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

namespace ptpkg::inspect {
namespace {

enum class Meaning : std::uint8_t {
  kValue,
  kAddress,
  kName,
  kToldElsewhere,
};

struct KnownTag {
  std::uint64_t tag;
  std::string_view name;
  Meaning meaning;
};

constexpr std::array<KnownTag, 56> kTags = {{
    {1, "NEEDED", Meaning::kToldElsewhere},
    {2, "PLTRELSZ", Meaning::kValue},
    {3, "PLTGOT", Meaning::kAddress},
    {4, "HASH", Meaning::kAddress},
    {5, "STRTAB", Meaning::kAddress},
    {6, "SYMTAB", Meaning::kAddress},
    {7, "RELA", Meaning::kAddress},
    {8, "RELASZ", Meaning::kValue},
    {9, "RELAENT", Meaning::kValue},
    {10, "STRSZ", Meaning::kToldElsewhere},
    {11, "SYMENT", Meaning::kValue},
    {12, "INIT", Meaning::kAddress},
    {13, "FINI", Meaning::kAddress},
    {14, "SONAME", Meaning::kToldElsewhere},
    {15, "RPATH", Meaning::kName},
    {16, "SYMBOLIC", Meaning::kValue},
    {17, "REL", Meaning::kAddress},
    {18, "RELSZ", Meaning::kValue},
    {19, "RELENT", Meaning::kValue},
    {20, "PLTREL", Meaning::kValue},
    {21, "DEBUG", Meaning::kAddress},
    {22, "TEXTREL", Meaning::kValue},
    {23, "JMPREL", Meaning::kAddress},
    {24, "BIND_NOW", Meaning::kValue},
    {25, "INIT_ARRAY", Meaning::kAddress},
    {26, "FINI_ARRAY", Meaning::kAddress},
    {27, "INIT_ARRAYSZ", Meaning::kValue},
    {28, "FINI_ARRAYSZ", Meaning::kValue},
    {29, "RUNPATH", Meaning::kToldElsewhere},
    {30, "FLAGS", Meaning::kValue},
    {32, "PREINIT_ARRAY", Meaning::kAddress},
    {33, "PREINIT_ARRAYSZ", Meaning::kValue},
    {34, "SYMTAB_SHNDX", Meaning::kAddress},
    {35, "RELRSZ", Meaning::kValue},
    {36, "RELR", Meaning::kAddress},
    {37, "RELRENT", Meaning::kValue},
    {0x6ffffdf5, "GNU_PRELINKED", Meaning::kValue},
    {0x6ffffdf6, "GNU_CONFLICTSZ", Meaning::kValue},
    {0x6ffffdf7, "GNU_LIBLISTSZ", Meaning::kValue},
    {0x6ffffdf8, "CHECKSUM", Meaning::kValue},
    {0x6ffffef5, "GNU_HASH", Meaning::kAddress},
    {0x6ffffef6, "TLSDESC_PLT", Meaning::kAddress},
    {0x6ffffef7, "TLSDESC_GOT", Meaning::kAddress},
    {0x6ffffefa, "CONFIG", Meaning::kName},
    {0x6ffffefb, "DEPAUDIT", Meaning::kName},
    {0x6ffffefc, "AUDIT", Meaning::kName},
    {0x6ffffff0, "VERSYM", Meaning::kAddress},
    {0x6ffffff9, "RELACOUNT", Meaning::kValue},
    {0x6ffffffa, "RELCOUNT", Meaning::kValue},
    {0x6ffffffb, "FLAGS_1", Meaning::kValue},
    {0x6ffffffc, "VERDEF", Meaning::kAddress},
    {0x6ffffffd, "VERDEFNUM", Meaning::kValue},
    {0x6ffffffe, "VERNEED", Meaning::kAddress},
    {0x6fffffff, "VERNEEDNUM", Meaning::kValue},
    {0x7ffffffd, "AUXILIARY", Meaning::kName},
    {0x7fffffff, "FILTER", Meaning::kName},
}};

/// gABI: from DT_ENCODING on, and in the range of processors, even tags are addresses and odd ones values.
/// MIPS does not keep to it; between DT_ADDRRNGLO and DT_ADDRRNGHI all are addresses.
Meaning MeaningOfOther(std::uint64_t tag, std::uint16_t machine) {
  constexpr std::uint64_t kFirstAddress = 0x6ffffe00;
  constexpr std::uint64_t kLastAddress = 0x6ffffeff;
  constexpr std::uint64_t kFirstOfProcessor = 0x70000000;
  constexpr std::uint16_t kMachineMips = 8;
  if (tag >= kFirstAddress && tag <= kLastAddress) return Meaning::kAddress;
  if (tag >= kFirstOfProcessor && machine == kMachineMips) return Meaning::kAddress;
  return tag % 2 == 0 ? Meaning::kAddress : Meaning::kValue;
}

/// "" for entries that other parts of the comparison show.
Result<std::string> TextOf(File& file, const elf::Image& image, const elf::DynamicEntry& entry) {
  const auto* const known =
      std::find_if(kTags.begin(), kTags.end(), [&](const KnownTag& one) { return one.tag == entry.tag; });
  const bool is_known = known != kTags.end();
  const std::string name = is_known ? std::string(known->name) : fmt::format("{:#x}", entry.tag);
  // ld.so does not look at an RPATH beside a RUNPATH.
  if (entry.tag == elf::kDtRpath && !image.dynamic->Find(elf::kDtRunpath)) return std::string();
  switch (is_known ? known->meaning : MeaningOfOther(entry.tag, image.header.machine)) {
    case Meaning::kToldElsewhere:
      return std::string();
    case Meaning::kAddress:
      return name;
    case Meaning::kName: {
      PTPKG_TRY(const std::string text, elf::ReadDynamicString(file, image, entry.value, name));
      return name + " " + text;
    }
    case Meaning::kValue:
      return fmt::format("{} {:#x}", name, entry.value);
  }
  return std::string();
}

}  // namespace

Result<std::vector<std::string>> DynamicEntryTexts(File& file, const elf::Image& image) {
  std::vector<std::string> texts;
  if (!image.dynamic) return texts;
  for (const elf::DynamicEntry& entry : image.dynamic->entries) {
    PTPKG_TRY(std::string text, TextOf(file, image, entry));
    if (!text.empty()) texts.push_back(std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  return texts;
}

}  // namespace ptpkg::inspect
