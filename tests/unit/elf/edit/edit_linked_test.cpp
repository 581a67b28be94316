// Edits of libraries and programs that real linkers made, judged by loading them.

#include <array>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <thread>

#include "elf/edit/edit.h"
#include "elf/read/model.h"
#include "support/digest/hash.h"
#include "support/matchers.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string LongText() { return "$ORIGIN/deps:$ORIGIN/" + std::string(619, 'x'); }

class LinkedEdit : public ::testing::TestWithParam<std::string> {
 protected:
  Image Headers() {
    const auto file = toys_.fs().Open(library_, OpenMode::kRead);
    return **ReadImage(**file);
  }

  LinkedToys toys_{GetParam()};
  AbsPath library_ = toys_.Path("libanswer.so");
};

INSTANTIATE_TEST_SUITE_P(Linkers, LinkedEdit, ::testing::ValuesIn(InstalledLinkers()),
                         [](const auto& tested) { return tested.param; });

TEST_P(LinkedEdit, NewSearchPathMakesTheLibraryLoad) {
  ASSERT_EQ(toys_.Load(library_), 1);
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  EXPECT_EQ(plan.tier, WriteTier::kAppend);
  EXPECT_EQ(toys_.Load(library_), 42);
  EXPECT_THAT(toys_.Output({"readelf", "-dW", "libanswer.so"}), HasSubstr("Library runpath: [$ORIGIN/deps]"));
}

TEST_P(LinkedEdit, TagFollowsTheWish) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  Edits edits;
  edits.search_path = SearchPath{.tag = PathTag::kRpath, .text = "$ORIGIN/deps"};
  const std::string before = toys_.Bytes("libanswer.so");
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), library_, edits));
  EXPECT_EQ(plan.tier, WriteTier::kInPlace);
  EXPECT_EQ(plan.BytesToWrite(), 1U) << "only the tag's low byte differs";
  EXPECT_EQ(toys_.Bytes("libanswer.so").size(), before.size());
  EXPECT_THAT(toys_.Output({"readelf", "-dW", "libanswer.so"}), HasSubstr("Library rpath: [$ORIGIN/deps]"));
  EXPECT_EQ(toys_.Load(library_), 42);
}

TEST_P(LinkedEdit, SecondGrowthNeedsNoRoom) {
  ASSERT_OK_AND_ASSIGN(const EditPlan first, EditFile(toys_.fs(), library_, SetPath(LongText())));
  EXPECT_EQ(first.tier, WriteTier::kAppend);
  EXPECT_LE(first.BytesGrown(), 64U << 10U);
  ASSERT_OK_AND_ASSIGN(const EditPlan second,
                       EditFile(toys_.fs(), library_, SetPath(LongText() + ":$ORIGIN/y")));
  EXPECT_EQ(second.tier, WriteTier::kInPlace);
  EXPECT_EQ(second.BytesGrown(), 0U);
  EXPECT_EQ(toys_.Load(library_), 42);
}

TEST_P(LinkedEdit, OneSegmentIsAddedHoweverOftenTheFileGrows) {
  const auto loads = [&] {
    const auto file = toys_.fs().Open(library_, OpenMode::kRead);
    const auto image = ReadImage(**file);
    return std::count_if((**image).segments.begin(), (**image).segments.end(),
                         [](const Segment& s) { return s.type == kSegmentLoad; });
  };
  const auto before = loads();
  std::string path = "$ORIGIN/deps";
  for (int i = 0; i < 12; ++i) {
    path += ":$ORIGIN/" + std::string(700, static_cast<char>('a' + i));
    ASSERT_OK(EditFile(toys_.fs(), library_, SetPath(path)));
  }
  EXPECT_EQ(loads(), before + 1);
  EXPECT_EQ(toys_.Load(library_), 42);
  EXPECT_EQ(FactsOf(toys_.fs(), library_).runpath->text, path);
}

TEST_P(LinkedEdit, SupersededPathStaysNowhere) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("/secret/build/place")));
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath(LongText())));
  EXPECT_THAT(toys_.Bytes("libanswer.so"), Not(HasSubstr("/secret/build")));
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  EXPECT_THAT(toys_.Bytes("libanswer.so"), Not(HasSubstr("xxxx")));
  Edits remove;
  remove.remove_search_path = true;
  ASSERT_OK(EditFile(toys_.fs(), library_, remove));
  EXPECT_FALSE(FactsOf(toys_.fs(), library_).Effective().has_value());
  EXPECT_EQ(toys_.Load(library_), 1);
}

