// Whose file it is, who may write it and its directory, and what else the file system keeps about it.

#include <functional>
#include <gmock/gmock.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "elf/edit/edit.h"
#include "support/fault_fs.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "unit/elf/fixtures/edits_of.h"
#include "unit/elf/fixtures/linked_toys.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf::test {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::FaultAfter;
using ptpkg::test::FaultFs;
using ptpkg::test::FaultScope;
using ptpkg::test::HasHint;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr uid_t kSomebody = 12345;
constexpr const char* kAccessList = "system.posix_acl_access";

std::optional<std::string> Attribute(const AbsPath& path, const char* name) {
  std::string value(4096, '\0');
  const ssize_t size = ::getxattr(path.c_str(), name, value.data(), value.size());
  if (size < 0) return std::nullopt;
  value.resize(static_cast<std::size_t>(size));
  return value;
}

bool SetAttribute(const AbsPath& path, const char* name, const std::string& value) {
  return ::setxattr(path.c_str(), name, value.data(), value.size(), 0) == 0;
}

/// An access list of version 2 (linux/posix_acl_xattr.h): the owner and one other user may do all, the rest
/// may read.
std::string AccessList() {
  struct Entry {
    std::uint16_t tag;
    std::uint16_t rights;
    std::uint32_t id;
  };
  constexpr std::uint32_t kNobody = 0xffffffff;
  std::string list("\x02\0\0\0", 4);
  for (const Entry& entry : {Entry{0x01, 6, kNobody}, Entry{0x02, 7, kSomebody}, Entry{0x04, 4, kNobody},
                             Entry{0x10, 7, kNobody}, Entry{0x20, 4, kNobody}}) {
    list.append(reinterpret_cast<const char*>(&entry), sizeof entry);
  }
  return list;
}

/// A library with another link, so that it is edited by copy.
struct LinkedTwice : LinkedToys {
  LinkedTwice() : LinkedToys("bfd") { EXPECT_OK(fs().CreateHardLink(library, Path("other.so"))); }
  AbsPath library = Path("libanswer.so");
};

TEST(Attributes, SurviveAnEditByCopy) {
  LinkedTwice toys;
  if (!SetAttribute(toys.library, "user.origin", "built here")) {
    GTEST_SKIP() << "this file system keeps no user attributes";
  }
  ASSERT_TRUE(SetAttribute(toys.library, "user.empty", ""));
  ASSERT_OK(toys.fs().SetMode(toys.library, 0555));
  ASSERT_OK(EditFile(toys.fs(), toys.library, LongPath()));
  EXPECT_EQ(toys.fs().Lstat(toys.library)->link_count, 1U);
  EXPECT_EQ(toys.fs().Lstat(toys.library)->mode, 0555U);
  EXPECT_EQ(Attribute(toys.library, "user.origin"), "built here");
  EXPECT_EQ(Attribute(toys.library, "user.empty"), "");
}

TEST(Attributes, AccessListSurvivesAnEditByCopy) {
  LinkedTwice toys;
  if (!SetAttribute(toys.library, kAccessList, AccessList())) {
    GTEST_SKIP() << "this file system keeps no access lists";
  }
  const std::uint32_t mode = toys.fs().Lstat(toys.library)->mode;
  ASSERT_OK(EditFile(toys.fs(), toys.library, LongPath()));
  EXPECT_EQ(toys.fs().Lstat(toys.library)->link_count, 1U);
  EXPECT_EQ(Attribute(toys.library, kAccessList), AccessList());
  EXPECT_EQ(toys.fs().Lstat(toys.library)->mode, mode);
}

TEST(Attributes, AccessListOfTheFolderIsNotTakenOver) {
  LinkedTwice toys;
  if (!SetAttribute(toys.root(), "system.posix_acl_default", AccessList())) {
    GTEST_SKIP() << "this file system keeps no access lists";
  }
  ASSERT_OK(EditFile(toys.fs(), toys.library, LongPath()));
  EXPECT_FALSE(Attribute(toys.library, kAccessList).has_value());
}

