// The contract of Fs, held by the real file system and by the double that other tests rely on.

#include "support/files/fs.h"

#include <cerrno>
#include <chrono>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "support/fault_fs.h"
#include "support/files/atomic_file.h"
#include "support/files/read_only_file.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/temp_dir.h"

namespace ptpkg::test {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct RealFs {
  TempDir dir;
  std::unique_ptr<Fs> fs = MakeOsFs();
  AbsPath root = dir.path();
};

struct MemoryFs {
  std::unique_ptr<Fs> fs = std::make_unique<MemFs>();
  AbsPath root = AbsPath::Literal("/");
};

template <class Backend>
class FsContract : public ::testing::Test {
 protected:
  Fs& fs() { return *backend_.fs; }
  AbsPath At(std::string_view relative) { return backend_.root / relative; }

  void Write(std::string_view relative, std::string_view text) {
    ASSERT_OK_AND_ASSIGN(const auto file, fs().Open(At(relative), OpenMode::kCreateNew));
    ASSERT_OK(file->WriteAt(0, AsBytes(text)));
    ASSERT_OK(file->Close());
  }
  std::string Read(std::string_view relative) {
    const Result<std::string> text = ReadFile(fs(), At(relative));
    EXPECT_OK(text);
    return text ? *text : "";
  }
  std::vector<std::string> List() { return ListTree(fs(), backend_.root); }

 private:
  Backend backend_;
};

using Backends = ::testing::Types<RealFs, MemoryFs>;
TYPED_TEST_SUITE(FsContract, Backends);

TYPED_TEST(FsContract, ReadsWhatWasWrittenAtAnyOffset) {
  ASSERT_OK_AND_ASSIGN(const auto file, this->fs().Open(this->At("f"), OpenMode::kCreateNew));
  ASSERT_OK(file->WriteAt(0, AsBytes("hello world")));
  ASSERT_OK(file->WriteAt(6, AsBytes("there")));
  ASSERT_OK(file->WriteAt(13, AsBytes("!")));  // the gap reads as zeros
  std::string buffer(20, 'x');
  EXPECT_THAT(file->ReadAt(0, std::as_writable_bytes(std::span(buffer))), IsOkAndHolds(14U));
  EXPECT_EQ(buffer.substr(0, 14), std::string("hello there\0\0!", 14));
  EXPECT_THAT(file->ReadAt(14, std::as_writable_bytes(std::span(buffer))), IsOkAndHolds(0U));
  EXPECT_THAT(file->ReadAt(1000, std::as_writable_bytes(std::span(buffer))), IsOkAndHolds(0U));
  ASSERT_OK(file->Sync());
  ASSERT_OK(file->Close());
  EXPECT_OK(file->Close());  // a second close is harmless
}

TYPED_TEST(FsContract, TruncateCutsAndExtends) {
  ASSERT_OK_AND_ASSIGN(const auto file, this->fs().Open(this->At("f"), OpenMode::kCreateNew));
  ASSERT_OK(file->WriteAt(0, AsBytes("abcdef")));
  ASSERT_OK(file->Truncate(2));
  ASSERT_OK(file->Truncate(4));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, file->Stat());
  EXPECT_EQ(stat.size_bytes, 4U);
  EXPECT_EQ(stat.kind, FileKind::kRegular);
  EXPECT_EQ(this->Read("f"), std::string("ab\0\0", 4));
}

TYPED_TEST(FsContract, CreateNewRefusesWhateverExists) {
  this->Write("file", "old");
  ASSERT_OK(this->fs().MakeDir(this->At("dir")));
  ASSERT_OK(this->fs().CreateSymlink("nowhere", this->At("dangling")));
  for (const char* name : {"file", "dir", "dangling"}) {
    EXPECT_THAT(this->fs().Open(this->At(name), OpenMode::kCreateNew),
                FailsWith(ErrorCode::kAlreadyExists, HasSubstr(name)));
  }
  EXPECT_EQ(this->Read("file"), "old");
  EXPECT_THAT(this->List(), ElementsAre("dangling -> nowhere", "dir/", "file"));
}

