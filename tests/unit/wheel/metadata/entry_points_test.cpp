#include "wheel/metadata/entry_points.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::ElementsAre;
using testing::HasSubstr;

TEST(EntryPoints, ReadsGroupsCommentsAndExtras) {
  const Result<std::vector<EntryPoint>> points = ParseEntryPoints(
      "# scripts\n[console_scripts]\ntorchrun = torch.distributed.run:main\n\n[my.plugins]\n"
      "b=pkg.mod:Class.make [extra1, extra2]\na = pkg\n",
      "entry_points.txt");
  ASSERT_THAT(points, IsOkAndHolds(ElementsAre(
                          EntryPoint{"console_scripts", "torchrun", "torch.distributed.run", "main", {}},
                          EntryPoint{"my.plugins", "b", "pkg.mod", "Class.make", {"extra1", "extra2"}},
                          EntryPoint{"my.plugins", "a", "pkg", "", {}})));
  EXPECT_TRUE((*points)[0].IsScript());
  EXPECT_FALSE((*points)[1].IsScript());
}

TEST(EntryPoints, SaysWhereItIsMalformed) {
  for (const auto& [text, why] : std::initializer_list<std::pair<const char*, const char*>>{
           {"a = b:c\n", "precedes the first [group]"},
           {"[g\n", "not closed by ']'"},
           {"[ ]\n", "a group has no name"},
           {"[g]\na\n", "expected 'name = module:object'"},
           {"[g]\n = b:c\n", "no name"},
           {"[g]\na = b c:d\n", "not a reference"},
           {"[g]\na = b:\n", "not a reference"},
           {"[g]\na = 1b:c\n", "not a reference"},
           {"[g]\na = b:c [x\n", "not closed by ']'"},
           {"[g]\na = b:c\na = b:d\n", "occurs twice in [g]"},
           {"[g]\na = b:c\n[g]\nd = b:c\n", "the group [g] occurs twice"},
           {"[g]\n; a comment\n", "';' as a comment"},
           {"[g]\na = b:c\n  d = e:f\n", "an indented line"},
           {"[g]\na = b:c\n  [h]\n", "an indented line"},
           {"[DEFAULT]\na = b:c\n", "do not agree on the group"},
           {"[ g ]\na = b:c\n", "do not agree on the group"},
           {"[[g]]\na = b:c\n", "do not agree on the group"},
           {"[g]\na = b:c\fd = e:f\n", "a line break that only some readers recognise"},
           {"[g]\na = b:c\xc2\x85\n", "a line break that only some readers recognise"},
           {"[console_scripts]\na = b:c [x y]\n", "not names joined by commas"},
           {"[console_scripts]\na = b:c []\n", "not names joined by commas"}}) {
    EXPECT_THAT(ParseEntryPoints(text, "entry_points.txt"),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr(why)))
        << text;
  }
  // As old versions of setuptools wrote it.
  EXPECT_THAT(ParseEntryPoints("\n      [g]\n      a = b:c\n      d = e:f\n      ", "entry_points.txt"),
              IsOk());
  EXPECT_THAT(ParseEntryPoints("[g]\n  a = b:c\n  d = e:f\n", "entry_points.txt"), IsOk());
  EXPECT_EQ(ParseEntryPoints("[g]\n\na\n", "entry_points.txt").error().span()->line, 3);
}

}  // namespace
}  // namespace ptpkg::wheel