TEST_P(LinkedEdit, NothingToDoTouchesNothing) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  const std::string before = toys_.Bytes("libanswer.so");
  ASSERT_OK_AND_ASSIGN(const FileStat stat, toys_.fs().Lstat(library_));
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  EXPECT_EQ(plan.tier, WriteTier::kNothing);
  EXPECT_EQ(plan.BytesToWrite(), 0U);
  EXPECT_EQ(*toys_.fs().Lstat(library_), stat);
  EXPECT_EQ(toys_.Bytes("libanswer.so"), before);
}

TEST_P(LinkedEdit, ReplacedNeededFollowsInTheVersionRequirement) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  ASSERT_OK(toys_.fs().Rename(toys_.Path("deps/libdeep.so"), toys_.Path("deps/libdeep-0badcafe.so.1")));
  ASSERT_EQ(toys_.Load(library_), 1);
  Edits edits;
  edits.replace_needed = {{"libdeep.so.1", "libdeep-0badcafe.so.1"}};
  ASSERT_OK(EditFile(toys_.fs(), library_, edits));
  const LinkFacts facts = FactsOf(toys_.fs(), library_);
  EXPECT_THAT(facts.needed, ::testing::Contains("libdeep-0badcafe.so.1"));
  EXPECT_THAT(facts.version_files, ::testing::Contains("libdeep-0badcafe.so.1"));
  EXPECT_THAT(facts.version_files, Not(::testing::Contains("libdeep.so.1")));
  EXPECT_EQ(toys_.Load(library_), 42);
}

TEST_P(LinkedEdit, RemovedNeededTakesItsVersionRequirementAlong) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  Edits remove;
  remove.remove_needed = {"libdeep.so.1"};
  ASSERT_OK(EditFile(toys_.fs(), library_, remove));
  EXPECT_THAT(FactsOf(toys_.fs(), library_).version_files, Not(::testing::Contains("libdeep.so.1")));
  EXPECT_EQ(toys_.Load(library_), 1) << "deep() is undefined now";
  Edits add;
  add.add_needed = {"libdeep.so.1"};
  ASSERT_OK(EditFile(toys_.fs(), library_, add));
  EXPECT_EQ(FactsOf(toys_.fs(), library_).needed.front(), "libdeep.so.1");
  EXPECT_EQ(toys_.Load(library_), 42) << "deep() is looked up without a version";
  EXPECT_THAT(toys_.Output({"readelf", "-VW", "libanswer.so"}), Not(HasSubstr("DEEP_1")));
}

TEST_P(LinkedEdit, NeededThatIsRemovedAndAddedKeepsItsVersionRequirement) {
  Edits edits = SetPath("$ORIGIN/deps");
  edits.remove_needed = edits.add_needed = {"libdeep.so.1"};
  ASSERT_OK(EditFile(toys_.fs(), library_, edits));
  EXPECT_EQ(FactsOf(toys_.fs(), library_).needed.front(), "libdeep.so.1");
  EXPECT_EQ(toys_.Load(library_), 42);
  EXPECT_THAT(toys_.Output({"readelf", "-VW", "libanswer.so"}), HasSubstr("DEEP_1"));
  EXPECT_THAT(toys_.Output({"readelf", "-sW", "--dyn-syms", "libanswer.so"}), HasSubstr("deep@DEEP_1"));
}

TEST_P(LinkedEdit, SonameIsSet) {
  Edits edits = SetPath("$ORIGIN/deps");
  edits.soname = "libquestion-with-a-rather-long-name.so.7";
  ASSERT_OK(EditFile(toys_.fs(), library_, edits));
  EXPECT_THAT(toys_.Output({"readelf", "-dW", "libanswer.so"}),
              HasSubstr("Library soname: [libquestion-with-a-rather-long-name.so.7]"));
  EXPECT_EQ(toys_.Load(library_), 42);
}

