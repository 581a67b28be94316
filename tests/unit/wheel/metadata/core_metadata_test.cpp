#include "wheel/metadata/core_metadata.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/text/text.h"
#include "wheel/metadata/header_block.h"

namespace ptpkg::wheel {
namespace {

using test::FailsWith;
using test::IsOk;
using test::IsOkAndHolds;

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kText =
    "Metadata-Version: 2.1\n"
    "Name: toytorch\n"
    "Version: 1.0\n"
    "License: one line\n"
    "        \n"
    "        and another\n"
    "Requires-Dist: numpy\n"
    "Requires-Dist: sympy>=1.13.3\n"
    "X-Unknown: kept\n"
    "\n"
    "# Title\n"
    "\n"
    "From: not a field\n";

TEST(CoreMetadata, KeepsFieldsInOrderAndTheBody) {
  const Result<CoreMetadata> metadata = ParseCoreMetadata(kText, "METADATA");
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(metadata->Get("name"), "toytorch");
  EXPECT_EQ(metadata->Get("License"), "one line\n        \n        and another");
  EXPECT_THAT(metadata->GetAll("Requires-Dist"), ElementsAre("numpy", "sympy>=1.13.3"));
  EXPECT_EQ(metadata->Get("Missing"), "");
  EXPECT_EQ(metadata->description, "# Title\n\nFrom: not a field\n");
  EXPECT_EQ(FormatCoreMetadata(*metadata), kText);
}

TEST(CoreMetadata, SetReplacesAllAndKeepsThePlace) {
  CoreMetadata metadata = *ParseCoreMetadata(kText, "METADATA");
  metadata.Set("REQUIRES-DIST", "jinja2");
  metadata.Set("Summary", "new");
  EXPECT_THAT(metadata.GetAll("Requires-Dist"), ElementsAre("jinja2"));
  EXPECT_EQ(metadata.fields[4].second, "jinja2");
  EXPECT_EQ(metadata.fields.back().first, "Summary");
}

TEST(CoreMetadata, ReadsCrLf) {
  const Result<CoreMetadata> metadata =
      ParseCoreMetadata("Metadata-Version: 2.1\r\nName: a\r\nVersion: 1\r\n\r\nbody\r\n", "METADATA");
  ASSERT_THAT(metadata, IsOk());
  EXPECT_EQ(metadata->Get("Version"), "1");
  EXPECT_EQ(metadata->description, "body\r\n");
}

// As a wheel may have them: folded, CRLF, odd spacing, unknown and repeated fields, a body in UTF-8.
constexpr const char* kOdd =
    "Metadata-Version: 2.1\r\n"
    "name:a\r\n"
    "Version:\t1\r\n"
    "Summary:   spaced  \r\n"
    "License:\r\n"
    "\tfolded\r\n"
    "       |with a bar\n"
    "X-Twice: 1\r\n"
    "X-Twice: 1\r\n"
    "\r\n"
    "B\xC3\xB6"
    "dy\r\n\r\nName: no field\nlast";

TEST(CoreMetadata, WhatWasReadGivesTheSameBytes) {
  for (const std::string text :
       {kOdd, "Metadata-Version: 2.1\nName: a\nVersion: 1", "Metadata-Version: 2.1\nName: a\nVersion: 1\n\n",
        "Metadata-Version: 2.1\r\nName: a\r\nVersion: 1\r",
        "Metadata-Version: 2.1\nName: a\nVersion: 1\n\r\nbody"}) {
    ASSERT_OK_AND_ASSIGN(const CoreMetadata metadata, ParseCoreMetadata(text, "METADATA"));
    EXPECT_EQ(FormatCoreMetadata(metadata), text);
  }
}

TEST(CoreMetadata, AChangeLeavesAllOtherBytes) {
  ASSERT_OK_AND_ASSIGN(CoreMetadata metadata, ParseCoreMetadata(kOdd, "METADATA"));
  metadata.Set("Version", "2");
  metadata.Add("Requires-Dist", "b");
  std::string wanted = ReplaceAll(kOdd, "Version:\t1\r\n", "Version: 2\r\n");
  wanted = ReplaceAll(wanted, "X-Twice: 1\r\n\r\n", "X-Twice: 1\r\nRequires-Dist: b\r\n\r\n");
  EXPECT_EQ(FormatCoreMetadata(metadata), wanted);
  metadata.Set("X-Twice", "1");
  wanted = ReplaceAll(wanted, "X-Twice: 1\r\nX-Twice: 1\r\n", "X-Twice: 1\r\n");
  EXPECT_EQ(FormatCoreMetadata(metadata), wanted);
  metadata.description = "other";
  EXPECT_THAT(FormatCoreMetadata(metadata), testing::EndsWith("Requires-Dist: b\r\n\r\nother"));
}

TEST(CoreMetadata, AFieldBehindALastLineWithoutABreakIsALineOfItsOwn) {
  for (const std::string end : {"", "\r", "\n", "\r\n", "\n\nbody"}) {
    ASSERT_OK_AND_ASSIGN(CoreMetadata metadata,
                         ParseCoreMetadata("Metadata-Version: 2.1\nName: a\nVersion: 1" + end, "METADATA"));
    metadata.Add("Summary", "short");
    ASSERT_OK_AND_ASSIGN(const CoreMetadata again,
                         ParseCoreMetadata(FormatCoreMetadata(metadata), "METADATA"));
    EXPECT_EQ(again.Get("Summary"), "short");
    EXPECT_EQ(again.Get("Version"), "1");
    EXPECT_EQ(again.description, metadata.description);
  }
}

TEST(CoreMetadata, NeedsItsThreeFieldsOnce) {
  EXPECT_THAT(ParseCoreMetadata("Metadata-Version: 2.1\nName: a\n", "METADATA"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'Version' must occur once")));
  EXPECT_THAT(ParseCoreMetadata("Metadata-Version: 2.1\nName: a\nName: b\nVersion: 1\n", "METADATA"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("found 2 times")));
  EXPECT_THAT(ParseCoreMetadata("Metadata-Version: 2.1\nName: \nVersion: 1\n", "METADATA"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'Name'")));
}

TEST(HeaderBlock, SaysWhereItIsMalformed) {
  const Result<HeaderBlock> no_colon = ParseHeaderBlock("Name: a\nnonsense\n", "METADATA");
  ASSERT_THAT(no_colon, FailsWith(ErrorCode::kInvalidInput, HasSubstr("expected 'Field: value'")));
  EXPECT_EQ(no_colon.error().span()->line, 2);
  EXPECT_EQ(no_colon.error().span()->excerpt, "nonsense");
  EXPECT_THAT(ParseHeaderBlock(" x\n", "M"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("before the first field")));
  EXPECT_THAT(ParseHeaderBlock("A B: c\n", "M"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("expected 'Field")));
  EXPECT_THAT(ParseHeaderBlock("A: b\rC: d\n", "M"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("carriage return")));
  EXPECT_THAT(ParseHeaderBlock(std::string_view("A: b\0", 5), "M"),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("NUL")));
}

TEST(HeaderBlock, AValueCannotSmuggleInAFieldOrEndTheHeaders) {
  for (const char* const value : {"a\nRequires-Dist: evil", "a\n\nbody", "a\rB: c", "a\r\nB: c", "a\n"}) {
    HeaderBlock block;
    block.fields = {{"Summary", value}, {"Version", "1"}};
    const Result<HeaderBlock> again = ParseHeaderBlock(FormatHeaderBlock(block), "METADATA");
    ASSERT_THAT(again, IsOk()) << value;
    ASSERT_EQ(again->fields.size(), 2U) << value;
    EXPECT_EQ(again->fields[1].second, "1");
    EXPECT_THAT(again->body, IsEmpty());
    EXPECT_EQ(FormatHeaderBlock(*again),
              FormatHeaderBlock(*ParseHeaderBlock(FormatHeaderBlock(*again), "METADATA")));
  }
}

TEST(RequiredProjects, ThoseOfExtrasAndWhatIsNoneAreLeftOut) {
  CoreMetadata metadata;
  metadata.Add("Requires-Dist", "NVIDIA_cublas>=12 ; platform_system == 'Linux'");
  metadata.Add("Requires-Dist", "triton ; extra == 'gpu'");
  metadata.Add("Requires-Dist", "-broken");
  metadata.Add("Requires-Dist", "torch");
  EXPECT_THAT(RequiredProjects(metadata), testing::ElementsAre("nvidia-cublas", "torch"));
}

TEST(NormalizeName, FoldsRunsOfSeparators) {
  EXPECT_EQ(NormalizeName("Foo.-_Bar"), "foo-bar");
  EXPECT_EQ(NormalizeName("typing_extensions"), "typing-extensions");
  EXPECT_EQ(NormalizeName("torch"), "torch");
}

}  // namespace
}  // namespace ptpkg::wheel
