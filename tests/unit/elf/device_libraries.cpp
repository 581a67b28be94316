#include "unit/elf/device_libraries.h"

#include <algorithm>

namespace ptpkg::elf::test {
namespace {

constexpr std::uint32_t kRelativeX8664 = 8;
constexpr std::uint32_t kRelativeAarch64 = 1027;
constexpr std::uint64_t kWrapper = 24;  // u32 magic, u32 version, u64 container, u64 other
constexpr std::uint32_t kTypeRela = 4;
constexpr std::uint32_t kTypeRelr = 19;
constexpr std::uint64_t kDtRelasz = 8;
constexpr std::uint64_t kDtRelaent = 9;
constexpr std::uint64_t kDtRelr = 36;
constexpr std::uint64_t kDtRelrsz = 35;
constexpr std::uint64_t kDtRelrent = 37;

Codec Wrapped() { return {ElfClass::k64, ByteOrder::kLittle}; }

struct Part {
  std::string name;
  std::uint32_t type = kSectionProgbits;
  std::uint64_t flags = 2;
  std::string content;
  std::uint64_t align = 8;
  std::uint64_t offset = 0;
};

std::string Zeros(std::size_t size) { return std::string(size, '\0'); }

std::uint64_t UpTo(std::uint64_t value, std::uint64_t align) { return (value + align - 1) / align * align; }

class Assembly {
 public:
  explicit Assembly(WrappedLibrary& library) : library_(library) {}

  std::string Run() {
    AddParts();
    const std::size_t read_only_end = IndexOf(".dynamic");
    std::uint64_t at = 64 + kSegments * 56;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      if (i == read_only_end) {
        end_of_code_ = at;
        at = UpTo(at, library_.page_bytes);
      }
      parts_[i].offset = at = UpTo(at, parts_[i].align);
      at += parts_[i].content.size();
      if (parts_[i].name == ".nvFatBinSegment") end_of_data_ = at;
    }
    FillWrappers();
    FillDynamic();
    FillSymbols();
    image_.resize(UpTo(at, 8));
    for (const Part& part : parts_) image_.replace(part.offset, part.content.size(), part.content);
    WriteSegments();
    WriteSections();
    WriteHeader();
    return std::move(image_);
  }

 private:
  static constexpr std::size_t kSegments = 5;

  void AddParts() {
    const std::string code = Join(".nv_fatbin", library_.containers);
    const std::string relocatable = Join("__nv_relfatbin", library_.relocatable);
    const std::size_t count = starts_.size();
    // The table ends at 64 + 5 * 56: a note right behind it has to make room for a sixth one, and
    // the tables behind that for a seventh.
    std::string note("\4\0\0\0\24\0\0\0\3\0\0\0GNU\0", 16);
    parts_.push_back({.name = ".note.gnu.build-id",
                      .type = kSectionNote,
                      .content = note + std::string(20, 'b'),
                      .align = 4});
    parts_.push_back(
        {.name = ".hash", .type = kSectionHash, .content = std::string("\1\0\0\0\1\0\0\0", 8) + Zeros(8)});
    parts_.push_back({.name = ".dynsym", .type = kSectionDynsym, .content = Zeros(96)});
    parts_.push_back(
        {.name = ".dynstr", .type = kSectionStrtab, .content = std::string("\0one\0", 5), .align = 1});
    parts_.push_back({.name = ".relocations",
                      .type = library_.packed_relocations ? kTypeRelr : kTypeRela,
                      .content = Zeros(library_.packed_relocations ? 8 * count : 24 * count)});
    parts_.push_back({.name = ".nv_fatbin", .content = code});
    if (!library_.relocatable.empty()) parts_.push_back({.name = "__nv_relfatbin", .content = relocatable});
    parts_.push_back({.name = ".tail", .content = std::string(40, 't')});
    parts_.push_back({.name = ".dynamic", .type = kSectionDynamic, .flags = 3, .content = Zeros(16 * 12)});
    parts_.push_back({.name = ".nvFatBinSegment", .flags = 3, .content = Zeros(kWrapper * count)});
    parts_.push_back(
        {.name = ".symtab", .type = kSectionSymtab, .flags = 0, .content = Zeros(24 * (count + 1))});
    parts_.push_back({.name = ".strtab",
                      .type = kSectionStrtab,
                      .flags = 0,
                      .content = std::string("\0c\0", 3),
                      .align = 1});
    parts_.push_back({.name = ".shstrtab", .type = kSectionStrtab, .flags = 0, .content = "", .align = 1});
    std::string names("\0", 1);
    for (const Part& part : parts_) names += part.name + '\0';
    parts_.back().content = names;
  }

