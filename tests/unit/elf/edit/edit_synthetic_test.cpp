// Edits of assembled images: classes and byte orders that no linker here makes, files without section
// headers, tables without room, faults of the file system.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "elf/read/model.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::FaultAfter;
using ptpkg::test::FaultFs;
using ptpkg::test::FaultScope;
using ptpkg::test::FsCall;
using ptpkg::test::HasHint;
using ptpkg::test::MemFs;
using ptpkg::test::RunFaultLoop;
using ::testing::_;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

const AbsPath kFile = AbsPath::Literal("/tree/libanswer.so");

/// One image in a file system in memory.
struct Stage {
  explicit Stage(SyntheticElf wanted) : elf(std::move(wanted)) { fs.AddFile(kFile.str(), elf.Build()); }
  Result<EditPlan> Edit(const Edits& edits) { return EditFile(fs, kFile, edits); }
  LinkFacts Facts() { return FactsOf(fs, kFile); }
  std::string Content() { return fs.Content(kFile.str()); }

  MemFs fs;
  SyntheticElf elf;
};

struct ElfFlavour {
  ElfClass elf_class;
  ByteOrder order;
  std::uint16_t machine;
  std::string name;
};

class EditFlavour : public ::testing::TestWithParam<ElfFlavour> {
 protected:
  static SyntheticElf Make() {
    SyntheticElf elf;
    elf.elf_class = GetParam().elf_class;
    elf.order = GetParam().order;
    elf.machine = GetParam().machine;
    return elf;
  }
};

INSTANTIATE_TEST_SUITE_P(All, EditFlavour,
                         ::testing::Values(ElfFlavour{ElfClass::k64, ByteOrder::kLittle, 62, "x86_64"},
                                           ElfFlavour{ElfClass::k64, ByteOrder::kBig, 21, "ppc64"},
                                           ElfFlavour{ElfClass::k32, ByteOrder::kLittle, 40, "arm"},
                                           ElfFlavour{ElfClass::k32, ByteOrder::kBig, 8, "mips"},
                                           ElfFlavour{ElfClass::k64, ByteOrder::kBig, 22, "s390x"}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(EditFlavour, ReaderSeesWhatWasBuilt) {
  SyntheticElf elf = Make();
  elf.rpath = "/a";
  elf.interpreter = "/lib/ld.so.1";
  Stage stage(elf);
  const LinkFacts facts = stage.Facts();
  EXPECT_THAT(facts.needed, ElementsAre("libdeep.so.1", "libc.so.6"));
  EXPECT_EQ(facts.soname, "libanswer.so");
  EXPECT_EQ(facts.rpath->text, "/a");
  EXPECT_EQ(facts.interpreter, "/lib/ld.so.1");
  EXPECT_THAT(facts.version_files, ElementsAre("libdeep.so.1"));
  EXPECT_EQ(facts.stack, StackFlag::kNotExecutable);
}

TEST_P(EditFlavour, GrowsShrinksAndGrowsInTheSpareRoom) {
  Stage stage(Make());
  ASSERT_OK_AND_ASSIGN(const EditPlan grown, stage.Edit(SetPath("$ORIGIN/" + std::string(300, 'a'))));
  EXPECT_EQ(grown.tier, WriteTier::kAppend);
  EXPECT_EQ(grown.new_size, stage.Content().size());
  ASSERT_OK_AND_ASSIGN(const EditPlan shrunk, stage.Edit(SetPath("$ORIGIN")));
  EXPECT_EQ(shrunk.tier, WriteTier::kInPlace);
  ASSERT_OK_AND_ASSIGN(const EditPlan again, stage.Edit(SetPath("$ORIGIN/" + std::string(299, 'b'))));
  EXPECT_EQ(again.tier, WriteTier::kInPlace);
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libdeep.so.1", "libc.so.6"));
  EXPECT_EQ(stage.Facts(), again.after);
}

TEST_P(EditFlavour, AllTablesMoveTogether) {
  SyntheticElf elf = Make();
  elf.spare_entries = 0;
  elf.interpreter = "/lib/ld.so.1";
  elf.stack = false;
  Stage stage(elf);
  Edits edits = SetPath("$ORIGIN/../lib");
  edits.interpreter = "/a/much/longer/interpreter/ld.so.1";
  edits.executable_stack = false;
  edits.replace_needed = {{"libdeep.so.1", "libdeep-0123456789.so.1"}};
  edits.soname = "libanswer-renamed.so";
  edits.allow_strip_hazard = true;  // the program headers too
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(edits));
  EXPECT_EQ(plan.tier, WriteTier::kAppend);
  const LinkFacts facts = stage.Facts();
  EXPECT_EQ(facts, plan.after);
  EXPECT_EQ(facts.interpreter, "/a/much/longer/interpreter/ld.so.1");
  EXPECT_THAT(facts.version_files, ElementsAre("libdeep-0123456789.so.1"));
  EXPECT_EQ(facts.stack, StackFlag::kNotExecutable);
  ASSERT_OK_AND_ASSIGN(const EditPlan rerun, stage.Edit(edits));
  EXPECT_EQ(rerun.tier, WriteTier::kNothing);
}

TEST(EditTier, FreeEntryIsUsedWhenTheStringIsThere) {
  SyntheticElf elf;
  elf.symbols = {"answer", "a:$ORIGIN"};  // the wish is the tail of a string
  Stage stage(elf);
  const std::size_t size = stage.Content().size();
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(SetPath("$ORIGIN")));
  EXPECT_EQ(plan.tier, WriteTier::kSpareEntry);
  EXPECT_EQ(plan.writes.size(), 1U);
  EXPECT_LE(plan.BytesToWrite(), 16U);
  EXPECT_EQ(stage.Content().size(), size);
  EXPECT_EQ(stage.Facts().runpath->text, "$ORIGIN");
}

