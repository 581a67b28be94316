// What others do to a file after it grew: strip, eu-strip, objcopy, llvm-strip, eu-elflint.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "elf/edit/edit.h"
#include "support/matchers.h"
#include "support/process/process.h"
#include "support/text/text.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/linked_toys.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::HasHint;
using ::testing::AllOf;
using ::testing::HasSubstr;

using Argv = std::vector<std::string>;

Edits Path(const std::string& text) {
  Edits edits;
  edits.search_path = SearchPath{.text = text};
  return edits;
}

bool IsInstalled(const std::string& program) {
  return FindProgram(program, "/usr/local/bin:/usr/bin:/bin").has_value();
}

/// Programs that take a linked file apart and put it together again, in place.
std::vector<Argv> InstalledStrippers() {
  const std::vector<Argv> all = {{"strip"},
                                 {"strip", "--strip-debug"},
                                 {"objcopy"},
                                 {"objcopy", "--strip-unneeded"},
                                 {"eu-strip"},
                                 {"llvm-strip"},
                                 {"llvm-objcopy", "--strip-unneeded"}};
  std::vector<Argv> installed;
  for (const Argv& tool : all) {
    if (IsInstalled(tool.front())) installed.push_back(tool);
  }
  return installed;
}

/// What eu-elflint says about the file; nothing where it is not installed. An empty section, such as lld's
/// .data, needs no segment: it has nothing to be loaded.
std::vector<std::string> Complaints(LinkedToys& toys, const std::string& name) {
  if (!IsInstalled("eu-elflint")) return {};
  auto lines = Split(toys.Output({"sh", "-c", "eu-elflint --gnu-ld \"$1\" || true", "sh", name}), '\n');
  const auto file = toys.fs().Open(toys.Path(name), OpenMode::kRead);
  const auto image = ReadImage(**file);
  std::erase_if(lines, [&](const std::string& line) {
    if (line.find("section not in any loaded segment") == std::string::npos) return false;
    const std::size_t number = std::stoul(line.substr(line.find('[') + 1));
    return (*image)->sections.at(number).size == 0;
  });
  return lines;
}

/// A file, or several, that grow in each way and are then given to each tool.
void ExpectSurvival(LinkedToys& toys, const std::string& name, const std::function<void()>& use,
                    const Edits& edits = LongPath()) {
  const AbsPath file = toys.Path(name);
  const AbsPath original = toys.Path("original");
  const AbsPath grown = toys.Path("grown");
  const std::size_t complaints = Complaints(toys, name).size();
  ASSERT_OK(toys.fs().Rename(file, original));
  ASSERT_OK(toys.fs().CopyFile(original, file));
  ASSERT_OK_AND_ASSIGN(const EditPlan plan,
                       EditFile(toys.fs(), file, edits, {.verification = Verification::kDeep}));
  ASSERT_EQ(plan.tier, WriteTier::kAppend);
  EXPECT_FALSE(plan.strip_hazard);
  EXPECT_LE(Complaints(toys, name).size(), complaints) << Join(Complaints(toys, name), "\n");
  use();
  ASSERT_OK(toys.fs().Rename(file, grown));
  for (const Argv& tool : InstalledStrippers()) {
    SCOPED_TRACE(Join(tool, " "));
    ASSERT_OK(toys.fs().CopyFile(grown, file));
    Argv command = tool;
    command.push_back(name);
    toys.Output(command);
    use();
    // And it can be edited again.
    ASSERT_OK(EditFile(toys.fs(), file, Path("$ORIGIN/deps:$ORIGIN:/" + std::string(9000, 'h'))));
    use();
    ASSERT_OK(toys.fs().Remove(file));
  }
  ASSERT_OK(toys.fs().Rename(grown, file));
  ASSERT_OK(toys.fs().Remove(original));
}

class Stripped : public ::testing::TestWithParam<std::string> {};

INSTANTIATE_TEST_SUITE_P(Linkers, Stripped, ::testing::ValuesIn(InstalledLinkers()),
                         [](const auto& tested) { return tested.param; });

TEST_P(Stripped, LibraryAndProgramsThatGrewStillRun) {
  LinkedToys toys(GetParam());
  ExpectSurvival(toys, "libanswer.so", [&] { ASSERT_EQ(toys.Load(toys.Path("libanswer.so")), 42); });
  for (const char* name : {"app", "app_fixed"}) {
    ExpectSurvival(toys, name, [&] { ASSERT_EQ(toys.Run(toys.Path(name)), 42); });
  }
}

TEST_P(Stripped, LibraryWhoseCodeReadsWhatCouldMoveStillWorks) {
  for (const std::string& shape : ShapesOf(GetParam())) {
    SCOPED_TRACE(shape);
    LinkedToys toys(GetParam());
    const AbsPath library = toys.AddShape(GetParam(), shape);
    ASSERT_EQ(toys.Load(library), 42);
    ExpectSurvival(toys, shape, [&] { ASSERT_EQ(toys.Load(library), 42); });
  }
}