TYPED_TEST(FsContract, OpenForReadFollowsSymlinksForWritingRefuses) {
  this->Write("file", "text");
  ASSERT_OK(this->fs().CreateSymlink("file", this->At("link")));
  EXPECT_EQ(this->Read("link"), "text");
  EXPECT_THAT(this->fs().Open(this->At("link"), OpenMode::kReadWrite),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("link' is a symlink")));
}

TYPED_TEST(FsContract, OpenRefusesFoldersAndMissingFiles) {
  ASSERT_OK(this->fs().MakeDir(this->At("dir")));
  for (const OpenMode mode : {OpenMode::kRead, OpenMode::kReadWrite}) {
    EXPECT_THAT(this->fs().Open(this->At("dir"), mode),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("dir' is not a regular file")));
    EXPECT_THAT(this->fs().Open(this->At("none"), mode), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  }
  EXPECT_THAT(this->fs().Open(this->At("none/f"), OpenMode::kCreateNew),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none/f")));
  this->Write("file", "");
  EXPECT_THAT(this->fs().Open(this->At("file/f"), OpenMode::kRead),
              FailsWith(ErrorCode::kNotFound, HasSubstr("file/f")));
}

TYPED_TEST(FsContract, ReadWriteChangesInPlace) {
  this->Write("f", "abcdef");
  ASSERT_OK_AND_ASSIGN(const FileStat before, this->fs().Lstat(this->At("f")));
  ASSERT_OK_AND_ASSIGN(const auto file, this->fs().Open(this->At("f"), OpenMode::kReadWrite));
  ASSERT_OK(file->WriteAt(2, AsBytes("XY")));
  ASSERT_OK(file->Close());
  EXPECT_EQ(this->Read("f"), "abXYef");
  ASSERT_OK_AND_ASSIGN(const FileStat after, this->fs().Lstat(this->At("f")));
  EXPECT_EQ(after.inode, before.inode);
}

TYPED_TEST(FsContract, ReadOnlyFileCannotBeWritten) {
  this->Write("f", "abc");
  ASSERT_OK_AND_ASSIGN(const auto file, this->fs().Open(this->At("f"), OpenMode::kRead));
  EXPECT_THAT(file->WriteAt(0, AsBytes("x")), FailsWith(ErrorCode::kIo, HasSubstr("cannot write")));
  EXPECT_THAT(file->Truncate(0), FailsWith(ErrorCode::kIo, HasSubstr("cannot resize")));
  EXPECT_EQ(this->Read("f"), "abc");
}

TYPED_TEST(FsContract, ListDirSortsByBytes) {
  for (const char* name : {"b", "a", "B", "a.b", ".hidden", "\xC3\xA9"}) this->Write(name, "");
  const auto names = this->fs().ListDir(this->At("a").Parent());
  EXPECT_THAT(names, IsOkAndHolds(ElementsAre(".hidden", "B", "a", "a.b", "b", "\xC3\xA9")));
  EXPECT_THAT(this->fs().ListDir(this->At("none")),
              FailsWith(ErrorCode::kNotFound, HasSubstr("cannot list")));
  EXPECT_THAT(this->fs().ListDir(this->At("a")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a directory")));
}

TYPED_TEST(FsContract, MakeDirsMakesParentsAndAcceptsExistingFolders) {
  ASSERT_OK(this->fs().MakeDirs(this->At("a/b/c")));
  ASSERT_OK(this->fs().MakeDirs(this->At("a/b/c")));
  ASSERT_OK(this->fs().CreateSymlink("a", this->At("link")));
  ASSERT_OK(this->fs().MakeDirs(this->At("link/d")));
  EXPECT_THAT(this->List(), ElementsAre("a/", "a/b/", "a/b/c/", "a/d/", "link -> a"));
}

TYPED_TEST(FsContract, MakeDirsFailsWhereAFileOrDanglingLinkIs) {
  this->Write("file", "");
  ASSERT_OK(this->fs().CreateSymlink("nowhere", this->At("dangling")));
  EXPECT_THAT(this->fs().MakeDirs(this->At("file")), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("file")));
  EXPECT_THAT(this->fs().MakeDirs(this->At("file/x/y")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("file' is not a directory")));
  EXPECT_THAT(this->fs().MakeDirs(this->At("dangling")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("dangling' is not a directory")));
}

TYPED_TEST(FsContract, MakeDirIsExclusive) {
  ASSERT_OK(this->fs().MakeDir(this->At("d")));
  EXPECT_THAT(this->fs().MakeDir(this->At("d")), FailsWith(ErrorCode::kAlreadyExists, HasSubstr("d'")));
  EXPECT_THAT(this->fs().MakeDir(this->At("x/y")), FailsWith(ErrorCode::kNotFound, HasSubstr("x/y")));
}

TYPED_TEST(FsContract, SymlinksAreReadNotFollowedByLstat) {
  this->Write("f", "12345");
  ASSERT_OK(this->fs().CreateSymlink("f", this->At("link")));
  EXPECT_THAT(this->fs().ReadLink(this->At("link")), IsOkAndHolds(std::string("f")));
  ASSERT_OK_AND_ASSIGN(const FileStat link, this->fs().Lstat(this->At("link")));
  EXPECT_EQ(link.kind, FileKind::kSymlink);
  ASSERT_OK_AND_ASSIGN(const FileStat target, this->fs().Stat(this->At("link")));
  EXPECT_EQ(target.kind, FileKind::kRegular);
  EXPECT_EQ(target.size_bytes, 5U);
  EXPECT_THAT(this->fs().ReadLink(this->At("f")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a symlink")));
  EXPECT_THAT(this->fs().ReadLink(this->At("none")), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(this->fs().CreateSymlink("x", this->At("f")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("f'")));
}

TYPED_TEST(FsContract, LinkLoopIsAnErrorNotAHang) {
  ASSERT_OK(this->fs().CreateSymlink("b", this->At("a")));
  ASSERT_OK(this->fs().CreateSymlink("a", this->At("b")));
  EXPECT_THAT(this->fs().Stat(this->At("a")), FailsWith(ErrorCode::kIo, HasSubstr("a'")));
  EXPECT_THAT(this->fs().Open(this->At("a"), OpenMode::kRead), FailsWith(ErrorCode::kIo, HasSubstr("a'")));
}

TYPED_TEST(FsContract, HardLinksShareOneFile) {
  this->Write("a", "x");
  ASSERT_OK(this->fs().CreateHardLink(this->At("a"), this->At("b")));
  ASSERT_OK_AND_ASSIGN(const FileStat a, this->fs().Lstat(this->At("a")));
  ASSERT_OK_AND_ASSIGN(const FileStat b, this->fs().Lstat(this->At("b")));
  EXPECT_EQ(a.link_count, 2U);
  EXPECT_EQ(a.inode, b.inode);
  EXPECT_EQ(a.device, b.device);
  ASSERT_OK(this->fs().Remove(this->At("a")));
  EXPECT_EQ(this->Read("b"), "x");
  EXPECT_THAT(this->fs().CreateHardLink(this->At("none"), this->At("c")), FailsWith(ErrorCode::kNotFound, _));
}

TYPED_TEST(FsContract, RenameReplacesFilesAndRefusesFullFolders) {
  this->Write("a", "new");
  this->Write("b", "old");
  ASSERT_OK(this->fs().Rename(this->At("a"), this->At("b")));
  EXPECT_EQ(this->Read("b"), "new");

  ASSERT_OK(this->fs().MakeDirs(this->At("d1/x")));
  ASSERT_OK(this->fs().MakeDirs(this->At("d2/y")));
  EXPECT_THAT(this->fs().Rename(this->At("d1"), this->At("d2")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("d2")));
  ASSERT_OK(this->fs().Remove(this->At("d2/y")));
  ASSERT_OK(this->fs().Rename(this->At("d1"), this->At("d2")));
  EXPECT_THAT(this->List(), ElementsAre("b", "d2/", "d2/x/"));
  EXPECT_THAT(this->fs().Rename(this->At("none"), this->At("x")),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TYPED_TEST(FsContract, RenameReplacesASymlinkNotItsTarget) {
  this->Write("new", "new");
  this->Write("target", "kept");
  ASSERT_OK(this->fs().CreateSymlink("target", this->At("link")));
  ASSERT_OK(this->fs().Rename(this->At("new"), this->At("link")));
  EXPECT_EQ(this->Read("target"), "kept");
  EXPECT_THAT(this->List(), ElementsAre("link", "target"));
}

TYPED_TEST(FsContract, RenameNoReplaceRefusesWhateverExists) {
  this->Write("a", "new");
  this->Write("b", "old");
  ASSERT_OK(this->fs().CreateSymlink("nowhere", this->At("dangling")));
  for (const char* name : {"b", "dangling"}) {
    EXPECT_THAT(this->fs().RenameNoReplace(this->At("a"), this->At(name)),
                FailsWith(ErrorCode::kAlreadyExists, HasSubstr(name)));
  }
  EXPECT_EQ(this->Read("b"), "old");
  ASSERT_OK(this->fs().RenameNoReplace(this->At("a"), this->At("c")));
  EXPECT_THAT(this->List(), ElementsAre("b", "c", "dangling -> nowhere"));
}

TYPED_TEST(FsContract, RemoveTakesOneThing) {
  this->Write("f", "");
  ASSERT_OK(this->fs().MakeDirs(this->At("d/e")));
  ASSERT_OK(this->fs().CreateSymlink("d", this->At("link")));
  ASSERT_OK(this->fs().Remove(this->At("f")));
  ASSERT_OK(this->fs().Remove(this->At("link")));
  EXPECT_THAT(this->fs().Remove(this->At("d")), FailsWith(ErrorCode::kIo, HasSubstr("not empty")));
  ASSERT_OK(this->fs().Remove(this->At("d/e")));
  ASSERT_OK(this->fs().Remove(this->At("d")));
  EXPECT_THAT(this->fs().Remove(this->At("d")), FailsWith(ErrorCode::kNotFound, HasSubstr("d'")));
  EXPECT_THAT(this->List(), IsEmpty());
}

TYPED_TEST(FsContract, ModeAndMtimeAreSet) {
  this->Write("f", "");
  constexpr std::int64_t kTime = 315532800'123456789;
  ASSERT_OK(this->fs().SetMode(this->At("f"), 04755));
  ASSERT_OK(this->fs().SetMtime(this->At("f"), kTime));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, this->fs().Lstat(this->At("f")));
  EXPECT_EQ(stat.mode, 04755U);
  EXPECT_EQ(stat.mtime_ns, kTime);
  ASSERT_OK(this->fs().SetMtime(this->At("f"), -1));
  ASSERT_OK_AND_ASSIGN(const FileStat early, this->fs().Lstat(this->At("f")));
  EXPECT_EQ(early.mtime_ns, -1);
  EXPECT_THAT(this->fs().SetMode(this->At("none"), 0644), FailsWith(ErrorCode::kNotFound, _));
  EXPECT_THAT(this->fs().SetMtime(this->At("none"), 0), FailsWith(ErrorCode::kNotFound, _));
}

TYPED_TEST(FsContract, SymlinkModeIsRefusedAndItsOwnTimeSet) {
  this->Write("f", "");
  ASSERT_OK(this->fs().SetMode(this->At("f"), 0644));
  ASSERT_OK(this->fs().SetMtime(this->At("f"), 1'000'000'000));
  ASSERT_OK(this->fs().CreateSymlink("f", this->At("link")));
  EXPECT_THAT(this->fs().SetMode(this->At("link"), 0600),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("symlink")));
  ASSERT_OK(this->fs().SetMtime(this->At("link"), 2'000'000'000));
  ASSERT_OK_AND_ASSIGN(const FileStat file, this->fs().Lstat(this->At("f")));
  ASSERT_OK_AND_ASSIGN(const FileStat link, this->fs().Lstat(this->At("link")));
  EXPECT_EQ(file.mode, 0644U);
  EXPECT_EQ(file.mtime_ns, 1'000'000'000);
  EXPECT_EQ(link.mtime_ns, 2'000'000'000);
}

TYPED_TEST(FsContract, CopyKeepsBytesModeAndTime) {
  std::string big(3'000'001, 'a');
  for (std::size_t i = 0; i < big.size(); i += 97) big[i] = static_cast<char>(i % 251);
  this->Write("from", big);
  ASSERT_OK(this->fs().SetMode(this->At("from"), 0750));
  ASSERT_OK(this->fs().SetMtime(this->At("from"), 1'234'567'890'000'000'007));
  ASSERT_OK(this->fs().CopyFile(this->At("from"), this->At("to")));
  EXPECT_TRUE(this->Read("to") == big);
  ASSERT_OK_AND_ASSIGN(const FileStat from, this->fs().Lstat(this->At("from")));
  ASSERT_OK_AND_ASSIGN(const FileStat to, this->fs().Lstat(this->At("to")));
  EXPECT_EQ(to.mode, 0750U);
  EXPECT_EQ(to.mtime_ns, 1'234'567'890'000'000'007);
  EXPECT_NE(to.inode, from.inode);
}

TYPED_TEST(FsContract, CopyRefusesExistingTargetsAndOddSources) {
  this->Write("from", "new");
  this->Write("to", "old");
  ASSERT_OK(this->fs().CreateSymlink("elsewhere", this->At("link")));
  ASSERT_OK(this->fs().MakeDir(this->At("dir")));
  EXPECT_THAT(this->fs().CopyFile(this->At("from"), this->At("to")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("to'")));
  EXPECT_THAT(this->fs().CopyFile(this->At("from"), this->At("link")),
              FailsWith(ErrorCode::kAlreadyExists, HasSubstr("link'")));
  EXPECT_THAT(this->fs().CopyFile(this->At("dir"), this->At("x")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("not a regular file")));
  EXPECT_THAT(this->fs().CopyFile(this->At("none"), this->At("x")),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(this->List(), ElementsAre("dir/", "from", "link -> elsewhere", "to"));
  EXPECT_EQ(this->Read("to"), "old");
}

TYPED_TEST(FsContract, SyncDirAndFreeBytes) {
  EXPECT_OK(this->fs().SyncDir(this->At("x").Parent()));
  EXPECT_THAT(this->fs().SyncDir(this->At("none")), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(this->fs().FreeBytes(this->At("x").Parent()), IsOkAndHolds(::testing::Gt(0U)));
  EXPECT_THAT(this->fs().FreeBytes(this->At("none")), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TYPED_TEST(FsContract, ExistsCountsDanglingLinks) {
  ASSERT_OK(this->fs().CreateSymlink("nowhere", this->At("dangling")));
  this->Write("f", "");
  EXPECT_THAT(Exists(this->fs(), this->At("dangling")), IsOkAndHolds(true));
  EXPECT_THAT(Exists(this->fs(), this->At("none")), IsOkAndHolds(false));
  EXPECT_THAT(Exists(this->fs(), this->At("none/deeper")), IsOkAndHolds(false));
  EXPECT_THAT(Exists(this->fs(), this->At("f/x")), IsOkAndHolds(false));
}

TYPED_TEST(FsContract, ReadFileKeepsItsLimit) {
  this->Write("f", "12345678");
  EXPECT_THAT(ReadFile(this->fs(), this->At("f"), 8), IsOkAndHolds(std::string("12345678")));
  EXPECT_THAT(ReadFile(this->fs(), this->At("f"), 7),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("larger than 7")));
  this->Write("empty", "");
  EXPECT_THAT(ReadFile(this->fs(), this->At("empty"), 0), IsOkAndHolds(std::string()));
  EXPECT_THAT(ReadFile(this->fs(), this->At("none")), FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TYPED_TEST(FsContract, WriteFileReplacesWholeAndSetsMode) {
  ASSERT_OK(WriteFile(this->fs(), this->At("f"), "one"));
  ASSERT_OK(this->fs().SetMode(this->At("f"), 0755));
  ASSERT_OK(WriteFile(this->fs(), this->At("f"), "two"));
  EXPECT_EQ(this->Read("f"), "two");
  ASSERT_OK_AND_ASSIGN(const FileStat stat, this->fs().Lstat(this->At("f")));
  EXPECT_EQ(stat.mode, 0644U);
  EXPECT_THAT(this->List(), ElementsAre("f"));
  EXPECT_THAT(WriteFile(this->fs(), this->At("none/f"), "x"),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TYPED_TEST(FsContract, RemoveTreeNeverFollowsSymlinks) {
  this->Write("kept", "x");
  ASSERT_OK(this->fs().MakeDirs(this->At("outside/sub")));
  ASSERT_OK(this->fs().MakeDirs(this->At("tree/a/b")));
  this->Write("tree/a/f", "x");
  ASSERT_OK(this->fs().CreateSymlink("../../outside", this->At("tree/a/to-folder")));
  ASSERT_OK(this->fs().CreateSymlink("../kept", this->At("tree/to-file")));
  ASSERT_OK(this->fs().CreateSymlink("tree", this->At("link")));
  ASSERT_OK(this->fs().SetMode(this->At("tree/a"), 0500));

  ASSERT_OK(RemoveTree(this->fs(), this->At("link")));  // the link only
  ASSERT_OK(RemoveTree(this->fs(), this->At("tree")));
  ASSERT_OK(RemoveTree(this->fs(), this->At("tree")));  // missing is no error
  EXPECT_THAT(this->List(), ElementsAre("kept", "outside/", "outside/sub/"));
}

TYPED_TEST(FsContract, FileStreamsAreSequential) {
  ASSERT_OK_AND_ASSIGN(const auto file, this->fs().Open(this->At("f"), OpenMode::kCreateNew));
  FileSink sink(*file);
  ASSERT_OK(sink.Write(AsBytes("abc")));
  ASSERT_OK(sink.Write(AsBytes("def")));
  EXPECT_EQ(sink.offset(), 6U);
  FileSource source(*file);
  StringSink copy;
  EXPECT_THAT(Pump(source, copy), IsOkAndHolds(6U));
  EXPECT_EQ(copy.str(), "abcdef");
}

// What only the real one can show.

TEST(OsFs, FifoIsRefusedAtOnce) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  ASSERT_EQ(::mkfifo((dir / "fifo").c_str(), 0644), 0);
  // A blocking open would wait here for a writer.
  EXPECT_THAT(fs->Open(dir / "fifo", OpenMode::kRead),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("fifo")));
  EXPECT_THAT(fs->Open(dir / "fifo", OpenMode::kReadWrite),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("fifo")));
  ASSERT_OK_AND_ASSIGN(const FileStat stat, fs->Lstat(dir / "fifo"));
  EXPECT_EQ(stat.kind, FileKind::kOther);
}

TEST(OsFs, ReadsFilesThatSayTheyAreEmpty) {
  const auto fs = MakeOsFs();
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(*fs, AbsPath::Literal("/proc/self/status")));
  EXPECT_THAT(text, HasSubstr("Name:"));
  EXPECT_THAT(ReadFile(*fs, AbsPath::Literal("/proc/self/status"), 10),
              FailsWith(ErrorCode::kInvalidInput, _));
}

TEST(OsFs, CopiesFilesThatSayTheyAreEmpty) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  ASSERT_OK(fs->CopyFile(AbsPath::Literal("/proc/self/status"), dir / "copy"));
  EXPECT_THAT(dir.ReadFile("copy"), HasSubstr("Name:"));
}

TEST(OsFs, CopyOfAnotherOwnersFileHasNoSetIdBits) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can give files away";
  const TempDir dir;
  const AbsPath file = dir.WriteFile("from", "x");
  ASSERT_EQ(::chown(file.c_str(), 12345, 12345), 0);
  ASSERT_EQ(::chmod(file.c_str(), 06755), 0);
  const auto fs = MakeOsFs();
  ASSERT_OK(fs->CopyFile(file, dir / "to"));
  EXPECT_EQ(fs->Lstat(dir / "to")->mode, 0755U);
}

TEST(OsFs, WritesThroughFilesAndDevices) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  const AbsPath file = dir.WriteFile("f", "a long text");
  ASSERT_OK(fs->SetMode(file, 0640));
  ASSERT_OK_AND_ASSIGN(const FileStat before, fs->Lstat(file));
  ASSERT_OK(fs->WriteThrough(file, AsBytes("short")));
  EXPECT_EQ(dir.ReadFile("f"), "short");
  EXPECT_EQ(fs->Lstat(file)->inode, before.inode);
  EXPECT_EQ(fs->Lstat(file)->mode, 0640U);
  EXPECT_OK(fs->WriteThrough(AbsPath::Literal("/dev/null"), AsBytes("x")));
  EXPECT_THAT(fs->WriteThrough(AbsPath::Literal("/dev/full"), AsBytes("x")),
              FailsWith(ErrorCode::kIo, HasSubstr("/dev/full")));
  EXPECT_THAT(fs->WriteThrough(dir / "none", AsBytes("x")),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
}

TEST(OsFs, FullDiskIsNamedWithAHint) {
  const auto fs = MakeOsFs();
  // /dev/full is a device, which Open refuses; the error itself is what a full disk gives.
  EXPECT_THAT(fs->Open(AbsPath::Literal("/dev/full"), OpenMode::kReadWrite),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("/dev/full")));
  MemFs mem;
  mem.LimitBytes(4);
  const Result<void> written = WriteFile(mem, AbsPath::Literal("/f"), "12345");
  EXPECT_THAT(written, FailsWith(ErrorCode::kIo, HasSubstr("/.f.")));
  EXPECT_THAT(written, HasHint(::testing::Not(IsEmpty())));
  EXPECT_THAT(mem.List(), IsEmpty());
}

TEST(OsFs, DescriptorsAreNotInherited) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  ASSERT_OK_AND_ASSIGN(const auto file, fs->Open(dir / "f", OpenMode::kCreateNew));
  int open_in_child = 0;
  ASSERT_OK_AND_ASSIGN(const auto names, fs->ListDir(AbsPath::Literal("/proc/self/fd")));
  for (const std::string& name : names) {
    const Result<std::string> info = ReadFile(*fs, AbsPath::Literal("/proc/self/fdinfo/" + name));
    const Result<std::string> target = fs->ReadLink(AbsPath::Literal("/proc/self/fd/" + name));
    if (!info || !target || *target != (dir / "f").str()) continue;
    const std::size_t flags = info->find("flags:");
    ASSERT_NE(flags, std::string::npos);
    constexpr unsigned long kCloseOnExec = 02000000;
    if ((std::stoul(info->substr(flags + 6), nullptr, 8) & kCloseOnExec) == 0) ++open_in_child;
  }
  EXPECT_EQ(open_in_child, 0);
}

TEST(RemoveTree, MakesFoldersWritableFirst) {
  MemFs fs;
  fs.AddFile("/t/locked/inner/f", "x");
  fs.AddDir("/t/locked/inner", 0000);
  fs.AddDir("/t/locked", 0500);
  EXPECT_THAT(fs.Remove(AbsPath::Literal("/t/locked/inner/f")), FailsWith(ErrorCode::kIo, _));
  ASSERT_OK(RemoveTree(fs, AbsPath::Literal("/t")));
  EXPECT_THAT(fs.List(), IsEmpty());
}

TEST(RemoveTree, DeepTreesWork) {
  MemFs fs;
  std::string path;
  for (int i = 0; i < 250; ++i) path += "/d";
  fs.AddDir(path);
  ASSERT_OK(RemoveTree(fs, AbsPath::Literal("/d")));
  EXPECT_THAT(fs.List(), IsEmpty());
}

TEST(RemoveTree, DoesNotWaitForOneFileAfterTheOther) {
  MemFs inner;
  constexpr int kFiles = 200;
  for (int i = 0; i < kFiles; ++i) inner.AddFile("/t/a/" + std::to_string(i), "x");
  FaultFs fs(inner, {});
  std::uint64_t others = 0;
  // A removal that waits: the others go on meanwhile.
  fs.Before(kFiles, [&] {
    const std::uint64_t before = fs.count();
    for (int turn = 0; turn < 10000 && others == 0; ++turn) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      others = fs.count() - before;
    }
  });
  ASSERT_OK(RemoveTree(fs, AbsPath::Literal("/t")));
  EXPECT_GT(others, 0U);
  EXPECT_THAT(inner.List(), IsEmpty());
}

TEST(RemoveTree, EveryFaultIsReported) {
  const int faults = RunFaultLoop(
      {.setup =
           [](MemFs& fs) {
             fs.AddFile("/t/a/f", "x");
             for (int i = 0; i < 40; ++i) fs.AddFile("/t/many/" + std::to_string(i), "x");
             fs.AddSymlink("f", "/t/a/l");
             fs.AddDir("/t/b", 0500);
           },
       .run = [](Fs& fs) { return RemoveTree(fs, AbsPath::Literal("/t")); },
       .check = [](MemFs&,
                   const Error& error) { EXPECT_THAT(error.message(), HasSubstr("injected fault")); }});
  EXPECT_GT(faults, 10);
}

TEST(WriteFile, EveryFaultLeavesTheOldContentOrTheNew) {
  const auto at = AbsPath::Literal("/d/f");
  const int faults = RunFaultLoop({.setup = [](MemFs& fs) { fs.AddFile("/d/f", "old"); },
                                   .run = [&](Fs& fs) { return WriteFile(fs, at, "new text"); },
                                   .check =
                                       [](MemFs& fs, const Error&) {
                                         EXPECT_THAT(fs.Content("/d/f"), ::testing::AnyOf("old", "new text"));
                                         EXPECT_THAT(fs.List("/d"), ElementsAre("f"));
                                       }});
  EXPECT_GE(faults, 6);  // create, write, mode, sync, close, rename, sync of the directory
}

TYPED_TEST(FsContract, RealPathFollowsLinks) {
  this->Write("file", "x");
  ASSERT_OK(this->fs().CreateSymlink("file", this->At("near")));
  ASSERT_OK(this->fs().CreateSymlink("near", this->At("far")));
  EXPECT_THAT(this->fs().RealPath(this->At("far").str()), IsOkAndHolds(this->At("file")));
  EXPECT_THAT(this->fs().RealPath(this->At("none").str()),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  ASSERT_OK(this->fs().CreateSymlink("loop", this->At("loop")));
  EXPECT_THAT(this->fs().RealPath(this->At("loop").str()), FailsWith(ErrorCode::kIo, HasSubstr("loop")));
}

TEST(ReadFile, EveryFaultIsReported) {
  const int faults = RunFaultLoop({.setup = [](MemFs& fs) { fs.AddFile("/f", "text"); },
                                   .run = [](Fs& fs) -> Result<void> {
                                     PTPKG_TRY(const std::string text, ReadFile(fs, AbsPath::Literal("/f")));
                                     EXPECT_EQ(text, "text");
                                     return Ok();
                                   },
                                   .check = {}});
  EXPECT_EQ(faults, 3);  // open, examine, read
}

TEST(OsFile, SaysWhereTheDataBehindAHoleIs) {
  const TempDir dir;
  const auto fs = MakeOsFs();
  ASSERT_OK_AND_ASSIGN(const auto file, fs->Open(dir / "sparse", OpenMode::kCreateNew));
  constexpr std::uint64_t kData = 1U << 20U;
  ASSERT_OK(file->Truncate(3 * kData));
  ASSERT_OK(file->WriteAt(kData, AsBytes("text")));
  ASSERT_OK_AND_ASSIGN(const std::uint64_t at, file->NextData(0));
  if (at == 0) GTEST_SKIP() << "the file system of the tests has no holes";
  EXPECT_GT(at, 0U);
  EXPECT_LE(at, kData);
  EXPECT_THAT(file->NextData(kData + 2), IsOkAndHolds(kData + 2));
  EXPECT_THAT(file->NextData(2 * kData), IsOkAndHolds(3 * kData)) << "nothing but a hole follows";
  EXPECT_THAT(file->NextData(9 * kData), IsOkAndHolds(9 * kData)) << "behind the end";
  RangeFile range(*file, FileStat{.size_bytes = 2 * kData}, 100);
  EXPECT_THAT(range.NextData(0), IsOkAndHolds(at - 100));
  EXPECT_THAT(range.NextData(kData + (1U << 17U)), IsOkAndHolds(2 * kData)) << "no further than the range";
  EXPECT_THAT(range.NextData(4 * kData), IsOkAndHolds(4 * kData));
}

}  // namespace
}  // namespace ptpkg::test