TEST(Attributes, CapabilitiesEndWithAnyEdit) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give capabilities";
  // VFS_CAP_REVISION_2, effective; CAP_NET_RAW permitted (linux/capability.h).
  const std::string capability("\x01\0\0\x02\0\x20\0\0\0\0\0\0\0\0\0\0\0\0\0\0", 20);
  for (const bool by_copy : {true, false}) {
    LinkedToys toys("bfd");
    const AbsPath program = toys.Path("app");
    if (!SetAttribute(program, "security.capability", capability)) {
      GTEST_SKIP() << "this file system keeps no capabilities";
    }
    if (by_copy) {
      ASSERT_OK(toys.fs().CreateHardLink(program, toys.Path("other")));
    }
    ASSERT_OK(EditFile(toys.fs(), program, LongPath()));
    EXPECT_FALSE(Attribute(program, "security.capability").has_value()) << by_copy;
  }
}

TEST(Attributes, ThatCannotBeKeptStopTheEdit) {
  const AbsPath file = AbsPath::Literal("/tree/libanswer.so");
  const std::string before = SyntheticElf().Build();
  bool named = false;
  for (std::uint64_t number = 1; !named && number < 20; ++number) {
    ptpkg::test::MemFs fs;
    fs.AddFile(file.str(), before, 0444);
    FaultFs faulty(fs, {.number = number, .scope = FaultScope::kMutating});
    const auto edited = EditFile(faulty, file, LongPath());
    named = !edited && edited.error().message().find("copy the attributes") != std::string::npos;
    if (named) {
      EXPECT_EQ(fs.Content(file.str()), before);
      EXPECT_THAT(fs.List("/tree"), ::testing::ElementsAre("libanswer.so"));
    }
  }
  EXPECT_TRUE(named);
}

TEST(OtherOwner, KeepsFileAndSetUserIdWhenSplitFromItsLinks) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  LinkedTwice toys;
  ASSERT_EQ(::chown(toys.library.c_str(), kSomebody, kSomebody), 0);
  ASSERT_EQ(::chmod(toys.library.c_str(), 04755), 0);
  ASSERT_OK(EditFile(toys.fs(), toys.library, LongPath()));
  struct stat st {};
  ASSERT_EQ(::stat(toys.library.c_str(), &st), 0);
  EXPECT_EQ(st.st_uid, kSomebody);
  EXPECT_EQ(st.st_gid, kSomebody);
  EXPECT_EQ(st.st_mode & 07777U, 04755U);
  EXPECT_EQ(st.st_nlink, 1U);
}

/// Runs `body` as another user in a child process; what it returns must be true.
bool AsSomebody(const std::function<bool()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    const bool is_other =
        ::setgroups(0, nullptr) == 0 && ::setgid(kSomebody) == 0 && ::setuid(kSomebody) == 0;
    ::_exit(is_other && body() ? 0 : 1);
  }
  int status = 0;
  return child > 0 && ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/// A library in a directory that everybody can write to.
struct SharedFolder : LinkedToys {
  SharedFolder() : LinkedToys("bfd") { EXPECT_OK(fs().SetMode(root(), 0777)); }
  AbsPath library = Path("libanswer.so");
};

TEST(OtherOwner, FileThatCannotKeepItsOwnerIsNotReplaced) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  struct Case {
    std::uint32_t mode;
    bool has_links;
  };
  for (const Case& tested : {Case{0444, false}, Case{0666, true}, Case{04777, false}, Case{02777, false}}) {
    SCOPED_TRACE(tested.mode);
    SharedFolder toys;
    ASSERT_OK(toys.fs().SetMode(toys.library, tested.mode));
    if (tested.has_links) {
      ASSERT_OK(toys.fs().CreateHardLink(toys.library, toys.Path("other.so")));
    }
    const FileStat before = *toys.fs().Lstat(toys.library);
    const std::size_t names = toys.fs().ListDir(toys.root())->size();
    EXPECT_TRUE(AsSomebody([&] {
      EXPECT_THAT(EditFile(toys.fs(), toys.library, LongPath()),
                  FailsWith(ErrorCode::kIo, HasSubstr("belongs to another user or group")));
      return !::testing::Test::HasFailure();
    }));
    EXPECT_EQ(*toys.fs().Lstat(toys.library), before);
    EXPECT_EQ(toys.fs().ListDir(toys.root())->size(), names);
  }
}