/// Notes may move where only numbers look like their addresses: offsets of thread-local variables,
/// relocations of these, and operands that begin in the midst of an address.
TEST_P(Stripped, NumbersThatLookLikeAddressesHinderNoMove) {
  LinkedToys toys(GetParam());
  ASSERT_OK(WriteFile(toys.fs(), toys.Path("numbers.c"), R"(
#define ONE(n) _Thread_local char t##n[16] = {42}; static _Thread_local char own##n[16] = {42};
#define TEN(n) ONE(n##0) ONE(n##1) ONE(n##2) ONE(n##3) ONE(n##4) ONE(n##5) ONE(n##6) ONE(n##7) ONE(n##8) ONE(n##9)
TEN(1) TEN(2) TEN(3) TEN(4) TEN(5) TEN(6) TEN(7)
#define USE(n) sum += own1##n[0] + own2##n[0] + own3##n[0] + own4##n[0] + own5##n[0] + own6##n[0] + own7##n[0];
int answer(void) {
  volatile int sum = 0;
  USE(0) USE(1) USE(2) USE(3) USE(4) USE(5) USE(6) USE(7) USE(8) USE(9)
  volatile int page = 0x4002, other = 0x2002, third = 0x4003, fourth = 0x2003;
  volatile int mask = 0x400300, second = 0x4002f0, third_mask = 0x2002f0;  // begin no note
  return sum / 70 + 0 * (page + other + third + fourth + mask + second + third_mask);
}
int main(void) { return answer(); }
)"));
  const std::string link = "gcc -rdynamic -fno-plt numbers.c -fuse-ld=" + GetParam();
  toys.Output({"sh", "-c", link + " -shared -fPIC -o libnumbers.so"});
  toys.Output({"sh", "-c", link + " -ftls-model=initial-exec -fPIE -pie -o numbers_pie"});
  toys.Output({"sh", "-c", link + " -fno-pie -no-pie -o numbers_fixed"});
  ExpectSurvival(toys, "libnumbers.so", [&] { ASSERT_EQ(toys.Load(toys.Path("libnumbers.so")), 42); });
  for (const char* name : {"numbers_pie", "numbers_fixed"}) {
    ExpectSurvival(toys, name, [&] { ASSERT_EQ(toys.Run(toys.Path(name)), 42); });
  }
}

/// A note whose owner is known moves, unless code reads it.
TEST(Stripped32Bit, NotesThatCodeReadsStay) {
  LinkedToys toys("bfd");
  ASSERT_OK(WriteFile(toys.fs(), toys.Path("note.c"), R"(
struct note { unsigned name_size, size, type; char name[4], content[16]; };
__attribute__((section(".note.own"), used, aligned(4)))
static volatile const struct note own = {4, 16, 3, "GNU", "channel beta!"};
#ifdef READS
int mine(void) { return own.type * 100 + own.size; }
#endif
)"));
  const auto moves = [&](const std::string& options) {
    toys.Output({"sh", "-c",
                 "gcc -m32 -O1 -shared -fPIC -nostdlib -Wl,--build-id " + options + " note.c -o note.so"});
    const std::string list = "readelf -SW note.so | sed -n 's/.*note.own *NOTE *\\([0-9a-f]*\\).*/\\1/p'";
    const std::string before = toys.Output({"sh", "-c", list});
    EXPECT_NE(before, "");
    EXPECT_OK(EditFile(toys.fs(), toys.Path("note.so"), LongPath()));
    return toys.Output({"sh", "-c", list}) != before;
  };
  EXPECT_TRUE(moves(""));
  EXPECT_FALSE(moves("-DREADS"));
  EXPECT_FALSE(moves("-DREADS -Wl,-z,now"));
  EXPECT_FALSE(moves("-DREADS -fuse-ld=bfd -O0"));
}

/// Grown, stripped, and so on: each time what was added before loses its only section.
TEST_P(Stripped, LibraryThatGrowsAgainAndAgainHasOneSegmentMore) {
  LinkedToys toys(GetParam());
  const AbsPath library = toys.AddShape(GetParam(), "libleaf.so");
  const auto loads = [&] {
    const auto file = toys.fs().Open(library, OpenMode::kRead);
    const auto image = ReadImage(**file);
    return std::count_if((*image)->segments.begin(), (*image)->segments.end(),
                         [](const Segment& segment) { return segment.type == kSegmentLoad; });
  };
  const auto before = loads();
  for (const std::size_t size : {600U, 9000U, 30'000U, 60'000U}) {
    ASSERT_OK(EditFile(toys.fs(), library, Path("/" + std::string(size, 'x'))));
    ASSERT_EQ(toys.Load(library), 42);
    toys.Output({"strip", "libleaf.so"});
    ASSERT_EQ(toys.Load(library), 42);
    EXPECT_LE(loads(), before + 1);
  }
}

TEST_P(Stripped, ProgramWithALongerInterpreterStillRuns) {
  LinkedToys toys(GetParam());
  const std::string said =
      toys.Output({"sh", "-c", "readelf -l app | sed -n 's/.*interpreter: //p' | tr -d ]"});
  const std::string loader(Trim(said));
  Edits edits;
  edits.interpreter = toys.Path("loader-" + std::string(120, 'x')).str();
  ASSERT_OK(toys.fs().CreateSymlink(loader, AbsPath::Literal(*edits.interpreter)));
  for (const char* name : {"app", "app_fixed"}) {
    ExpectSurvival(
        toys, name,
        [&] {
          toys.Output({"sh", "-c", fmt::format("LD_LIBRARY_PATH=.:deps ./{}; test $? = 42", name)});
        },
        edits);
  }
}

TEST_P(Stripped, LibraryOf20000SymbolsThatGrewStillLoads) {
  LinkedToys toys(GetParam());
  std::string source = "int answer(void) { return 42; }\n";
  for (int i = 0; i < 20'000; ++i) source += fmt::format("int a_name_of_usual_length_number_{};\n", i);
  ASSERT_OK(WriteFile(toys.fs(), toys.Path("big.c"), source));
  toys.Output({"gcc", "-g0", "-O0", "-shared", "-fPIC", "-fuse-ld=" + GetParam(), "big.c", "-o", "big.so"});
  ExpectSurvival(toys, "big.so", [&] { ASSERT_EQ(toys.Load(toys.Path("big.so")), 42); });
}

/// Real libraries of many symbols, where they are installed.
class StrippedReal : public ::testing::TestWithParam<std::pair<std::string, std::string>> {};

INSTANTIATE_TEST_SUITE_P(
    Libraries, StrippedReal,
    ::testing::Values(std::pair("libcxx", "/usr/lib/llvm-14/lib/libc++.so.1.0"),
                      std::pair("libgnat", "/usr/lib/x86_64-linux-gnu/libgnat-12.so"),
                      std::pair("tsan",
                                "/usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/libclang_rt.tsan-x86_64.so")),
    [](const auto& tested) { return tested.param.first; });

TEST_P(StrippedReal, StillResolvesAllItsSymbols) {
  LinkedToys toys("bfd");
  const AbsPath installed = AbsPath::Literal(GetParam().second);
  if (!*Exists(toys.fs(), installed)) GTEST_SKIP() << installed.str() << " is not installed";
  ASSERT_OK(toys.fs().CopyFile(installed, toys.Path("library.so")));
  // ld.so relocates all of it and says which symbols it does not find; the initialisers do not run.
  const auto resolve = [&] {
    const std::string said = toys.Output({"ldd", "-r", "./library.so"});
    std::vector<std::string> lines;
    for (const std::string& line : Split(said, '\n')) lines.push_back(line.substr(0, line.rfind(" (0x")));
    return lines;
  };
  const auto before = resolve();
  ExpectSurvival(toys, "library.so", [&] { ASSERT_EQ(resolve(), before); });
}

TEST(StripHazard, IsRefusedUnlessAllowed) {
  LinkedToys toys("bfd");
  ASSERT_OK(WriteFile(toys.fs(), toys.Path("data.c"),
                      "__attribute__((section(\".first\"))) const int first[100] = {1};\n"
                      "int answer(void) { return 42; }\n"));
  // Data directly behind the headers, no note or PT_PHDR that could give way, and no neighbours that one
  // PT_LOAD can map.
  toys.Output({"sh", "-c",
               "ld -shared --verbose | sed -n '/^=====/,/^=====/p' | grep -v ^===== | "
               "sed 's/^  \\.note.gnu.build-id.*/  .first : { *(.first) }/' > script; "
               "gcc -shared -fPIC data.c -o data.so -fuse-ld=bfd -Wl,--build-id=none -Wl,-T,script "
               "-Wl,-z,noseparate-code -Wa,-mx86-used-note=no -fcf-protection=none"});
  const std::string before = toys.Bytes("data.so");
  EXPECT_THAT(
      EditFile(toys.fs(), toys.Path("data.so"), LongPath()),
      AllOf(FailsWith(ErrorCode::kUnsupported, HasSubstr("strip or objcopy would silently destroy it")),
            HasHint(HasSubstr("--allow-strip-hazard"))));
  EXPECT_EQ(toys.Bytes("data.so"), before);
  Edits allowed = LongPath();
  allowed.allow_strip_hazard = true;
  ASSERT_OK_AND_ASSIGN(const EditPlan plan, EditFile(toys.fs(), toys.Path("data.so"), allowed));
  EXPECT_TRUE(plan.strip_hazard);
  EXPECT_EQ(toys.Load(toys.Path("data.so")), 42);
  // Once it has happened there is nothing left to refuse.
  ASSERT_OK(EditFile(toys.fs(), toys.Path("data.so"), Path("/" + std::string(9000, 'x'))));
  EXPECT_EQ(toys.Load(toys.Path("data.so")), 42);
}

}  // namespace
}  // namespace ptpkg::elf::test
