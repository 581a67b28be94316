#include "support/files/find_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/temp_dir.h"
#include "support/test_env.h"

namespace ptpkg::test {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::SizeIs;

constexpr std::string_view kMagic = "\177ELF";
constexpr std::array<std::string_view, 1> kSkipped = {".h"};

std::vector<std::string> Names(const std::vector<FoundFile>& files) {
  std::vector<std::string> names;
  for (const FoundFile& file : files) names.push_back(file.path.str());
  return names;
}

/// The same tree on both kinds of file system: `T` is the one to look at.
class FindFiles : public ::testing::TestWithParam<bool> {
 protected:
  FindFiles() { mem_.AddDir("/tree"); }

  [[nodiscard]] static bool OnDisk() { return GetParam(); }
  void Add(const std::string& path, const std::string& content, std::uint32_t mode = 0644) {
    if (OnDisk()) {
      static_cast<void>(disk_.WriteFile(path, content, mode));
    } else {
      mem_.AddFile("/tree/" + path, content, mode);
    }
  }
  void AddSymlink(const std::string& target, const std::string& path) {
    if (OnDisk()) {
      static_cast<void>(disk_.MakeSymlink(target, path));
    } else {
      mem_.AddSymlink(target, "/tree/" + path);
    }
  }
  Result<std::vector<FoundFile>> Find(const std::string& below = "") {
    const AbsPath root = OnDisk() ? disk_.path() : AbsPath::Literal("/tree");
    return FindFilesByMagic(OnDisk() ? disk_env_.env() : mem_env_.env(), below.empty() ? root : root / below,
                            {.magic = kMagic, .skipped_extensions = kSkipped});
  }

  MemFs mem_;
  TestEnv mem_env_{{.fs = &mem_, .jobs = 2}};
  TempDir disk_;
  TestEnv disk_env_{{.jobs = 2}};
};

INSTANTIATE_TEST_SUITE_P(Both, FindFiles, ::testing::Values(false, true),
                         [](const auto& tested) { return tested.param ? "Disk" : "Mem"; });

TEST_P(FindFiles, ByTheirFirstBytesOnly) {
  Add("b/c/deep.h.1", "\177ELF and more", 0755);
  Add("a.txt", "\177ELF");
  Add("lib.so", "INPUT(libm.so)");
  Add("short", "\177EL");
  Add("empty", "");
  Add("b/skipped.h", "\177ELF");
  AddSymlink("a.txt", "link.so");
  AddSymlink("b", "folder-link");
  AddSymlink("nowhere", "dangling.so");
  ASSERT_OK_AND_ASSIGN(const auto files, Find());
  EXPECT_THAT(Names(files), ElementsAre("a.txt", "b/c/deep.h.1"));
  EXPECT_EQ(files[0].size_bytes, 4U);
  EXPECT_EQ(files[0].mode, 0644U);
  EXPECT_EQ(files[1].size_bytes, 13U);
  EXPECT_EQ(files[1].mode, 0755U);
}

TEST_P(FindFiles, ManyInOneFolderAreSorted) {
  constexpr int kCount = 1000;  // several times what one task takes
  std::vector<std::string> expected;
  for (int i = 0; i < kCount; ++i) {
    Add("many/" + std::to_string(i), i % 2 == 0 ? "\177ELF" : "text");
    if (i % 2 == 0) expected.push_back("many/" + std::to_string(i));
  }
  std::sort(expected.begin(), expected.end());
  ASSERT_OK_AND_ASSIGN(const auto files, Find());
  EXPECT_EQ(Names(files), expected);
}

TEST_P(FindFiles, RootMustBeAFolder) {
  Add("file", "\177ELF");
  EXPECT_THAT(Find("file"), FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a directory")));
  EXPECT_THAT(Find("missing"), FailsWith(ErrorCode::kNotFound, HasSubstr("missing")));
}

TEST_P(FindFiles, StopsWhenCancelled) {
  Add("file", "\177ELF");
  mem_env_.cancel.Cancel();
  disk_env_.cancel.Cancel();
  EXPECT_THAT(Find(), FailsWith(ErrorCode::kCancelled, ::testing::_));
}

TEST(FindFilesOnDisk, FifosAreNotOpened) {
  TempDir dir;
  TestEnv env({.jobs = 2});
  ASSERT_EQ(::mkfifo((dir / "pipe").c_str(), 0600), 0);
  static_cast<void>(dir.WriteFile("a", "\177ELF"));
  EXPECT_THAT(FindFilesByMagic(env.env(), dir.path(), {.magic = kMagic}), IsOkAndHolds(SizeIs(1)));
}

TEST(FindFilesFaults, AreReported) {
  RunFaultLoop({.setup =
                    [](MemFs& fs) {
                      fs.AddFile("/tree/a/b", "\177ELF");
                      fs.AddFile("/tree/c", "\177ELF");
                    },
                .run = [](Fs& fs) -> Result<void> {
                  TestEnv env({.fs = &fs});
                  PTPKG_TRY(const auto files,
                            FindFilesByMagic(env.env(), AbsPath::Literal("/tree"), {.magic = kMagic}));
                  EXPECT_THAT(files, SizeIs(2));
                  return Ok();
                }});
}

}  // namespace
}  // namespace ptpkg::test
