// Trees with files that are damaged, hostile, or no libraries at all: one clear finding each, or none where
// the file is right as it is. Never an error of the whole check.

#include "elf/edit/edit.h"
#include "elf/read/image.h"
#include "support/fault_fs.h"
#include "unit/elf/fixtures/elf_additions.h"
#include "unit/verify/fixtures/memory_tree.h"
#include "verify/rules/minimum_version_checks.h"

namespace ptpkg::verify {
namespace {

using elf::test::PokeU32;
using elf::test::PokeWord;
using elf::test::SyntheticElf;
using test::Is;
using test::Library;
using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using Tree = test::MemoryTree;

/// The only finding of a tree with this one file.
std::vector<Finding> Findings(const std::string& bytes, const std::string& path = "libx.so") {
  Tree tree;
  tree.AddText(path, bytes);
  return tree.Check();
}

auto Damaged(const std::string& text) {
  return ElementsAre(Is("elf-damaged", Severity::kError, "libx.so", text));
}

TEST(BadElf, DamagedFileIsAFindingAndTextIsNot) {
  Tree tree;
  tree.AddText("libcut.so", SyntheticElf().Build().substr(0, 200));
  tree.AddText("libscript.so", "INPUT(libreal.so)\n");
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-damaged", Severity::kError, "libcut.so", "is damaged")));
}

TEST(BadElf, NotElfThoughCalledALibrary) {
  for (const std::string& text : {std::string(), std::string("version https://git-lfs"),
                                  std::string("<html>"), std::string("\177EL"), std::string(64, '\0')}) {
    EXPECT_THAT(Findings(text),
                ElementsAre(Is("elf-not-elf", Severity::kWarning, "libx.so", "not an ELF file")))
        << text;
    EXPECT_THAT(Findings(text, "libx.so.1.2"), testing::SizeIs(1)) << text;
    EXPECT_THAT(Findings(text, "libx.so.txt"), IsEmpty()) << text;
    EXPECT_THAT(Findings(text, "run"), IsEmpty()) << text;
  }
  for (const char* const text : {"INPUT(libm.so.6)", "GROUP ( libm.so.6 )", "/* GNU ld script */",
                                 "OUTPUT_FORMAT(x)", "\xcf\xfa\xed\xfe with more"}) {
    EXPECT_THAT(Findings(text), IsEmpty()) << text;
  }
}

TEST(BadElf, EveryTruncationIsAFinding) {
  SyntheticElf elf = Library({"libc.so.6"});
  elf.version = "GLIBC_2.17";
  const std::string whole = elf.Build();
  ASSERT_THAT(Findings(whole), IsEmpty());
  // Up to the string table every few bytes, then through the padding to the dynamic section.
  for (std::size_t size = 4; size < whole.size(); size += size < 600 ? 7 : 97) {
    EXPECT_THAT(Findings(whole.substr(0, size)), Damaged("the ELF file is damaged: ")) << size;
  }
}

TEST(BadElf, InterruptedEditIsDamage) {
  const AbsPath path = AbsPath::Literal("/libx.so");
  ptpkg::test::MemFs fs;
  fs.AddFile(path.str(), Library({}).Build());
  // The seventh operation is a write behind the complete record.
  ptpkg::test::FaultFs faulty(
      fs,
      {.number = 7, .scope = ptpkg::test::FaultScope::kMutating, .after = ptpkg::test::FaultAfter::kDead});
  elf::Edits edits;
  edits.search_path = elf::SearchPath{.text = std::string(700, 'x')};
  ASSERT_FALSE(elf::EditFile(faulty, path, edits));
  EXPECT_THAT(Findings(fs.Content(path.str())), Damaged("an edit of it was interrupted"));
}

TEST(BadElf, NoSectionHeadersIsNoDamage) {
  SyntheticElf elf = Library({"libnowhere.so.1"});
  elf.sections = false;
  elf.version = "NOWHERE_1";
  EXPECT_THAT(Findings(elf.Build()),
              ElementsAre(Is("elf-unresolved-needed", Severity::kError, "libx.so", "libnowhere.so.1")));
}

TEST(BadElf, NoDynamicSectionIsPassedOver) {
  SyntheticElf program = Library({});
  program.dynamic = false;
  program.type = elf::kTypeExec;
  EXPECT_THAT(Findings(program.Build(), "bin/static"), IsEmpty());
  SyntheticElf companion = Library({"libnowhere.so.1"});
  std::string image = companion.Build();
  // PT_DYNAMIC, the third program header, without bytes in the file: what objcopy --only-keep-debug leaves.
  PokeWord(image, companion.codec(), companion.places.program_headers + 2 * 56 + 32, 0);
  constexpr std::size_t kSectionSize = 64;
  constexpr std::uint32_t kNobits = 8;
  for (std::size_t at = companion.places.section_headers; at + kSectionSize <= image.size();
       at += kSectionSize) {
    const bool is_loaded = (image[at + 8] & 2) != 0;
    if (is_loaded) PokeU32(image, companion.codec(), at + 4, kNobits);
  }
  EXPECT_THAT(Findings(image), IsEmpty());
}

TEST(BadElf, StringsOutsideTheTable) {
  SyntheticElf elf = Library({"libc.so.6"});
  elf.version = "GLIBC_2.17";
  const std::string whole = elf.Build();
  std::string image = whole;
  PokeWord(image, elf.codec(), elf.places.dynamic + 8, 1U << 30U);
  EXPECT_THAT(Findings(image), Damaged("DT_NEEDED points to byte 1073741824 of a string table of"));
  image = whole;
  PokeU32(image, elf.codec(), elf.places.needs + 24, 1U << 30U);
  EXPECT_THAT(Findings(image), Damaged("a required version points to byte 1073741824"));
  image = whole;
  PokeU32(image, elf.codec(), elf.places.needs + 4, 1U << 30U);
  EXPECT_THAT(Findings(image), Damaged("a version requirement points to byte 1073741824"));
}

TEST(BadElf, ChainsThatLeaveTheFileOrStandStill) {
  SyntheticElf elf = Library({"libc.so.6"});
  elf.version = "GLIBC_2.17";
  const std::string whole = elf.Build();
  std::string image = whole;
  PokeU32(image, elf.codec(), elf.places.needs + 8, 1U << 30U);
  EXPECT_THAT(Findings(image), Damaged("a required version needs 16 bytes"));
  image = whole;
  image[elf.places.needs + 2] = 2;  // two versions, the second at distance 0
  EXPECT_THAT(Findings(image), Damaged("overlaps itself or ends early"));
}

TEST(BadElf, PropertiesAndDataThatLeaveTheFile) {
  SyntheticElf elf = Library({});
  elf.spare_segments = 1;
  std::string image = elf.Build();
  std::string note = elf::test::IsaNote(elf.codec(), 7);
  PokeU32(note, elf.codec(), 4, 1U << 20U);
  elf::test::AddNote(image, elf, note, elf::kSegmentNote);
  EXPECT_THAT(Findings(image), Damaged("a note of 1048580 bytes runs past the end"));
  image = Library({}).Build();
  elf::test::AddSection(image, elf.codec(), ".rodata", "x");
  const auto header = elf.codec().DecodeFileHeader(AsBytes(image));
  PokeWord(image, elf.codec(), header.section_headers_offset + 2 * 64 + 24, 1U << 30U);
  EXPECT_THAT(Findings(image), Damaged("read-only data of 1 bytes at offset 1073741824"));
}

TEST(BadElf, ADamagedSymbolTableLeavesTheFloorButNotItsSymbols) {
  Tree tree;
  tree.AddWheel({"cp311-cp311-manylinux_2_17_x86_64"});
  SyntheticElf elf = test::Requiring("libc.so.6", "GLIBC_2.34");
  std::string image = elf.Build();
  PokeU32(image, elf.codec(), elf.places.symbols + 24, 1U << 30U);
  tree.AddText("pkg/a.so", image);
  EXPECT_THAT(tree.Check(),
              ElementsAre(AllOf(Is("elf-glibc-floor", Severity::kError, "pkg/a.so", "'GLIBC_2.34'"),
                                Field(&Finding::message, testing::Not(HasSubstr("@"))))));
}

TEST(BadElf, NoByteThatChangesIsMoreThanAFinding) {
  SyntheticElf elf = Library({"libc.so.6", "libcudnn.so.9"}, "$ORIGIN:$ORIGIN/lib");
  elf.version = "GLIBC_2.34";
  elf.spare_segments = 1;
  std::string whole = elf.Build();
  elf::test::AddIsaNote(whole, elf, 7);
  elf::test::AddSection(whole, elf.codec(), ".rodata", std::string("libcudnn_ops.so.9\0", 18));
  Tree tree;
  ASSERT_OK_AND_ASSIGN(const DlopenTable opened, DlopenTable::BuiltIn());
  ASSERT_OK_AND_ASSIGN(const PlatformPolicies policies, PlatformPolicies::BuiltIn());
  ASSERT_OK_AND_ASSIGN(const auto libraries, PolicyLibraries::BuiltIn());
  const DeclaredPlatform promise = DeclaredByTags(policies, {"manylinux_2_17_x86_64"});
  for (std::size_t at = 4; at < whole.size(); ++at) {
    // Padding between the segments says nothing; one byte in seven of it is enough.
    if (whole[at] == '\0' && at % 7 != 0) continue;
    for (const char value : {'\xff', static_cast<char>(whole[at] ^ 0x10)}) {
      std::string image = whole;
      image[at] = value;
      tree.AddText("libx.so", image);
      std::vector<Finding> findings;
      ASSERT_OK_AND_ASSIGN(const ElfTree read,
                           ReadElfTree(tree.env(), AbsPath::Literal(test::kRoot), opened, findings));
      std::vector<FileNeeds> needs = MeasureNeeds(read, policies, libraries);
      ASSERT_OK(CheckMinimumVersions(
          {.env = tree.env(), .tree = read, .policies = policies, .promise = promise}, needs, findings))
          << at;
    }
  }
}

TEST(BadElf, OneDamagedFileDoesNotHideTheOthers) {
  Tree tree;
  tree.AddText("a.so", Library({}).Build().substr(0, 100));
  tree.Add("b.so", Library({"libnowhere.so.1"}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-damaged", Severity::kError, "a.so", "damaged"),
                                        Is("elf-unresolved-needed", Severity::kError, "b.so", "libnowhere")));
}

TEST(BadElf, ABadNoteDoesNotHideWhatTheFileNeeds) {
  SyntheticElf elf = Library({"libnowhere.so.1"});
  elf.spare_segments = 1;
  std::string bytes = elf.Build();
  const elf::Codec codec = elf.codec();
  const std::uint64_t count = codec.U16(AsBytes(bytes), 56);  // e_phnum
  const std::uint64_t header = elf.places.program_headers + (count - 1) * codec.SegmentSize();
  PokeU32(bytes, codec, header, elf::kSegmentNote);
  PokeWord(bytes, codec, header + 8, bytes.size());
  PokeWord(bytes, codec, header + 32, 16);
  bytes += std::string(16, '\x7f');
  EXPECT_THAT(Findings(bytes),
              ElementsAre(Is("elf-damaged", Severity::kError, "libx.so", "note"),
                          Is("elf-unresolved-needed", Severity::kError, "libx.so", "libnowhere")));
}

}  // namespace
}  // namespace ptpkg::verify