  /// The containers one behind the other; notes where each begins.
  std::string Join(const std::string& section, const std::vector<std::string>& containers) {
    std::string code;
    for (const std::string& container : containers) {
      code.resize(UpTo(code.size(), 8));
      starts_.push_back({.section = section, .offset = code.size(), .size = container.size()});
      code += container;
    }
    return code;
  }

  std::size_t IndexOf(std::string_view name) const {
    return static_cast<std::size_t>(
        std::find_if(parts_.begin(), parts_.end(), [&](const Part& part) { return part.name == name; }) -
        parts_.begin());
  }
  Part& Of(std::string_view name) { return parts_[IndexOf(name)]; }

  void FillWrappers() {
    Part& wrappers = Of(".nvFatBinSegment");
    Part& table = Of(".relocations");
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::uint64_t target = Of(starts_[i].section).offset + starts_[i].offset;
      const std::uint64_t place = wrappers.offset + kWrapper * i + 8;
      PokeU32(wrappers.content, Wrapped(), kWrapper * i, 0x466243b1);
      PokeU32(wrappers.content, Wrapped(), kWrapper * i + 4, 1);
      if (library_.packed_relocations) {
        PokeWord(wrappers.content, Wrapped(), kWrapper * i + 8, target);
        PokeWord(table.content, Wrapped(), 8 * i, place);
      } else {
        PokeWord(table.content, Wrapped(), 24 * i, place);
        PokeU32(table.content, Wrapped(), 24 * i + 8,
                library_.machine == kMachineAarch64 ? kRelativeAarch64 : kRelativeX8664);
        PokeWord(table.content, Wrapped(), 24 * i + 16, target);
      }
    }
  }

  void FillDynamic() {
    const bool packed = library_.packed_relocations;
    const Part& table = Of(".relocations");
    const std::vector<DynamicEntry> entries = {
        {kDtHash, Of(".hash").offset},
        {kDtSymtab, Of(".dynsym").offset},
        {kDtSyment, 24},
        {kDtStrtab, Of(".dynstr").offset},
        {kDtStrsz, Of(".dynstr").content.size()},
        {packed ? kDtRelr : kDtRela, table.offset},
        {packed ? kDtRelrsz : kDtRelasz, table.content.size()},
        {packed ? kDtRelrent : kDtRelaent, packed ? 8U : 24U},
    };
    Part& dynamic = Of(".dynamic");
    for (std::size_t i = 0; i < entries.size(); ++i) {
      PokeWord(dynamic.content, Wrapped(), 16 * i, entries[i].tag);
      PokeWord(dynamic.content, Wrapped(), 16 * i + 8, entries[i].value);
    }
  }

  void FillSymbols() {
    Part& exported = Of(".dynsym");
    PokeU32(exported.content, Wrapped(), 24, 1);
    exported.content[28] = 0x11;  // global, object
    PokeU16(exported.content, Wrapped(), 30, static_cast<std::uint16_t>(IndexOf(".tail") + 1));
    PokeWord(exported.content, Wrapped(), 32, Of(".tail").offset);
    Part& symbols = Of(".symtab");
    for (std::size_t i = 0; i < starts_.size(); ++i) {
      const std::size_t at = 24 * (i + 1);
      PokeU32(symbols.content, Wrapped(), at, 1);
      PokeU16(symbols.content, Wrapped(), at + 6,
              static_cast<std::uint16_t>(IndexOf(starts_[i].section) + 1));
      PokeWord(symbols.content, Wrapped(), at + 8, Of(starts_[i].section).offset + starts_[i].offset);
      PokeWord(symbols.content, Wrapped(), at + 16, i % 2 == 0 ? starts_[i].size : 0);
    }
  }

