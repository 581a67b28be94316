// NEEDED, SONAME and versions of the files of a tree, together; and the flags of single files.

#include "verify/rules/dependency_consistency.h"

#include "unit/elf/fixtures/linked_toys.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using elf::test::LinkedToys;
using elf::test::SyntheticElf;
using test::Is;
using test::Library;
using test::Requiring;
using testing::ElementsAre;
using testing::IsEmpty;
using Tree = test::MemoryTree;

TEST(AgreementChecks, VersionRequirementOfALibraryThatIsNotNeeded) {
  Tree tree;
  SyntheticElf elf = Library({"libc.so.6"});
  elf.version = "DEEP_1";
  std::string image = elf.Build();
  // The record's name now is the SONAME-like string of a symbol.
  const std::size_t at = image.find("answer");
  elf::test::PokeU32(image, elf.codec(), elf.places.needs + 4,
                     static_cast<std::uint32_t>(at - elf.places.strings));
  tree.AddText("liba.so", image);
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-version-requirement", Severity::kError, "liba.so", "'answer'")));
}

TEST(AgreementChecks, SonameThatDiffersFromTheNeededName) {
  Tree tree;
  tree.Add("liba.so", Library({"libb-1234.so"}, "$ORIGIN"));
  SyntheticElf renamed = Library({});
  renamed.soname = "libb.so";
  tree.Add("libb-1234.so", renamed);
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-soname-mismatch", Severity::kInfo, "liba.so",
                                           "the SONAME of the library there is 'libb.so'")));
}

TEST(AgreementChecks, ExecutableStackTextRelocationsDriverAndOpenMp) {
  Tree tree;
  SyntheticElf stack = Library({});
  std::string image = stack.Build();
  elf::test::PokeU32(image, stack.codec(), stack.places.program_headers + 3 * 56 + 4, 7);
  tree.AddText("libstack.so", image);
  SyntheticElf relocated = Library({});
  image = relocated.Build();
  // The last entry before the spare ones becomes DT_TEXTREL.
  const std::size_t hash = relocated.places.dynamic + 4 * 16;
  elf::test::PokeWord(image, relocated.codec(), hash, elf::kDtTextrel);
  tree.AddText("libtext.so", image);
  tree.Add("libcuda.so.1", Library({}));
  tree.Add("a/libgomp.so.1", Library({}));
  tree.Add("b/libiomp5.so", Library({}));
  EXPECT_THAT(tree.Check(),
              testing::UnorderedElementsAre(
                  Is("elf-executable-stack", Severity::kWarning, "libstack.so", "executable stack"),
                  Is("elf-text-relocations", Severity::kWarning, "libtext.so", "writable"),
                  Is("elf-driver-library", Severity::kError, "libcuda.so.1", "driver"),
                  Is("elf-duplicate-openmp", Severity::kWarning, "b/libiomp5.so", "2 OpenMP")));
}

TEST(AgreementChecks, VersionThatTheLibraryInTheTreeLacks) {
  const LinkedToys toys("with-rpath");  // its libdeep.so.1 defines DEEP_1
  Tree tree;
  tree.AddText("lib/libdeep.so.1", toys.Bytes("deps/libdeep.so"));
  SyntheticElf user = Requiring("libdeep.so.1", "DEEP_1");
  user.runpath = "$ORIGIN";
  tree.Add("lib/liba.so", user);
  EXPECT_THAT(tree.Check(), IsEmpty());
  user.version = "DEEP_2";
  tree.Add("lib/liba.so", user);
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-version-missing", Severity::kError, "lib/liba.so",
                                           "requires 'DEEP_2' of 'libdeep.so.1', which the library at "
                                           "'lib/libdeep.so.1' does not define")));
  tree.Add("lib/libdeep.so.1", Library({}));
  EXPECT_THAT(tree.Check(),
              ElementsAre(Is("elf-version-missing", Severity::kWarning, "lib/liba.so", "'DEEP_2'")));
}

TEST(AgreementChecks, RepeatedNeeds) {
  Tree tree;
  tree.Add("liba.so", Library({"libm.so.6", "libc.so.6", "libm.so.6", "libm.so.6"}));
  EXPECT_THAT(tree.Check(), ElementsAre(Is("elf-duplicate-needed", Severity::kWarning, "liba.so",
                                           "needs 'libm.so.6' more than once")));
}

TEST(AgreementChecks, RepeatedSonames) {
  SyntheticElf named = Library({});
  named.soname = "libsame.so.1";
  Tree tree;
  tree.Add("lib/libsame.so.1", named);
  tree.fs().AddSymlink("libsame.so.1", "/tree/lib/libsame.so");
  tree.Add("lib/glibc-hwcaps/x86-64-v3/libsame.so.1", named);
  SyntheticElf other = named;
  other.machine = 183;
  tree.Add("arm/libsame.so.1", other);
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.Add("lib/libsame.so.1.0", named);
  EXPECT_THAT(
      tree.Check(),
      ElementsAre(Is("elf-duplicate-soname", Severity::kWarning, "lib/libsame.so.1.0",
                     "2 files have the SONAME 'libsame.so.1': 'lib/libsame.so.1', 'lib/libsame.so.1.0'")));
}

}  // namespace
}  // namespace ptpkg::verify