TEST(EditTier, WithoutFreeEntryTheDynamicSectionMoves) {
  SyntheticElf elf;
  elf.spare_entries = 0;
  elf.symbols = {"answer", "a:$ORIGIN"};
  Stage stage(elf);
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(SetPath("$ORIGIN")));
  EXPECT_EQ(plan.tier, WriteTier::kAppend);
  EXPECT_EQ(stage.Facts().runpath->text, "$ORIGIN");
  Edits more;
  more.add_needed = {"libc.so.6", "answer"};
  ASSERT_OK_AND_ASSIGN(const EditPlan second, stage.Edit(more));
  EXPECT_EQ(second.tier, WriteTier::kSpareEntry) << "the moved table has spare entries";
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libc.so.6", "answer", "libdeep.so.1"));
}

TEST(EditTier, SpareSegmentSlotKeepsTheProgramHeadersInPlace) {
  SyntheticElf elf;
  elf.spare_segments = 1;
  Stage stage(elf);
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN/lib")));
  const auto file = stage.fs.Open(kFile, OpenMode::kRead);
  const auto image = ReadImage(**file);
  EXPECT_EQ((*image)->header.program_headers_offset, 64U);
  EXPECT_EQ((*image)->FindSegment(kSegmentNull), nullptr);
}

TEST(EditTier, StackFlagTakesAnUnusedSegmentInPlace) {
  for (const bool dynamic : {true, false}) {
    SyntheticElf elf;
    elf.stack = false;
    elf.dynamic = dynamic;
    elf.spare_segments = 2;
    Stage stage(elf);
    const std::size_t size = stage.Content().size();
    Edits edits;
    edits.executable_stack = false;
    ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(edits));
    EXPECT_EQ(plan.tier, WriteTier::kInPlace);
    EXPECT_EQ(stage.Content().size(), size);
    EXPECT_EQ(stage.Facts().stack, StackFlag::kNotExecutable);
  }
}

TEST(EditTier, BigAlignmentIsKeptAndCostsNoPadding) {
  SyntheticElf elf;
  elf.align = 1U << 16U;
  Stage stage(elf);
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(SetPath("$ORIGIN/lib")));
  EXPECT_LT(plan.BytesGrown(), 12U << 10U);
  const auto file = stage.fs.Open(kFile, OpenMode::kRead);
  const auto image = ReadImage(**file);
  for (const Segment& segment : (*image)->segments) {
    if (segment.type == kSegmentLoad) {
      EXPECT_EQ(segment.align, 1U << 16U);
    }
  }
  EXPECT_OK(CheckSegments(**image));
}