TEST_P(LinkedEdit, ProgramsRunWithLongerInterpreterAndPath) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  for (const char* name : {"app", "app_fixed"}) {
    SCOPED_TRACE(name);
    const AbsPath program = toys_.Path(name);
    const std::string interpreter = *FactsOf(toys_.fs(), program).interpreter;
    EXPECT_NE(toys_.Run(program), 42);
    Edits edits = SetPath("$ORIGIN");
    edits.interpreter = "/lib64/../lib64/.././" + interpreter;
    ASSERT_OK(EditFile(toys_.fs(), program, edits));
    EXPECT_EQ(toys_.Run(program), 42);
    Edits back;
    back.interpreter = interpreter;
    ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), program, back));
    EXPECT_EQ(plan.tier, WriteTier::kInPlace);
    EXPECT_EQ(toys_.Run(program), 42);
  }
}

/// The kernel looks at the size of PT_INTERP before it looks at the name.
TEST_P(LinkedEdit, APlaceThatWasTooLongForTheKernelShrinksWithTheName) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  const AbsPath program = toys_.Path("app");
  const std::string interpreter = *FactsOf(toys_.fs(), program).interpreter;
  Edits edits = SetPath("$ORIGIN");
  for (const std::size_t size : {0U, 4096U}) {
    edits.interpreter = std::string(size, 'a');
    EXPECT_THAT(EditFile(toys_.fs(), program, edits),
                ptpkg::test::FailsWith(ErrorCode::kInvalidInput, HasSubstr("1 to 4095 bytes")));
  }
  edits.interpreter = "/" + std::string(4094, 'a');
  ASSERT_OK(EditFile(toys_.fs(), program, edits));
  edits.interpreter = interpreter;
  ASSERT_OK(EditFile(toys_.fs(), program, edits));
  EXPECT_EQ(toys_.Run(program), 42);
  ASSERT_OK_AND_ASSIGN(const auto file, toys_.fs().Open(program, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(*file));
  EXPECT_EQ(image->FindSegment(kSegmentInterp)->file_size, interpreter.size() + 1);
}

TEST_P(LinkedEdit, StackFlagGoesBothWays) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  const std::string before = toys_.Bytes("libanswer.so");
  for (const bool executable : {true, false}) {
    Edits edits;
    edits.executable_stack = executable;
    ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), library_, edits));
    EXPECT_EQ(plan.BytesToWrite(), 1U);
    EXPECT_EQ(plan.after.stack, executable ? StackFlag::kExecutable : StackFlag::kNotExecutable);
    EXPECT_EQ(toys_.Load(library_), 42);
  }
  EXPECT_EQ(toys_.Bytes("libanswer.so"), before);
}

TEST_P(LinkedEdit, AllEditsAtOnceAreOneTransaction) {
  Edits edits = SetPath(LongText());
  edits.soname = "libother.so";
  edits.add_needed = {"libpthread.so.0"};
  edits.replace_needed = {{"libm.so.6", "libm-renamed.so.6"}};
  edits.executable_stack = false;
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), library_, edits));
  EXPECT_EQ(FactsOf(toys_.fs(), library_), plan.after);
  edits = Edits();
  edits.replace_needed = {{"libm-renamed.so.6", "libm.so.6"}};
  ASSERT_OK(EditFile(toys_.fs(), library_, edits));
  EXPECT_EQ(toys_.Load(library_), 42);
}

