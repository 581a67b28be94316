#include "publish/output/folder_target.h"

#include <cerrno>
#include <cstdio>
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "publish/output/output_folder.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "support/text/json.h"
#include "unit/conda/package_builder.h"

namespace ptpkg::publish {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

constexpr const char* kConda = "demo-1.0-0.conda";
constexpr const char* kTarBz2 = "demo-1.0-0.tar.bz2";

/// demo-1.0-0 in both formats, below /in.
void MakePackages(test::MemFs& fs) {
  test::TestEnv env({.fs = &fs});
  fs.AddDir("/in");
  const std::vector<test::RawMember> payload = {{.name = "share/demo", .content = "demo"}};
  const std::vector<test::RawMember> info = test::DemoInfo(payload);
  test::WriteRawConda(env, {.info = info, .payload = payload}, AbsPath::Literal("/in") / kConda);
  std::vector<test::RawMember> all = info;
  all.insert(all.end(), payload.begin(), payload.end());
  fs.AddFile(std::string("/in/") + kTarBz2, test::MakeTarBz2(all));
}

Result<std::vector<SendOutcome>> SendBoth(Fs& fs, bool force = false) {
  test::TestEnv env({.fs = &fs});
  std::vector<Upload> uploads;
  for (const char* name : {kConda, kTarBz2}) {
    PTPKG_TRY(Upload upload, ReadUpload(env, AbsPath::Literal("/in") / name));
    uploads.push_back(std::move(upload));
  }
  return SendToFolder(env, AbsPath::Literal("/dist"), uploads, force);
}

/// sha256 of both, by name: of the files, and as the index has them.
void ExpectPublishedOnce(test::MemFs& fs) {
  const auto repodata = ParseJson(fs.Content("/dist/conda/linux-64/repodata.json"), "repodata.json");
  ASSERT_THAT(repodata, IsOk());
  for (const auto& [key, name] : {std::pair("packages.conda", kConda), std::pair("packages", kTarBz2)}) {
    const std::string wanted = HashText(fs.Content(std::string("/in/") + name)).Hex();
    EXPECT_EQ(HashText(fs.Content(std::string("/dist/conda/linux-64/") + name)).Hex(), wanted);
    EXPECT_TRUE(fs.IsSynced(std::string("/dist/conda/linux-64/") + name));
    ASSERT_EQ((*repodata)[key].size(), 1U);
    EXPECT_EQ((*repodata)[key][name]["sha256"], wanted);
  }
  const auto manifest = ParseJson(fs.Content("/dist/manifest.json"), "manifest.json");
  ASSERT_THAT(manifest, IsOk());
  EXPECT_EQ((*manifest)["artifacts"].size(), 2U);
  for (const char* file : {"/dist/conda/linux-64/repodata.json", "/dist/manifest.json"})
    EXPECT_TRUE(fs.IsSynced(file)) << file;
}

TEST(FolderTargetTest, SendsOnceAndKnowsWhatIsThere) {
  test::MemFs fs;
  MakePackages(fs);
  const auto first = SendBoth(fs);
  ASSERT_THAT(first, IsOk());
  EXPECT_THAT(*first, ElementsAre(Field(&SendOutcome::result, UploadResult::kSent),
                                  Field(&SendOutcome::result, UploadResult::kSent)));
  ExpectPublishedOnce(fs);
  const std::vector<std::string> there = fs.List("/dist");
  const auto again = SendBoth(fs);
  ASSERT_THAT(again, IsOk());
  EXPECT_THAT(*again, ElementsAre(Field(&SendOutcome::result, UploadResult::kWasThere),
                                  Field(&SendOutcome::result, UploadResult::kWasThere)));
  EXPECT_EQ(fs.List("/dist"), there);
}

TEST(FolderTargetTest, AFileInThePlaceOfADirectoryIsRefused) {
  test::MemFs fs;
  MakePackages(fs);
  test::TestEnv env({.fs = &fs});
  const auto upload = ReadUpload(env, AbsPath::Literal("/in") / kConda);
  ASSERT_THAT(upload, IsOk());
  const auto check = [&](const char* root) { return CheckFolder(env, AbsPath::Literal(root), {*upload}); };
  EXPECT_THAT(check("/new/below"), IsOk());
  EXPECT_THAT(check("/in"), IsOk());
  for (const char* blocker :
       {"/file", "/a/conda", "/b/wheels", "/c/conda/linux-64", "/d/logs", "/e/.ptpkg", "/f/wheels/simple"})
    fs.AddFile(blocker, "");
  for (const char* root : {"/file", "/file/below/it", "/a", "/b", "/c", "/d", "/e", "/f"})
    EXPECT_THAT(check(root), FailsWith(ErrorCode::kRefused, HasSubstr("is not a directory"))) << root;
}

TEST(FolderTargetTest, PatchInstructionsAreReadBeforeAndTellWhatTheyHide) {
  test::MemFs fs;
  MakePackages(fs);
  const AbsPath root = AbsPath::Literal("/dist");
  const std::string patch = "/dist/conda/linux-64/patch_instructions.json";
  test::TestEnv reader({.fs = &fs});
  const auto upload = ReadUpload(reader, AbsPath::Literal("/in") / kConda);
  ASSERT_THAT(upload, IsOk());
  for (const char* list : {"remove", "revoke"}) {
    test::TestEnv env({.fs = &fs});
    fs.AddFile(patch, "{}");
    EXPECT_THAT(CheckFolder(env, root, {*upload}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("'" + patch + "'")));
    // A patch that ends the index of another subdir, and one that damages the row of the new package.
    const std::string other = "/dist/conda/noarch/patch_instructions.json";
    fs.AddFile(patch, Json{{"patch_instructions_version", 1}}.dump());
    fs.AddFile(other, "{}");
    EXPECT_THAT(CheckFolder(env, root, {*upload}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("'" + other + "'")));
    ASSERT_THAT(fs.Remove(AbsPath::Literal(other)), IsOk());
    fs.AddFile(patch, Json{{"patch_instructions_version", 1},
                           {"packages.conda", {{kConda, {{"build_number", "x"}}}}}}
                          .dump());
    EXPECT_THAT(CheckFolder(env, root, {*upload}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("build_number")));
    fs.AddFile(patch, Json{{"patch_instructions_version", 1}, {list, {kConda}}}.dump());
    ASSERT_THAT(CheckFolder(env, root, {*upload}), IsOk());
    ASSERT_THAT(SendToFolder(env, root, {*upload}, false), IsOk());
    EXPECT_THAT(env.reporter.warnings(),
                ElementsAre(HasSubstr(std::string("clients cannot install '") + kConda + "'")));
  }
}

TEST(FolderTargetTest, AnotherFileIsAConflictUnlessForced) {
  test::MemFs fs;
  MakePackages(fs);
  fs.AddFile(std::string("/dist/conda/linux-64/") + kTarBz2, "other");
  const auto refused = SendBoth(fs);
  EXPECT_THAT(refused, FailsWith(ErrorCode::kAlreadyExists, HasSubstr(HashText("other").Hex())));
  EXPECT_EQ(fs.Content(std::string("/dist/conda/linux-64/") + kTarBz2), "other");
  ASSERT_THAT(SendBoth(fs, true), IsOk());
  ExpectPublishedOnce(fs);
}

constexpr std::uint64_t kWays = 3;

struct Way {
  std::uint64_t number;
  const char* name;
  int sys_errno;
  test::FaultAfter after;
  bool is_new = true;  ///< The directory is not there yet.
};

TEST(FolderTargetTest, KnownDigestsAreNotTakenAgainAndMustHold) {
  test::MemFs fs;
  MakePackages(fs);
  test::TestEnv env({.fs = &fs});
  const AbsPath file = AbsPath::Literal("/in") / kConda;
  ASSERT_OK_AND_ASSIGN(const Upload hashed, ReadUpload(env, file));
  ASSERT_OK_AND_ASSIGN(const Upload known, ReadUpload(env, file, hashed.digests));
  EXPECT_EQ(known.digests, hashed.digests);
  Digests others;
  others.size_bytes = hashed.digests.size_bytes;
  ASSERT_OK_AND_ASSIGN(const Upload wrong, ReadUpload(env, file, others));
  EXPECT_EQ(wrong.digests.sha256, Sha256());
  EXPECT_THAT(SendToFolder(env, AbsPath::Literal("/dist"), {wrong}, false),
              FailsWith(ErrorCode::kRefused, HasSubstr("changed while it was published")));
}

/// How many of both have their names.
std::size_t Named(test::MemFs& fs) {
  std::size_t named = 0;
  for (const std::string& path : fs.List("/dist")) named += path.ends_with(kConda) || path.ends_with(kTarBz2);
  return named;
}

class FolderFaults : public ::testing::TestWithParam<Way> {};

/// Both files are published while an operation of the file system fails, each in one of the ways; then once
/// more without a fault.
TEST_P(FolderFaults, TheNextRunLeavesBothOnceAndInTheIndex) {
  const Way way = GetParam();
  test::MemFs start;
  MakePackages(start);
  if (!way.is_new) start.AddDir("/dist");
  test::MemFs good;
  good.CopyFrom(start);
  ASSERT_THAT(SendBoth(good), IsOk());
  int failed = 0;
  int in_index = 0;
  int tried = 0;
  for (std::uint64_t number = 1 + way.number;; number += kWays) {
    SCOPED_TRACE(fmt::format("fault at operation {}", number));
    test::MemFs fs;
    fs.CopyFrom(start);
    test::FaultFs broken(fs, {.number = number, .sys_errno = way.sys_errno, .after = way.after});
    const auto sent = SendBoth(broken);
    EXPECT_EQ(fs.open_files(), 0);
    if (!broken.fired()) break;
    ++tried;
    if (sent) {
      ExpectPublishedOnce(fs);
    } else {
      ++failed;
      EXPECT_EQ(sent.error().sys_errno(), way.sys_errno) << FormatError(sent.error());
      const std::string said = FormatError(sent.error());
      const bool is_of_index = said.find("the files are published") != std::string::npos;
      in_index += is_of_index;
      EXPECT_EQ(is_of_index, said.find("complete the index with: ptpkg index /dist/") != std::string::npos);
      if (is_of_index) {
        EXPECT_EQ(Named(fs), 2U);
      }
      // A new directory appears whole; in an old one, what every later run begins with completes the
      // publication.
      test::TestEnv env({.fs = &fs});
      if (!way.is_new) {
        ASSERT_THAT(OutputFolder::RecoverPublication(env, AbsPath::Literal("/dist")), IsOk());
      }
      EXPECT_THAT(Named(fs), ::testing::AnyOf(0U, 2U));
      if (way.is_new && Named(fs) == 2) ExpectPublishedOnce(fs);
    }
    ASSERT_THAT(SendBoth(fs), IsOk());
    ExpectPublishedOnce(fs);
    EXPECT_EQ(fs.List("/dist"), good.List("/dist"));
    if (HasFailure()) break;
  }
  EXPECT_GT(failed, 50);
  EXPECT_EQ(in_index > 0, !way.is_new);
  std::printf("folder: %s: %d operations, %d went well at once, %d when it was run again\n", way.name, tried,
              tried - failed, failed);
}

INSTANTIATE_TEST_SUITE_P(
    Ways, FolderFaults,
    ::testing::Values(Way{0, "read or write error (EIO)", EIO, test::FaultAfter::kRecover},
                      Way{1, "full disk (ENOSPC)", ENOSPC, test::FaultAfter::kRecover},
                      Way{2, "the process dies", EIO, test::FaultAfter::kDead},
                      Way{0, "the same, and the folder is there", EIO, test::FaultAfter::kDead, false},
                      Way{1, "the same, and the folder is there", EIO, test::FaultAfter::kDead, false},
                      Way{2, "read or write error, and the folder is there", EIO, test::FaultAfter::kRecover,
                          false}));

}  // namespace
}  // namespace ptpkg::publish