  void WriteSegments() {
    const Part& dynamic = Of(".dynamic");
    const Part& note = Of(".note.gnu.build-id");
    const auto at = [](std::uint32_t type, std::uint32_t flags, std::uint64_t begin, std::uint64_t end,
                       std::uint64_t align) {
      return Segment{type, flags, begin, begin, begin, end - begin, end - begin, align};
    };
    std::vector<Segment> segments = {
        at(kSegmentLoad, kFlagRead, 0, end_of_code_, library_.page_bytes),
        at(kSegmentLoad, kFlagRead | kFlagWrite, dynamic.offset, end_of_data_, library_.page_bytes),
        at(kSegmentDynamic, kFlagRead | kFlagWrite, dynamic.offset, dynamic.offset + dynamic.content.size(),
           8),
        at(kSegmentNote, kFlagRead, note.offset, note.offset + note.content.size(), 4),
        at(library_.spare_segment ? kSegmentNull : kSegmentGnuStack, kFlagRead | kFlagWrite, 0, 0, 0),
    };
    segments[1].memory_size += 100;
    for (std::size_t i = 0; i < segments.size(); ++i) {
      Wrapped().EncodeSegment(segments[i],
                              std::as_writable_bytes(std::span(image_)).subspan(64 + 56 * i, 56));
    }
  }

  void WriteSections() {
    library_.places.section_headers = image_.size();
    image_.resize(image_.size() + 64 * (parts_.size() + 1));
    std::uint32_t name = 1;
    for (std::size_t i = 0; i < parts_.size(); ++i) {
      const Part& part = parts_[i];
      const Section section{.name = name,
                            .type = part.type,
                            .flags = part.flags,
                            .addr = part.flags == 0 ? 0 : part.offset,
                            .offset = part.offset,
                            .size = part.content.size(),
                            .align = part.align};
      name += static_cast<std::uint32_t>(part.name.size() + 1);
      Wrapped().EncodeSection(section, std::as_writable_bytes(std::span(image_))
                                           .subspan(library_.places.section_headers + 64 * (i + 1), 64));
    }
  }

  void WriteHeader() {
    image_.replace(0, 7,
                   std::string("\x7f"
                               "ELF\2\1\1",
                               7));
    PokeU32(image_, Wrapped(), 20, 1);
    PokeU16(image_, Wrapped(), 52, 64);
    const FileHeader header{.type = kTypeDyn,
                            .machine = library_.machine,
                            .program_headers_offset = 64,
                            .section_headers_offset = library_.places.section_headers,
                            .program_header_size = 56,
                            .program_header_count = kSegments,
                            .section_header_size = 64,
                            .section_header_count = static_cast<std::uint16_t>(parts_.size() + 1),
                            .section_names_index = static_cast<std::uint16_t>(parts_.size())};
    Wrapped().EncodeFileHeader(header, std::as_writable_bytes(std::span(image_)));
    library_.code_section = IndexOf(".nv_fatbin") + 1;
    library_.places.relocations = Of(".relocations").offset;
    library_.places.code = Of(".nv_fatbin").offset;
    if (!library_.relocatable.empty()) library_.places.relocatable = Of("__nv_relfatbin").offset;
    library_.places.tail = Of(".tail").offset;
    library_.places.wrappers = Of(".nvFatBinSegment").offset;
    library_.places.symbols = Of(".symtab").offset;
    library_.places.dynamic_symbols = Of(".dynsym").offset;
    library_.places.dynamic = Of(".dynamic").offset;
  }

  WrappedLibrary& library_;
  std::vector<Part> parts_;
  struct Start {
    std::string section;
    std::uint64_t offset = 0;  ///< In the section.
    std::size_t size = 0;
  };
  std::vector<Start> starts_;  ///< Of the containers.
  std::uint64_t end_of_code_ = 0;
  std::uint64_t end_of_data_ = 0;
  std::string image_;
};

}  // namespace

std::string WrappedLibrary::Build() { return Assembly(*this).Run(); }

}  // namespace ptpkg::elf::test
