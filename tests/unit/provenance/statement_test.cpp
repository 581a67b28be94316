#include "provenance/statement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"

namespace ptpkg::provenance {
namespace {

using test::FailsWith;
using ::testing::HasSubstr;
using ::testing::SizeIs;

const std::string kDigest(64, 'a');

Json Parts() {
  return {{"buildDefinition", {{"buildType", "urn:x"}, {"externalParameters", Json::object()}}},
          {"runDetails", {{"builder", {{"id", "urn:y"}}}}}};
}

TEST(Statement, IsReadAsItWasWritten) {
  const std::string text = StatementText({.name = "toy.whl", .sha256 = kDigest}, "urn:p", {{"a", 1}});
  ASSERT_OK_AND_ASSIGN(const Statement statement, ParseStatement(text, "it"));
  EXPECT_EQ(statement.type, kStatementType);
  EXPECT_EQ(statement.predicate_type, "urn:p");
  EXPECT_EQ(statement.predicate, (Json{{"a", 1}}));
  ASSERT_THAT(statement.subjects, SizeIs(1));
  EXPECT_EQ(statement.subjects[0].name, "toy.whl");
  EXPECT_EQ(statement.subjects[0].sha256, kDigest);
  EXPECT_EQ(SubjectMismatch(statement, {.name = "toy.whl", .sha256 = kDigest}), "");
}

TEST(Statement, HasTheFormOfInToto) {
  const std::string text = StatementText({.name = "toy.whl", .sha256 = kDigest}, "urn:p", {{"a", 1}});
  EXPECT_EQ(
      text,
      R"({"_type": "https://in-toto.io/Statement/v1", "predicate": {"a": 1}, "predicateType": "urn:p", )"
      R"("subject": [{"digest": {"sha256": ")" +
          kDigest + R"("}, "name": "toy.whl"}]})");
}

TEST(Statement, WhatIsNoneIsRefused) {
  const std::string type = R"({"_type": "https://in-toto.io/Statement/v1")";
  for (const std::string& text :
       {std::string("{"), std::string("[]"), std::string("{}"), type + "}",
        type + R"(, "predicateType": "p"})", type + R"(, "predicateType": "p", "subject": []})",
        type + R"(, "predicateType": "p", "subject": ["x"]})",
        type + R"(, "predicateType": "p", "subject": [{"name": "x"}]})",
        type + R"(, "predicateType": "p", "subject": [{"name": "x", "digest": {}}]})",
        type + R"(, "predicateType": "p", "subject": [{"name": 1, "digest": {"sha256": "x"}}]})",
        type + R"(, "predicateType": 1, "subject": [{"name": "x", "digest": {"sha256": "x"}}]})"}) {
    EXPECT_THAT(ParseStatement(text, "it"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("it"))) << text;
  }
}

TEST(Statement, OfAnotherVersionIsNotReadFurther) {
  ASSERT_OK_AND_ASSIGN(const Statement statement, ParseStatement(R"({"_type": "v9", "subject": 7})", "it"));
  EXPECT_EQ(statement.type, "v9");
}

TEST(SubjectMismatch, TellsWhatDiffers) {
  const Subject file{.name = "toy.whl", .sha256 = kDigest};
  const auto of = [](std::vector<Subject> subjects) {
    return Statement{.type = "", .subjects = std::move(subjects)};
  };
  EXPECT_THAT(SubjectMismatch(of({file, file}), file), HasSubstr("about 2 files"));
  EXPECT_THAT(SubjectMismatch(of({{.name = "other.whl", .sha256 = kDigest}}), file),
              HasSubstr("'other.whl', not"));
  EXPECT_THAT(SubjectMismatch(of({{.name = "toy.whl", .sha256 = "bb"}}), file),
              HasSubstr("its sha256 is bb, the file's"));
  EXPECT_THAT(SubjectMismatch(of({{.name = "toy.whl", .sha256 = ""}}), file), HasSubstr("unknown"));
}

TEST(MissingSlsaField, NamesWhatIsRequired) {
  EXPECT_EQ(MissingSlsaField(Parts()), "");
  Json lacking = Parts();
  lacking["buildDefinition"].erase("buildType");
  EXPECT_EQ(MissingSlsaField(lacking), "buildDefinition.buildType");
  lacking = Parts();
  lacking["buildDefinition"]["externalParameters"] = "text";
  EXPECT_EQ(MissingSlsaField(lacking), "buildDefinition.externalParameters");
  lacking = Parts();
  lacking["runDetails"]["builder"]["id"] = "";
  EXPECT_EQ(MissingSlsaField(lacking), "runDetails.builder.id");
  EXPECT_EQ(MissingSlsaField(Json()), "buildDefinition.buildType");
}

}  // namespace
}  // namespace ptpkg::provenance
