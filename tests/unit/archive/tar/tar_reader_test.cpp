// TarReader: names come through byte for byte, whatever the header that holds them.

#include "archive/tar/tar_reader.h"

#include <gtest/gtest.h>

#include "support/matchers.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::testing::ElementsAre;

constexpr const char* kComposed = "d/\xc3\xa9";     // é as one character
constexpr const char* kDecomposed = "d/e\xcc\x81";  // e and an accent

/// Names and link targets of all members; the error's message in the end, if there is one.
std::vector<std::string> NamesInTar(const std::string& tar) {
  StringSource source(tar);
  auto reader = TarReader::Open(source);
  EXPECT_OK(reader);
  std::vector<std::string> names;
  while (true) {
    auto member = reader->Next();
    if (!member) names.push_back("error: " + member.error().message());
    if (!member || !*member) return names;
    names.push_back((*member)->name +
                    ((*member)->link_target.empty() ? "" : " -> " + (*member)->link_target));
  }
}

TEST(TarReader, BothFormsOfAnAccentAreNames) {
  for (const char* name : {kComposed, kDecomposed}) {
    EXPECT_THAT(NamesInTar(TarFile(name, "x") + TarEnd()), ElementsAre(name)) << "ustar";
    EXPECT_THAT(NamesInTar(TarPax("path", name) + TarFile("short", "x") + TarEnd()), ElementsAre(name))
        << "pax";
    EXPECT_THAT(
        NamesInTar(TarPax("hdrcharset", "BINARY") + TarPax("path", name) + TarFile("short", "x") + TarEnd()),
        ElementsAre(name))
        << "pax as bytes";
    EXPECT_THAT(NamesInTar(TarPax("linkpath", name) + TarLink("l", "x") + TarEnd()),
                ElementsAre(std::string("l -> ") + name))
        << "link";
  }
  EXPECT_THAT(NamesInTar(TarPax("path", kComposed) + TarFile("a", "") + TarPax("path", kDecomposed) +
                         TarFile("b", "") + TarEnd()),
              ElementsAre(kComposed, kDecomposed));
}

TEST(TarReader, BytesThatAreNoTextComeThrough) {
  EXPECT_THAT(NamesInTar(TarFile("a\xe9", "x") + TarEnd()), ElementsAre("a\xe9"));
  EXPECT_THAT(NamesInTar(TarPax("path", "b\xe9") + TarFile("short", "x") + TarEnd()), ElementsAre("b\xe9"));
}

TEST(TarReader, TheLocaleOfTheThreadChangesNothing) {
  locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  ASSERT_NE(utf8, nullptr);
  const locale_t before = uselocale(utf8);
  EXPECT_THAT(NamesInTar(TarPax("path", kDecomposed) + TarFile("short", "x") + TarEnd()),
              ElementsAre(kDecomposed));
  uselocale(before);
  freelocale(utf8);
}

}  // namespace
}  // namespace ptpkg::archive::test