TEST(EditTier, WorksWithoutSectionHeaders) {
  SyntheticElf elf;
  elf.sections = false;
  elf.runpath = "/usr/lib/some/long/path";
  Stage stage(elf);
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(SetPath("$ORIGIN")));
  EXPECT_EQ(plan.tier, WriteTier::kInPlace);
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN/" + std::string(400, 'x'))));
  EXPECT_EQ(stage.Facts().runpath->text.size(), 408U);
}

TEST(EditTier, StringThatAnotherEntryUsesIsNotOverwritten) {
  SyntheticElf elf;
  elf.runpath = "libc.so.6";  // one string for NEEDED and DT_RUNPATH
  Stage stage(elf);
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN")));
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libdeep.so.1", "libc.so.6"));
  EXPECT_EQ(stage.Facts().runpath->text, "$ORIGIN");
}

TEST(EditTier, TailOfALongerStringIsNotOverwritten) {
  SyntheticElf elf;
  elf.runpath = "/opt/place";
  std::string image = elf.Build();
  // DT_RUNPATH now begins inside the string, whose whole nobody names.
  const std::uint64_t entry = elf.places.dynamic + 3 * 16 + 8;
  const std::size_t at = image.find("/opt/place") - elf.places.strings;
  PokeWord(image, elf.codec(), entry, at + 4);
  MemFs fs;
  fs.AddFile(kFile.str(), image);
  ASSERT_EQ(FactsOf(fs, kFile).runpath->text, "/place");
  ASSERT_OK(EditFile(fs, kFile, SetPath("/x")));
  EXPECT_THAT(fs.Content(kFile.str()), HasSubstr("/opt/place"));
}

TEST(EditTier, UnknownNumberOfSymbolsMeansNothingIsOverwritten) {
  SyntheticElf elf;
  elf.sections = false;
  elf.runpath = "/opt/place";
  std::string image = elf.Build();
  // DT_HASH, behind two NEEDED, SONAME, RUNPATH, STRTAB, STRSZ, SYMTAB and SYMENT, becomes a tag that says
  // nothing.
  const std::uint64_t entry = elf.places.dynamic + 8 * 16;
  ASSERT_EQ(image[entry], static_cast<char>(kDtHash));
  PokeWord(image, elf.codec(), entry, 0x6fff4242);
  MemFs fs;
  fs.AddFile(kFile.str(), image);
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(fs, kFile, SetPath("$ORIGIN")));
  EXPECT_EQ(plan.tier, WriteTier::kAppend);
  EXPECT_THAT(fs.Content(kFile.str()), HasSubstr("/opt/place"));
}

TEST(EditTier, RemovingThePathBlanksIt) {
  SyntheticElf elf;
  elf.rpath = "/secret/build";
  elf.runpath = "/secret/again";
  Stage stage(elf);
  Edits edits;
  edits.remove_search_path = true;
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, stage.Edit(edits));
  EXPECT_EQ(plan.tier, WriteTier::kInPlace);
  EXPECT_FALSE(stage.Facts().Effective());
  EXPECT_THAT(stage.Content(), Not(HasSubstr("secret")));
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libdeep.so.1", "libc.so.6"));
}

TEST(EditTier, LastVersionRequirementTakesTheTableAlong) {
  Stage stage(SyntheticElf{});
  Edits edits;
  edits.remove_needed = {"libdeep.so.1"};
  ASSERT_OK(stage.Edit(edits));
  const auto file = stage.fs.Open(kFile, OpenMode::kRead);
  const auto image = ReadImage(**file);
  for (const std::uint64_t tag : {kDtVerneed, kDtVerneednum, kDtVersym}) {
    EXPECT_FALSE((*image)->dynamic->Find(tag).has_value()) << tag;
  }
  EXPECT_TRUE(std::none_of((*image)->sections.begin(), (*image)->sections.end(),
                           [](const Section& section) { return section.type == kSectionGnuVerneed; }));
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libc.so.6"));
}