TEST(OtherOwner, KeepsTheSetIdBitsOfItsOwnFile) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  SharedFolder toys;
  ASSERT_EQ(::chown(toys.library.c_str(), kSomebody, kSomebody), 0);
  ASSERT_EQ(::chmod(toys.library.c_str(), 06755), 0);
  EXPECT_TRUE(AsSomebody([&] { return EditFile(toys.fs(), toys.library, LongPath()).has_value(); }));
  EXPECT_EQ(toys.fs().Lstat(toys.library)->mode, 06755U);
  EXPECT_EQ(toys.Load(toys.library), 42);
}

/// A library that all may write, in a directory that only its owner may.
struct ForeignFolder : LinkedToys {
  ForeignFolder() : LinkedToys("bfd") {
    EXPECT_OK(fs().SetMode(root(), 0755));
    EXPECT_OK(fs().SetMode(library, 0666));
  }
  AbsPath library = Path("libanswer.so");
};

TEST(ForeignFolder, WritableFileIsEditedInPlace) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ForeignFolder toys;
  const std::uint64_t inode = toys.fs().Lstat(toys.library)->inode;
  EXPECT_TRUE(AsSomebody([&] { return EditFile(toys.fs(), toys.library, LongPath()).has_value(); }));
  EXPECT_EQ(toys.Load(toys.library), 42);
  EXPECT_EQ(toys.fs().Lstat(toys.library)->inode, inode);
  EXPECT_EQ(toys.fs().Lstat(toys.library)->mode, 0666U);
}

TEST(ForeignFolder, KilledEditIsUndoneByAnybodyWhoMayWrite) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ForeignFolder toys;
  const std::string before = toys.Bytes("libanswer.so");
  bool survived = false;
  for (std::uint64_t number = 1; !survived; ++number) {
    SCOPED_TRACE(number);
    survived = AsSomebody([&] {
      FaultFs faulty(toys.fs(),
                     {.number = number, .scope = FaultScope::kMutating, .after = FaultAfter::kDead});
      return EditFile(faulty, toys.library, LongPath()).has_value();
    });
    if (survived) break;
    const auto recover = [&] { return RecoverEdit(toys.fs(), toys.library).has_value(); };
    ASSERT_TRUE(number % 2 == 0 ? AsSomebody(recover) : recover());
    if (toys.Bytes("libanswer.so") != before) {  // died after the last of it
      ASSERT_EQ(toys.Load(toys.library), 42);
      ASSERT_OK(WriteFile(toys.fs(), toys.library, before));
      ASSERT_OK(toys.fs().SetMode(toys.library, 0666));
    }
  }
  EXPECT_EQ(toys.Load(toys.library), 42);
}

TEST(ForeignFolder, FileThatHasToBeReplacedIsRefusedWithReason) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  ForeignFolder toys;
  ASSERT_OK(toys.fs().CreateHardLink(toys.library, toys.Path("other.so")));
  const std::string before = toys.Bytes("libanswer.so");
  EXPECT_TRUE(AsSomebody([&] {
    const auto edited = EditFile(toys.fs(), toys.library, LongPath());
    EXPECT_THAT(edited, AllOf(FailsWith(ErrorCode::kIo, HasSubstr("Permission denied")),
                              HasHint(HasSubstr("its directory is not writable"))));
    return !::testing::Test::HasFailure();
  }));
  EXPECT_TRUE(toys.Bytes("libanswer.so") == before);
}

}  // namespace
}  // namespace ptpkg::elf::test