TEST_P(LinkedEdit, EveryPrefixOfAGrowingEditLoadsAsTheOldOrTheNew) {
  ASSERT_OK(EditFile(toys_.fs(), library_, SetPath("$ORIGIN/deps")));
  Edits edits = SetPath(LongText() + std::string(5000, 'y'));
  edits.replace_needed = {{"libdeep.so.1", "../libdeep-but-with-a-much-longer-name.so.1"}};
  ASSERT_OK(
      toys_.fs().CreateSymlink("libdeep.so", toys_.Path("deps/libdeep-but-with-a-much-longer-name.so.1")));
  edits.replace_needed = {{"libdeep.so.1", "libdeep-but-with-a-much-longer-name.so.1"}};
  ASSERT_OK_AND_ASSIGN(const auto file, toys_.fs().Open(library_, OpenMode::kRead));
  ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(*file));
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, PlanEdit(*file, *image, edits));
  ASSERT_EQ(plan.tier, WriteTier::kAppend);
  const AbsPath copy = toys_.Path("libcopy.so");
  std::vector<bool> is_new;
  for (std::size_t count = 0; count <= plan.writes.size(); ++count) {
    SCOPED_TRACE(count);
    ASSERT_OK(toys_.fs().CopyFile(library_, copy));
    {
      ASSERT_OK_AND_ASSIGN(const auto out, toys_.fs().Open(copy, OpenMode::kReadWrite));
      for (std::size_t i = 0; i < count; ++i) {
        const PlannedWrite& write = plan.writes[i];
        std::vector<std::byte> bytes = write.bytes;
        if (write.copy_bytes != 0) {
          ASSERT_OK_AND_ASSIGN(bytes, ReadExact(*out, write.copy_from, write.copy_bytes, "copy"));
        }
        ASSERT_OK(out->WriteAt(write.offset, bytes));
      }
    }
    const LinkFacts facts = FactsOf(toys_.fs(), copy);
    EXPECT_TRUE(facts == plan.before || facts == plan.after);
    is_new.push_back(facts == plan.after);
    EXPECT_EQ(toys_.Load(copy), 42);
    ASSERT_OK(toys_.fs().Remove(copy));
  }
  EXPECT_TRUE(std::is_sorted(is_new.begin(), is_new.end())) << "one switch, from the old to the new";
  EXPECT_FALSE(is_new.front());
  EXPECT_TRUE(is_new.back());
}

TEST_P(LinkedEdit, DeepVerificationAcceptsWhatWasPlanned) {
  const ApplyOptions deep{.verification = Verification::kDeep};
  for (const std::string& path : {LongText(), std::string("$ORIGIN/deps")}) {
    Edits edits = SetPath(path);
    edits.replace_needed = {{"libm.so.6", "libm.so.6"}};
    ASSERT_OK(EditFile(toys_.fs(), library_, edits, deep));
  }
  EXPECT_EQ(toys_.Load(library_), 42);
}

TEST_P(LinkedEdit, TablesAloneGiveTheModelOfTheWholeFile) {
  for (const char* name : {"libanswer.so", "deps/libdeep.so", "app", "app_fixed"}) {
    SCOPED_TRACE(name);
    const AbsPath path = toys_.Path(name);
    for (const bool grown : {false, true}) {
      if (grown) {
        ASSERT_OK(
            EditFile(toys_.fs(), path, SetPath(LongText()), {.verification = Verification::kDeepIfGrown}));
      }
      ASSERT_OK_AND_ASSIGN(const auto file, toys_.fs().Open(path, OpenMode::kRead));
      ASSERT_OK_AND_ASSIGN(const auto image, ReadImage(*file));
      ASSERT_OK_AND_ASSIGN(const Model tables, ReadModelOfTables(*file, *image));
      ASSERT_OK_AND_ASSIGN(const Model whole, ReadModel(path));
      EXPECT_EQ(tables.facts, whole.facts);
      EXPECT_EQ(tables.symbols, whole.symbols);
      EXPECT_FALSE(tables.symbols.empty());
      EXPECT_EQ(tables.facts.needed, FactsOf(toys_.fs(), path).needed);
    }
  }
}

TEST_P(LinkedEdit, DeepVerificationLooksAtTheCodeNotAtTheHeadersBesideIt) {
  const auto hash = [&](const std::vector<PlannedWrite>& changing) {
    const auto file = toys_.fs().Open(library_, OpenMode::kRead);
    return *HashCode(**file, **ReadImage(**file), changing);
  };
  const auto poke = [&](std::uint64_t offset) {
    const auto file = toys_.fs().Open(library_, OpenMode::kReadWrite);
    std::array<std::byte, 1> byte{};
    ASSERT_OK((*file)->ReadAt(offset, byte));
    byte[0] ^= std::byte{1};
    ASSERT_OK((*file)->WriteAt(offset, byte));
  };
  const auto file = toys_.fs().Open(library_, OpenMode::kRead);
  const auto image = *ReadImage(**file);
  const auto code = std::find_if(image->sections.begin(), image->sections.end(),
                                 [](const Section& s) { return (s.flags & 4U) != 0 && s.size != 0; });
  ASSERT_NE(code, image->sections.end());
  const auto before = hash({});
  poke(image->strings.offset + 1);
  EXPECT_EQ(hash({}), before) << "a name is not code, whatever segment it lies in";
  poke(code->offset);
  EXPECT_NE(hash({}), before);
  EXPECT_NE(hash({{.offset = code->offset, .bytes = std::vector<std::byte>(1)}}), before)
      << "a planned write into code is no excuse";
}

