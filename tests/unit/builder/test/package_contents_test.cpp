#include "builder/test/package_contents.h"

#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::builder {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<RelPath> Files(std::initializer_list<const char*> names) {
  std::vector<RelPath> files;
  for (const char* name : names) files.push_back(RelPath::Literal(name));
  return files;
}

constexpr const char* kSite = "lib/python3.11/site-packages";

TEST(CheckContents, FindsEveryKind) {
  recipe::ContentsTest test;
  test.files = {"share/**/*.txt"};
  test.bin = {"toy"};
  test.include = {"toy/*.h"};
  test.lib = {"z", "libm.so.6", "static"};
  test.site_packages = {"toy", "toy.mod", "toy/data.json", "toy._C", "single"};
  test.missing_files = {"**/*.la"};
  const std::vector<RelPath> files = Files(
      {"share/a/b.txt", "bin/toy", "include/toy/x.h", "lib/libz.so.1.2", "lib/libm.so.6", "lib/libstatic.a",
       "lib/python3.11/site-packages/toy/__init__.py", "lib/python3.11/site-packages/toy/mod.py",
       "lib/python3.11/site-packages/toy/data.json", "lib/python3.11/site-packages/single.py",
       "lib/python3.11/site-packages/toy/_C.cpython-311-x86_64-linux-gnu.so"});
  EXPECT_THAT(CheckContents(test, files, kSite), IsEmpty());
  test.strict = true;
  EXPECT_THAT(CheckContents(test, files, kSite), IsEmpty());
  std::vector<RelPath> more = files;
  more.push_back(RelPath::Literal("lib/extra"));
  EXPECT_THAT(CheckContents(test, more, kSite),
              ElementsAre("package_contents.strict: no rule lists 'lib/extra'"));
}

TEST(CheckContents, NamesWhatIsMissingOrTooMuch) {
  recipe::ContentsTest test;
  test.lib = {"z"};
  test.bin = {"toy"};
  test.missing_files = {"lib/*.la"};
  test.site_packages = {"toy"};
  EXPECT_THAT(
      CheckContents(test, Files({"lib/z.la", "sbin/toy", "lib/python3.11/site-packages/toy2.py"}), kSite),
      ElementsAre(HasSubstr("package_contents.site_packages: 'toy' is not in the package"),
                  "package_contents.bin: 'toy' is not in the package (bin/toy)",
                  HasSubstr("package_contents.lib: 'z' is not in the package (lib/libz.so"),
                  "package_contents.files.not_exists: 'lib/*.la' matches 'lib/z.la'"));
}

}  // namespace
}  // namespace ptpkg::builder