TEST(EditNeeded, RemovedThenReplacedThenAdded) {
  Edits edits;
  edits.remove_needed = {"libdeep.so.1"};
  edits.replace_needed = {{"libc.so.6", "libdeep.so.1"}};
  Stage renamed(SyntheticElf{});
  ASSERT_OK(renamed.Edit(edits));
  EXPECT_THAT(renamed.Facts().needed, ElementsAre("libdeep.so.1"));
  EXPECT_THAT(renamed.Facts().version_files, ElementsAre("libdeep.so.1")) << "it is needed again";

  edits.replace_needed = {{"libdeep.so.1", "libother.so"}};
  Stage removed(SyntheticElf{});
  ASSERT_OK(removed.Edit(edits));
  EXPECT_THAT(removed.Facts().needed, ElementsAre("libc.so.6"));
  EXPECT_THAT(removed.Facts().version_files, ::testing::IsEmpty());
}

TEST(EditNeeded, AddedLibraryThatIsNeededAlreadyMovesToTheFront) {
  Stage stage(SyntheticElf{});
  Edits edits;
  edits.add_needed = {"libc.so.6"};
  ASSERT_OK_AND_ASSIGN(const EditPlan moved, stage.Edit(edits));
  EXPECT_EQ(moved.tier, WriteTier::kInPlace);
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libc.so.6", "libdeep.so.1"));
  EXPECT_EQ(stage.Edit(edits)->tier, WriteTier::kNothing);
  edits.add_needed = {"libnew.so", "libdeep.so.1", "libnew.so", "libdeep.so.1"};
  ASSERT_OK(stage.Edit(edits));
  EXPECT_THAT(stage.Facts().needed, ElementsAre("libnew.so", "libdeep.so.1", "libc.so.6"));
}

TEST(EditTier, MipsRelativeDebugEntryFollowsTheTable) {
  SyntheticElf elf;
  elf.elf_class = ElfClass::k32;
  elf.machine = kMachineMips;
  elf.spare_entries = 0;
  std::string image = elf.Build();
  // The hash entry becomes DT_MIPS_RLD_MAP_REL: its value counts from its own address.
  constexpr std::uint64_t kIndex = 7;
  PokeWord(image, elf.codec(), elf.places.dynamic + kIndex * 8, kDtMipsRldMapRel);
  PokeWord(image, elf.codec(), elf.places.dynamic + kIndex * 8 + 4, 0x100);
  MemFs fs;
  fs.AddFile(kFile.str(), image);
  ASSERT_OK(EditFile(fs, kFile, SetPath("$ORIGIN/lib")));
  const auto file = fs.Open(kFile, OpenMode::kRead);
  const auto after = ReadImage(**file);
  const DynamicTable& table = *(*after)->dynamic;
  ASSERT_EQ(table.entries[kIndex].tag, kDtMipsRldMapRel);
  const std::uint64_t target = (table.range.vaddr + kIndex * 8 + table.entries[kIndex].value) & 0xffffffffU;
  EXPECT_EQ(target, elf.places.dynamic + kIndex * 8 + 0x100);
}

TEST(EditVerification, DeepForRelocationsOfMips64) {
  // Little-endian files have the number of the symbol in the lower half of r_info, the types in the upper.
  constexpr std::uint64_t kInfo = 0x0312000000000001;
  SyntheticElf elf;
  elf.machine = kMachineMips;
  elf.extra_strings = std::string(16, '\0');
  std::string bytes = elf.Build();
  PokeWord(bytes, elf.codec(), elf.places.strings + 1, elf.places.dynamic);
  PokeWord(bytes, elf.codec(), elf.places.strings + 9, kInfo);
  std::uint64_t at = elf.places.dynamic + 11 * 16;  // behind the other entries
  const std::vector<DynamicEntry> table = {{kDtRel, elf.places.strings + 1}, {kDtRelsz, 16}, {kDtRelent, 16}};
  for (const DynamicEntry& entry : table) {
    PokeWord(bytes, elf.codec(), at, entry.tag);
    PokeWord(bytes, elf.codec(), at + 8, entry.value);
    at += 16;
  }
  ptpkg::test::TestEnv env;
  const AbsPath path = env.dir() / "libx.so";  // LIEF opens it
  ASSERT_OK(WriteFile(env->fs, path, bytes));
  EXPECT_OK(EditFile(env->fs, path, SetPath("$ORIGIN/lib"), {.verification = Verification::kDeep}));
}

