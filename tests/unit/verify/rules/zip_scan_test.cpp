// A wheel that was made of another one: what both have is not read twice, and the findings are those of a
// whole read.

#include "verify/rules/zip_scan.h"

#include <mutex>
#include <set>

#include "support/files/overlay_fs.h"
#include "support/files/read_only_file.h"
#include "support/text/text.h"
#include "unit/verify/fixtures/memory_tree.h"
#include "unit/wheel/wheel_fixture.h"
#include "verify/check_artifact.h"
#include "wheel/metadata/record.h"

namespace ptpkg::verify {
namespace {

using test::Library;
using test::TestEnv;
using testing::ElementsAre;
using testing::IsEmpty;

using Members = std::vector<std::pair<std::string, std::string>>;

/// A wheel with two libraries that lack something each, one that was built in a directory, and RECORD.
Members WithLibraries(const std::string& changed) {
  Members members = wheel::MinimalMembers();
  members.pop_back();  // RECORD
  members.insert(members.begin(), {{"toy/kept.so", Library({"libkept.so.9"}).Build()},
                                   {"toy/changed.so", changed},
                                   {"toy/built.txt", "made in /building/folder"}});
  const std::string record = "toy-1.0.dist-info/RECORD";
  const std::string rows = wheel::RecordOf(members, record);
  members.emplace_back(record, rows);
  return members;
}

/// As RECORD writes it.
std::string DigestOf(const std::string& content) {
  return wheel::RowOf("toy/changed.so", HashText(content), content.size()).sha256;
}

class KnownContentTest : public ::testing::Test {
 protected:
  AbsPath Write(const std::string& folder, const Members& members) {
    EXPECT_OK(env_->fs.MakeDirs(env_.dir() / folder));
    return wheel::WriteRawZip(env_, env_.dir() / folder / "toy-1.0-py3-none-any.whl", members);
  }

  /// Examines `zip`; `visited_` gets the files whose bytes are looked at.
  Examination Examine(Env& env, const AbsPath& zip, const KnownContent& known) {
    visited_.clear();
    CheckOptions options{.forbidden_paths = {"/building/folder"}, .known = known, .keep_seen = true};
    options.on_file = [&](const RelPath& path, File&) {
      const std::lock_guard lock(mutex_);
      visited_.insert(path.str());
      return Ok();
    };
    auto examined = ExamineArtifact(env, zip, options);
    EXPECT_OK(examined);
    return examined ? *std::move(examined) : Examination();
  }

  static std::vector<std::string> Texts(const Examination& examined) {
    std::vector<std::string> texts;
    for (const Finding& finding : examined.report.findings)
      texts.push_back(finding.file + " " + finding.id + " " + finding.message);
    return texts;
  }
  static void ExpectSame(const Examination& one, const Examination& other) {
    EXPECT_EQ(Texts(one), Texts(other));
    EXPECT_EQ(one.entries, other.entries);
    ASSERT_EQ(one.files.size(), other.files.size());
    for (std::size_t i = 0; i < one.files.size(); ++i) EXPECT_EQ(one.files[i].file, other.files[i].file);
  }

  TestEnv env_;
  std::mutex mutex_;
  std::set<std::string> visited_;
};

TEST_F(KnownContentTest, WhatBothZipsStoreAlikeIsReadOnce) {
  const AbsPath old = Write("old", WithLibraries(Library({"libbefore.so.9"}).Build()));
  const AbsPath now = Write("new", WithLibraries(Library({"libafter.so.9"}).Build()));
  const Examination before = Examine(env_, old, {});
  EXPECT_EQ(visited_.size(), WithLibraries("").size());
  const Examination whole = Examine(env_, now, {});
  const Examination again = Examine(env_, now, {.zip = before.seen});
  EXPECT_THAT(visited_, ElementsAre("toy-1.0.dist-info/RECORD", "toy/changed.so"));
  ExpectSame(whole, again);
  EXPECT_THAT(Texts(again), testing::Contains(testing::HasSubstr("libkept.so.9")));
  EXPECT_THAT(Texts(again), testing::Contains(testing::HasSubstr("libafter.so.9")));
  EXPECT_THAT(Texts(again), testing::Contains(testing::HasSubstr("/building/folder")));
  // What was learnt then serves the next one, and is whole.
  const Examination third = Examine(env_, now, {.zip = again.seen});
  EXPECT_THAT(visited_, IsEmpty());
  ExpectSame(whole, third);
}

TEST_F(KnownContentTest, AFileThatAMemberHasToBeIsComparedWithIt) {
  const std::string changed = Library({"libafter.so.9"}).Build();
  const AbsPath now = Write("new", WithLibraries(changed));
  const Examination whole = Examine(env_, now, {});
  const AbsPath made = env_.dir() / "not-on-disk";
  VirtualFilesFs files(env_->fs);
  std::string content = changed;
  int opened = 0;
  files.Show(made, {.size_bytes = content.size()}, [&]() -> Result<std::unique_ptr<File>> {
    ++opened;
    return std::unique_ptr<File>(std::make_unique<MemoryFile>(AsBytes(content)));
  });
  Env env = WithFs(env_, files);
  KnownContent known;
  known.files.emplace("toy/changed.so", made);
  ExpectSame(whole, Examine(env, now, known));
  EXPECT_EQ(opened, 1) << "nobody asked for the file";
  // The digest that RECORD is held against is that of the member, not one that somebody gives.
  Members other = WithLibraries(changed);
  for (auto& [path, text] : other) {
    if (path.ends_with("/RECORD")) text = ReplaceAll(text, DigestOf(changed), DigestOf("another"));
  }
  const AbsPath lying = Write("lying", other);
  EXPECT_THAT(Texts(Examine(env, lying, known)),
              testing::Contains(testing::HasSubstr("toy/changed.so wheel-record-digest")));
  // Another content says nothing about the member.
  content.back() = static_cast<char>(content.back() ^ 1);
  ExpectSame(whole, Examine(env, now, known));
}

}  // namespace
}  // namespace ptpkg::verify
