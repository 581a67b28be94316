// What the package index refuses in metadata, field by field.

#include "verify/wheel/upload_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/test_env.h"
#include "verify/wheel/metadata_fields.h"

namespace ptpkg::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<std::string> FieldIds(const std::string& lines, const std::string& version = "2.4") {
  const auto metadata = wheel::ParseCoreMetadata(
      "Metadata-Version: " + version + "\nName: toy\nVersion: 1.0\n" + lines + "\n", "METADATA");
  EXPECT_THAT(metadata, test::IsOk());
  std::vector<Finding> findings;
  if (metadata) CheckMetadataFields(*metadata, "METADATA", findings);
  std::vector<std::string> ids;
  for (const Finding& finding : findings) {
    EXPECT_EQ(finding.severity, Severity::kWarning);
    ids.push_back(finding.id);
  }
  return ids;
}

TEST(MetadataFields, TakesRightOnes) {
  for (const char* const line :
       {"Summary: x", "Platform: a\nPlatform: b", "Project-URL: 12345678901234567890123456789012, https://x",
        "Home-page: HTTPS://example.org", "Classifier: Topic :: Internet",
        "Author-email: A <a@example.org>, b", "Author-email: \"A, B\" <a@example.org>",
        "Author-email: a@example.org (A)", "Dynamic: Requires-Dist",
        "Description-Content-Type: Text/Markdown; charset=utf-8; variant=GFM", "Provides-Extra: A_b.c-d",
        "License-File: a/LICENSE", "Provides-Dist: x (>=1)"}) {
    EXPECT_THAT(FieldIds(line), IsEmpty()) << line;
  }
  EXPECT_THAT(FieldIds("Import-Name: a.b ; private", "2.5"), IsEmpty());
}

TEST(MetadataFields, NamesRefusedOnes) {
  for (const char* const line :
       {"Foo: bar", "Summary: a\nSummary: b", "Import-Name: a", "Dynamic: name", "Dynamic: foo",
        "Description-Content-Type: text/html", "Description-Content-Type: text/plain; charset=latin-1",
        "Description-Content-Type: text/markdown; variant=gfm", "Provides-Extra: a b", "Provides-Extra: -a",
        "License-File: ../x", "License-File: /x", "License-File: a*",
        "Provides-Dist: x @ https://example.org/x", "Obsoletes-Dist: a b"}) {
    EXPECT_THAT(FieldIds(line), ElementsAre("wheel-metadata-field")) << line;
  }
  EXPECT_THAT(FieldIds("License-File: LICENSE", "2.1"), ElementsAre("wheel-metadata-field"));
  EXPECT_THAT(FieldIds("Import-Name: a-b", "2.5"), ElementsAre("wheel-metadata-field"));
  for (const char* const line :
       {"Project-URL: 123456789012345678901234567890123, https://x", "Project-URL: Home",
        "Project-URL: Home, ftp://x", "Project-URL:  , https://x", "Home-page: UNKNOWN"}) {
    EXPECT_THAT(FieldIds(line), ElementsAre("wheel-project-url")) << line;
  }
  EXPECT_THAT(FieldIds("Author-email: nobody"), ElementsAre("wheel-author-email"));
  EXPECT_THAT(FieldIds("Classifier: No :: Such"), ElementsAre("wheel-classifier"));
}

TEST(MetadataFields, MarkdownHasToSaySo) {
  for (const std::string text :
       {"\n# Toy\n", "\nToy\n\n```python\n", "\n[![CI](https://x)](https://y)\n", "\n[docs](https://x)\n"}) {
    EXPECT_THAT(FieldIds(text), ElementsAre("wheel-description-type")) << text;
    EXPECT_THAT(FieldIds("Description-Content-Type: text/markdown\n" + text), IsEmpty()) << text;
  }
  for (const char* const text :
       {"", "\nToy\n===\n", "\n#!shebang\n", "\n#######  seven\n", "\n[1] a footnote\n"})
    EXPECT_THAT(FieldIds(text), IsEmpty()) << text;
}

TEST(MetadataFields, LabelsAreCountedInCharacters) {
  std::string label;
  for (int i = 0; i < 32; ++i) label += "\xC3\xA4";
  EXPECT_THAT(FieldIds("Project-URL: " + label + ", https://example.org"), IsEmpty());
}