TEST(ReadModelOfTables, ManySymbolsWithoutRelocations) {
  SyntheticElf elf;
  for (int i = 0; i < 5000; ++i) elf.symbols.push_back("s" + std::to_string(i));
  Stage stage(elf);
  ASSERT_OK_AND_ASSIGN(const auto file, stage.fs.Open(kFile, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(*file));
  ASSERT_OK_AND_ASSIGN(const Model model, ReadModelOfTables(*file, *image));
  ASSERT_EQ(model.symbols.size(), 5002U);
  EXPECT_EQ(model.symbols.back().name, "s4999");
  EXPECT_EQ(model.facts.soname, "libanswer.so");
}

TEST(CheckCodeUntouched, NamesTheWrite) {
  Image image;
  image.sections = {{.type = kSectionProgbits, .flags = 4, .offset = 100, .size = 10}};
  EditPlan plan;
  for (const std::uint64_t offset : {90U, 110U}) {
    plan.writes = {{.offset = offset, .bytes = std::vector<std::byte>(10)}};
    EXPECT_OK(CheckCodeUntouched(image, plan));
  }
  for (const std::uint64_t offset : {91U, 105U, 109U}) {
    plan.writes = {{.offset = offset, .bytes = std::vector<std::byte>(10)}};
    EXPECT_THAT(CheckCodeUntouched(image, plan),
                FailsWith(ErrorCode::kInternal, HasSubstr("touches the code at 100 to 110")));
  }
}

TEST(EditRefused, WithReasonAndUntouched) {
  SyntheticElf program;
  program.dynamic = false;
  Stage fixed(program);
  const std::string before = fixed.Content();
  EXPECT_THAT(fixed.Edit(SetPath("$ORIGIN")),
              AllOf(FailsWith(ErrorCode::kUnsupported, HasSubstr("no dynamic section")),
                    HasHint(HasSubstr("statically linked"))));
  Edits interpreter;
  interpreter.interpreter = "/ld.so";
  EXPECT_THAT(fixed.Edit(interpreter), FailsWith(ErrorCode::kUnsupported, HasSubstr("has no interpreter")));
  Edits nul;
  nul.soname = std::string("a\0b", 3);
  EXPECT_THAT(fixed.Edit(nul), FailsWith(ErrorCode::kInvalidInput, HasSubstr("SONAME contains a NUL")));
  EXPECT_EQ(fixed.Content(), before);
  fixed.fs.AddFile("/tree/text.so", "INPUT(libm.so.6)\n");
  EXPECT_THAT(EditFile(fixed.fs, AbsPath::Literal("/tree/text.so"), SetPath("x")),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'/tree/text.so' is not an ELF file")));
  EXPECT_THAT(EditFile(fixed.fs, AbsPath::Literal("/tree/none.so"), SetPath("x")),
              FailsWith(ErrorCode::kNotFound, _));
}

TEST(EditRefused, SymlinkIsNotFollowed) {
  Stage stage(SyntheticElf{});
  stage.fs.AddSymlink("libanswer.so", "/tree/link.so");
  const std::string before = stage.Content();
  EXPECT_THAT(EditFile(stage.fs, AbsPath::Literal("/tree/link.so"), SetPath("x")),
              AllOf(FailsWith(ErrorCode::kInvalidInput, HasSubstr("'/tree/link.so' is not a regular file")),
                    HasHint(HasSubstr("not a link"))));
  EXPECT_EQ(stage.Content(), before);
}

TEST(EditRefused, FileThatChangedSinceItWasPlanned) {
  Stage stage(SyntheticElf{});
  ASSERT_OK_AND_ASSIGN(const auto file, stage.fs.Open(kFile, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(*file));
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, PlanEdit(*file, *image, SetPath("$ORIGIN")));
  ASSERT_OK(stage.fs.SetMtime(kFile, 1));
  const std::string before = stage.Content();
  EXPECT_THAT(ApplyEdit(stage.fs, kFile, plan),
              FailsWith(ErrorCode::kRefused, HasSubstr("another process changed the file")));
  EXPECT_EQ(stage.Content(), before);
}

TEST(EditModes, ReadOnlyFileIsReplacedAndStaysReadOnly) {
  Stage stage(SyntheticElf{});
  ASSERT_OK(stage.fs.SetMode(kFile, 0444));
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN/lib")));
  EXPECT_EQ(stage.fs.Lstat(kFile)->mode, 0444U);
  EXPECT_EQ(stage.Facts().runpath->text, "$ORIGIN/lib");
  EXPECT_THAT(stage.fs.List("/tree"), ElementsAre("libanswer.so"));
}

TEST(EditModes, MtimeIsKeptOnRequestOnly) {
  Stage stage(SyntheticElf{});
  ASSERT_OK_AND_ASSIGN(const FileStat before, stage.fs.Lstat(kFile));
  ASSERT_OK(EditFile(stage.fs, kFile, SetPath("$ORIGIN/lib"), {.keep_mtime = true}));
  EXPECT_EQ(stage.fs.Lstat(kFile)->mtime_ns, before.mtime_ns);
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN/other")));
  EXPECT_NE(stage.fs.Lstat(kFile)->mtime_ns, before.mtime_ns);
}

TEST(EditModes, NoOpNeverOpensForWriting) {
  SyntheticElf elf;
  elf.runpath = "$ORIGIN";
  Stage stage(elf);
  stage.fs.ClearCalls();
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN")));
  EXPECT_THAT(stage.fs.calls(), Not(Contains(Field(&FsCall::operation, "OpenReadWrite"))));
  EXPECT_EQ(stage.fs.BytesWritten(kFile.str()), 0U);
}

TEST(EditModes, InPlaceEditReadsAndWritesLittle) {
  SyntheticElf elf;
  elf.runpath = "$ORIGIN/some/where";
  Stage stage(elf);
  ASSERT_OK(stage.fs.Open(kFile, OpenMode::kReadWrite));
  ASSERT_OK((*stage.fs.Open(kFile, OpenMode::kReadWrite))->Truncate(64U << 20U));  // bulk behind the tables
  ASSERT_OK(stage.Edit(SetPath("$ORIGIN")));
  EXPECT_LT(stage.fs.BytesRead(kFile.str()), 64U << 10U);
  EXPECT_LT(stage.fs.BytesWritten(kFile.str()), 64U);
}

/// Every class of edit, for the fault tests.
std::vector<Edits> FaultyEdits() {
  Edits needed;
  needed.replace_needed = {{"libdeep.so.1", "libd.so"}};
  needed.soname = "libx.so";
  Edits grow = SetPath("$ORIGIN/" + std::string(500, 'g'));
  grow.interpreter = "/some/other/place/for/ld.so.1";
  return {SetPath("$ORIGIN", PathTag::kRpath), SetPath("$ORIGIN/" + std::string(500, 'g')), needed, grow};
}

SyntheticElf FaultySubject() {
  SyntheticElf elf;
  elf.runpath = "/build/prefix/lib";
  elf.interpreter = "/lib/ld.so.1";
  return elf;
}

TEST(EditFaults, FailedWriteRestoresTheOldContent) {
  for (const Edits& edits : FaultyEdits()) {
    SyntheticElf subject = FaultySubject();
    const std::string before = subject.Build();
    const int faults =
        RunFaultLoop({.scope = FaultScope::kMutating,
                      .setup = [&](MemFs& fs) { fs.AddFile(kFile.str(), before); },
                      .run = [&](Fs& fs) -> Result<void> {
                        PTPKG_TRY(const EditPlan plan, EditFile(fs, kFile, edits));
                        return Ok();
                      },
                      .check = [&](MemFs& fs, const Error&) { EXPECT_EQ(fs.Content(kFile.str()), before); }});
    EXPECT_GE(faults, 3);
  }
}

TEST(EditFaults, FailedReadLeavesTheOldContent) {
  SyntheticElf subject = FaultySubject();
  const std::string before = subject.Build();
  for (const Edits& edits : FaultyEdits()) {
    RunFaultLoop({.scope = FaultScope::kReading,
                  .setup = [&](MemFs& fs) { fs.AddFile(kFile.str(), before); },
                  .run = [&](Fs& fs) -> Result<void> {
                    PTPKG_TRY(const EditPlan plan, EditFile(fs, kFile, edits));
                    return Ok();
                  },
                  .check = [&](MemFs& fs, const Error&) { EXPECT_EQ(fs.Content(kFile.str()), before); }});
  }
}

TEST(EditFaults, DeathAtAnyWriteIsUndoneByTheNextCall) {
  for (const Edits& edits : FaultyEdits()) {
    SyntheticElf subject = FaultySubject();
    const std::string before = subject.Build();
    MemFs reference;
    reference.AddFile(kFile.str(), before);
    ASSERT_OK(EditFile(reference, kFile, edits));
    const std::string after = reference.Content(kFile.str());
    bool survived = false;
    for (std::uint64_t number = 1; !survived; ++number) {
      SCOPED_TRACE(number);
      MemFs fs;
      fs.AddFile(kFile.str(), before);
      FaultFs faulty(
          fs, {.number = number, .sys_errno = 5, .scope = FaultScope::kMutating, .after = FaultAfter::kDead});
      survived = EditFile(faulty, kFile, edits).has_value();
      if (!OpenRecovered(fs, kFile)->interrupted) {
        EXPECT_THAT(fs.Content(kFile.str()), ::testing::AnyOf(before, after))
            << "no record, so one of the two";
      }
      ASSERT_OK(RecoverEdit(fs, kFile));
      EXPECT_THAT(fs.Content(kFile.str()), ::testing::AnyOf(before, after));
      ASSERT_OK(EditFile(fs, kFile, edits));
      EXPECT_EQ(fs.Content(kFile.str()), after) << "a rerun ends in the same bytes";
      EXPECT_THAT(fs.List("/tree"), ElementsAre("libanswer.so"));
    }
  }
}

TEST(EditFaults, DeathWhileReplacingAHardLinkKeepsTheOld) {
  const std::string before = FaultySubject().Build();
  bool survived = false;
  for (std::uint64_t number = 1; !survived; ++number) {
    MemFs fs;
    fs.AddFile(kFile.str(), before);
    ASSERT_OK(fs.CreateHardLink(kFile, AbsPath::Literal("/tree/other.so")));
    FaultFs faulty(
        fs, {.number = number, .sys_errno = 5, .scope = FaultScope::kMutating, .after = FaultAfter::kDead});
    survived = EditFile(faulty, kFile, SetPath("$ORIGIN/lib")).has_value();
    EXPECT_EQ(fs.Content("/tree/other.so"), before);
    EXPECT_TRUE(survived || fs.Content(kFile.str()) == before ||
                FactsOf(fs, kFile).runpath->text == "$ORIGIN/lib");
  }
}

TEST(EditFaults, FullDiskRestoresTheOldSize) {
  const std::string before = FaultySubject().Build();
  MemFs fs;
  fs.AddFile(kFile.str(), before);
  fs.LimitBytes(before.size() + 3000);
  EXPECT_THAT(EditFile(fs, kFile, SetPath("$ORIGIN/" + std::string(500, 'g'))), FailsWith(ErrorCode::kIo, _));
  EXPECT_EQ(fs.Content(kFile.str()), before);
  EXPECT_THAT(fs.List("/tree"), ElementsAre("libanswer.so"));
}

}  // namespace
}  // namespace ptpkg::elf::test