TEST_P(LinkedEdit, SymbolOfAMovedDynamicSectionFollows) {
  // More entries than any linker leaves room for.
  Edits edits = SetPath(LongText());
  for (int i = 0; i < 8; ++i) edits.add_needed.push_back("libnone" + std::to_string(i) + ".so");
  const auto before = Headers();
  ASSERT_OK(EditFile(toys_.fs(), library_, edits, {.verification = Verification::kDeep}));
  const auto after = Headers();
  ASSERT_NE(after.dynamic->range.vaddr, before.dynamic->range.vaddr);
  const std::string address = fmt::format("{:016x}", after.dynamic->range.vaddr);
  EXPECT_THAT(toys_.Output({"sh", "-c", "readelf -sW libanswer.so | grep ' _DYNAMIC$'"}), HasSubstr(address));
}

TEST_P(LinkedEdit, AProgramStillFindsDtDebugByDynamic) {
  ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("debug.c"),
                      "#include <link.h>\n"
                      "extern ElfW(Dyn) _DYNAMIC[];\n"
                      "int main(void) {\n"
                      "  for (const ElfW(Dyn)* d = _DYNAMIC; d->d_tag != DT_NULL; ++d)\n"
                      "    if (d->d_tag == DT_DEBUG) return d->d_un.d_ptr != 0 ? 0 : 1;\n"
                      "  return 2;\n"
                      "}\n"));
  for (const char* form : {"-pie", "-no-pie"}) {
    toys_.Output({"gcc", "-fPIE", form, "-fuse-ld=" + GetParam(), "debug.c", "-o", "debug"});
    EXPECT_EQ(toys_.Output({"sh", "-c", "./debug; echo $?"}), "0\n") << form;
    const auto edited = EditFile(toys_.fs(), toys_.Path("debug"), SetPath(LongText()));
    // lld leaves no free entry, and .dynamic has a user: refused, and unchanged.
    if (!edited) {
      EXPECT_THAT(edited, FailsWith(ErrorCode::kUnsupported, HasSubstr("cannot move: code at address")));
    }
    EXPECT_TRUE(edited || GetParam() == "lld");
    EXPECT_EQ(toys_.Output({"sh", "-c", "./debug; echo $?"}), "0\n") << form;
  }
}

/// A library whose code reads its own note and .dynamic; with HIDES, by instructions behind data.
constexpr const char* kSelfReader = R"(
#include <elf.h>
#define TABLE ".balign 16\n.byte 0x98,0x2f,0x8a,0x42,0x91,0x44,0x37,0x71,0xcf,0xfb,0xc0,0xb5,0xa5,0x48,0xb8\n"
__asm__(".section .note.own, \"a\", @note\n.balign 4\n.globl own\n.hidden own\n.hidden _DYNAMIC\n"
        "own: .long 4, 4, 1\n.asciz \"GNU\"\n.long 7\n.text\n");
#ifdef HIDES
__asm__(TABLE "get_dynamic: lea _DYNAMIC(%rip), %rax\nret\n" TABLE "get_own: mov own(%rip), %eax\nret\n");
__attribute__((visibility("hidden"))) const Elf64_Dyn* get_dynamic(void);
__attribute__((visibility("hidden"))) unsigned get_own(void);
#else
extern const Elf64_Dyn dynamic[] __asm__("_DYNAMIC") __attribute__((visibility("hidden")));
extern const unsigned own[] __attribute__((visibility("hidden")));
static const Elf64_Dyn* get_dynamic(void) { return dynamic; }
static unsigned get_own(void) { return own[4] == 7 ? own[0] : 0; }
#endif
int answer(void) {
  if (get_own() != 4) return 1;
  for (const Elf64_Dyn* d = get_dynamic(); d->d_tag != DT_NULL; ++d)
    if (d->d_tag == DT_STRTAB) return d->d_un.d_ptr > 0x100000 ? 42 : 2;  // ld.so has added the load address
  return 3;
}
)";