TEST(MetadataFields, AddressesThatTheIndexTakes) {
  for (const char* const address : {"", "A <>", "a'b+c@example.org", "\xC3\xA4@\xC3\xB6.org", "a@b@c.org"}) {
    EXPECT_TRUE(IsAcceptedAddress(address)) << address;
  }
  for (const char* const address : {"UNKNOWN", "A, B <a@x.org>", "root@localhost", "a@x.local", "a@x.test",
                                    "a b@x.org", "a@x..org", "a@-x.org", "a@x_y.org", ".a@x.org", "a.@x.org",
                                    "a..b@x.org", "a@[127.0.0.1]", "a@x.123", "@x.org"}) {
    EXPECT_FALSE(IsAcceptedAddress(address)) << address;
  }
}

TEST(MetadataFields, Classifiers) {
  EXPECT_EQ(ClassifierProblem("Development Status :: 1 - Planning"), "");  // the first of the list
  EXPECT_EQ(ClassifierProblem("Typing :: Typed"), "");                     // the last one
  EXPECT_EQ(ClassifierProblem("Natural Language :: Ukranian"),
            "is no longer accepted; use 'Natural Language :: Ukrainian'");
  EXPECT_EQ(ClassifierProblem("License :: OSI Approved :: Jabber Open Source License"),
            "is no longer accepted");
  for (const char* const unknown :
       {"", "Topic", "Typing :: Typ", "Private :: Do Not Upload", "# trove-classifiers"})
    EXPECT_THAT(ClassifierProblem(unknown), HasSubstr("is not a classifier of trove-classifiers 20"))
        << unknown;
  EXPECT_EQ(ClassifierProblem("Typing :: Typed\nTopic"), "has several lines");
}

std::vector<Finding> Upload(std::string_view name, std::uint64_t size_bytes, const std::string& metadata,
                            std::string_view dist_info_dir = "toy-1.0.dist-info") {
  test::TestEnv env;
  const AbsPath root = env.dir() / "tree";
  EXPECT_OK(env->fs.MakeDirs(root / "toy-1.0.dist-info"));
  EXPECT_OK(WriteFile(env->fs, root / "toy-1.0.dist-info/METADATA", metadata));
  const auto tree = ScanTree(env, root);
  EXPECT_THAT(tree, test::IsOk());
  std::vector<Finding> findings;
  if (!tree) return findings;
  EXPECT_OK(CheckUpload(env, {name, size_bytes, dist_info_dir}, *tree, findings));
  return findings;
}

TEST(Upload, LooksAtSizeVersionAndMetadata) {
  const std::string right = "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n";
  EXPECT_THAT(Upload("toy-1.0-py3-none-any.whl", 100U << 20U, right), IsEmpty());
  auto findings = Upload("toy-1.0-py3-none-any.whl", (100U << 20U) + 1, right);
  ASSERT_THAT(findings, testing::SizeIs(1));
  EXPECT_EQ(findings[0].severity, Severity::kInfo);
  findings = Upload("toy-1.0-py3-none-any.whl", (1ULL << 30U) + 1, right);
  ASSERT_THAT(findings, testing::SizeIs(1));
  EXPECT_EQ(findings[0].severity, Severity::kWarning);
  findings = Upload("toy-1.0+cpu-py3-none-any.whl", 1, right);
  ASSERT_THAT(findings, testing::SizeIs(1));
  EXPECT_EQ(findings[0].id, "wheel-local-version");
  findings = Upload("toy-1.0-py3-none-any.whl", 1, right + "Foo: bar\n");
  ASSERT_THAT(findings, testing::SizeIs(1));
  EXPECT_EQ(findings[0].file, "toy-1.0.dist-info/METADATA");
  // What cannot be read has findings of its own.
  EXPECT_THAT(Upload("toy.whl", 1, right), IsEmpty());
  EXPECT_THAT(Upload("toy-1.0-py3-none-any.whl", 1, right + "Foo: bar\n", ""), IsEmpty());
  EXPECT_THAT(Upload("toy-1.0-py3-none-any.whl", 1, right + "Foo: bar\n", "toy-2.0.dist-info"), IsEmpty());
  EXPECT_THAT(Upload("toy-1.0-py3-none-any.whl", 1, "junk"), IsEmpty());
}

}  // namespace
}  // namespace ptpkg::verify