TEST_P(LinkedEdit, LibraryStillReadsItselfInEachCodeModel) {
#ifndef __x86_64__
  GTEST_SKIP() << "code models of x86-64";
#endif
  ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("self.c"), kSelfReader));
  // More entries than any linker leaves room for, or few ones.
  Edits many = SetPath(LongText());
  many.add_needed = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1", "libutil.so.1"};
  for (const char* option : {"-mcmodel=small", "-mcmodel=medium", "-mcmodel=large", "-DHIDES"}) {
    for (const Edits& edits : {many, SetPath("/" + std::string(9000, 'x'))}) {
      SCOPED_TRACE(option);
      toys_.Output({"gcc", "-O1", option, "-shared", "-fPIC", "-nostdlib", "-fuse-ld=" + GetParam(), "self.c",
                    "-o", "self.so"});
      ASSERT_EQ(toys_.Load(toys_.Path("self.so")), 42);
      const auto edited = EditFile(toys_.fs(), toys_.Path("self.so"), edits);
      if (!edited) {
        EXPECT_THAT(edited, FailsWith(ErrorCode::kUnsupported, HasSubstr("cannot move: code at address")));
      }
      EXPECT_EQ(toys_.Load(toys_.Path("self.so")), 42);
    }
  }
}

/// lld leaves empty sections beside a .dynamic that has a segment of its own.
TEST_P(LinkedEdit, EmptySectionsFollowADynamicSectionThatMoves) {
  ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("lone.c"), "int answer(void) { return 42; }\n"));
  const auto link = [&] {
    toys_.Output(
        {"gcc", "-shared", "-fPIC", "-nostdlib", "-fuse-ld=" + GetParam(), "lone.c", "-o", "lone.so"});
  };
  const auto orphans = [&] {
    return toys_.Output(
        {"sh", "-c", "eu-elflint --gnu-ld lone.so | grep -Ec '[.](data|bss).*not in any loaded'; true"});
  };
  link();
  const std::string before = orphans();
  for (const std::string tool : {"true", "strip", "llvm-strip", "eu-strip"}) {
    SCOPED_TRACE(tool);
    link();
    ASSERT_OK(EditFile(toys_.fs(), toys_.Path("lone.so"), SetPath(LongText()),
                       {.verification = Verification::kDeep}));
    EXPECT_EQ(orphans(), before);
    toys_.Output({"sh", "-c", "! command -v " + tool + " || " + tool + " lone.so"});
    EXPECT_EQ(orphans(), before);
    EXPECT_EQ(toys_.Load(toys_.Path("lone.so")), 42);
    ASSERT_OK(EditFile(toys_.fs(), toys_.Path("lone.so"), SetPath("/" + std::string(9000, 'x'))));
    EXPECT_EQ(orphans(), before);
    EXPECT_EQ(toys_.Load(toys_.Path("lone.so")), 42);
  }
}

TEST_P(LinkedEdit, LastVersionRequirementLeavesNoTables) {
  ASSERT_OK(WriteFile(toys_.fs(), toys_.Path("c.c"),
                      "double cos(double);\ndouble f(double x) { return cos(x); }\n"));
  toys_.Output({"gcc", "-shared", "-fPIC", "-nodefaultlibs", "-fuse-ld=" + GetParam(), "c.c", "-o", "c.so",
                "-Wl,--no-as-needed", "-lm"});
  Edits edits;
  edits.remove_needed = {"libm.so.6"};
  for (const bool grows : {false, true}) {
    ASSERT_OK(toys_.fs().CopyFile(toys_.Path("c.so"), toys_.Path("d.so")));
    if (grows) edits.search_path = SearchPath{.text = LongText()};
    ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys_.fs(), toys_.Path("d.so"), edits));
    EXPECT_EQ(plan.tier, grows ? WriteTier::kAppend : WriteTier::kInPlace);
    EXPECT_THAT(toys_.Output({"readelf", "-VW", "d.so"}), Not(HasSubstr("Version needs section")));
    toys_.Output({"strip", "d.so"});
    EXPECT_THAT(toys_.Output({"readelf", "-VW", "d.so"}), Not(HasSubstr("Version needs section")));
    ASSERT_OK(toys_.fs().Remove(toys_.Path("d.so")));
  }
}

TEST(LinkedEditBfd, StringSharedWithASymbolStays) {
  LinkedToys toys("with-shared-string");
  const AbsPath library = toys.Path("libanswer.so");
  ASSERT_EQ(FactsOf(toys.fs(), library).runpath->text, "answer");
  ASSERT_OK(EditFile(toys.fs(), library, SetPath("$ORIGIN/deps")));
  EXPECT_EQ(toys.Load(library), 42) << "the symbol answer must still be found";
  EXPECT_THAT(toys.Output({"readelf", "--dyn-syms", "-W", "libanswer.so"}), HasSubstr(" answer\n"));
}

TEST(LinkedEditBfd, ReservedRoomIsUsedInPlaceAndSurvivesStrip) {
  LinkedToys toys("with-pad");
  const AbsPath library = toys.Path("libanswer.so");
  const std::size_t size = toys.Bytes("libanswer.so").size();
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys.fs(), library, SetPath(LongText())));
  EXPECT_EQ(plan.tier, WriteTier::kInPlace);
  EXPECT_EQ(toys.Bytes("libanswer.so").size(), size);
  EXPECT_EQ(toys.Load(library), 42);
  static_cast<void>(toys.Output({"strip", "-s", "libanswer.so"}));
  EXPECT_EQ(FactsOf(toys.fs(), library).runpath->text, LongText());
  EXPECT_EQ(toys.Load(library), 42);
}

TEST(LinkedEditBfd, BothTagsBecomeOne) {
  LinkedToys toys("with-rpath");
  const AbsPath library = toys.Path("libanswer.so");
  ASSERT_TRUE(FactsOf(toys.fs(), library).rpath.has_value());
  ASSERT_OK(EditFile(toys.fs(), library, SetPath("$ORIGIN/deps")));
  const LinkFacts facts = FactsOf(toys.fs(), library);
  EXPECT_FALSE(facts.rpath.has_value());
  EXPECT_EQ(facts.runpath->text, "$ORIGIN/deps");
  EXPECT_EQ(toys.Load(library), 42);
}

TEST(LinkedEditBfd, ModeAndOtherHardLinksAreKept) {
  LinkedToys toys("bfd");
  const AbsPath library = toys.Path("libanswer.so");
  const AbsPath other = toys.Path("other.so");
  const std::string before = toys.Bytes("libanswer.so");
  ASSERT_OK(toys.fs().SetMode(library, 0750));
  ASSERT_OK(toys.fs().CreateHardLink(library, other));
  ASSERT_OK(EditFile(toys.fs(), library, SetPath("$ORIGIN/deps")));
  EXPECT_EQ(toys.Bytes("other.so"), before);
  EXPECT_EQ(toys.Load(library), 42);
  ASSERT_OK_AND_ASSIGN(const FileStat stat, toys.fs().Lstat(library));
  EXPECT_EQ(stat.mode, 0750U);
  EXPECT_EQ(stat.link_count, 1U);
}

TEST(LinkedEditBfd, RunningProgramIsReplacedNotOverwritten) {
  LinkedToys toys("bfd");
  static_cast<void>(toys.Output({"cp", "/bin/sh", "napper"}));
  const AbsPath napper = toys.Path("napper");
  CancelToken stop;
  std::thread nap([&] {
    const Command command{.argv = {napper.str(), "-c", ": > started; sleep 30; :"},
                          .env = {{"PATH", "/usr/bin:/bin"}},
                          .cwd = toys.root(),
                          .log_file = {},
                          .on_line = {},
                          .timeout = {},
                          .cancel = &stop};
    EXPECT_THAT(toys.env().process.Run(command), FailsWith(ErrorCode::kCancelled, ::testing::_));
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!*Exists(toys.fs(), toys.Path("started")) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  EXPECT_THAT(toys.fs().Open(napper, OpenMode::kReadWrite), FailsWith(ErrorCode::kIo, HasSubstr("napper")));
  const auto edited = EditFile(toys.fs(), napper, SetPath("$ORIGIN"));
  stop.Cancel();
  nap.join();
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, edited);
  EXPECT_EQ(plan.after.runpath->text, "$ORIGIN");
  EXPECT_EQ(FactsOf(toys.fs(), napper), plan.after);
  EXPECT_EQ(toys.Output({napper.str(), "-c", "echo yes"}), "yes\n");
}

}  // namespace
}  // namespace ptpkg::elf::test
