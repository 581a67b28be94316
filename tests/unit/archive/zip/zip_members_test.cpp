#include <algorithm>
#include <atomic>
#include <gtest/gtest.h>
#include <random>
#include <thread>

#include "archive/deflate/deflate_cache.h"
#include "archive/deflate/deflate_chunk.h"
#include "archive/extract.h"
#include "archive/zip/zip_format.h"
#include "archive/zip/zip_strict.h"
#include "archive/zip/zip_writer.h"
#include "support/fault_fs.h"
#include "support/files/atomic_file.h"
#include "support/matchers.h"
#include "support/process/parallel.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::FailsWith;
using ::ptpkg::test::FaultFs;
using ::ptpkg::test::MemFs;
using ::ptpkg::test::TempDir;
using ::ptpkg::test::TestEnv;
using ::testing::HasSubstr;

constexpr std::int64_t kMemberTime = 1'700'000'000;

/// A member from disk.
Entry FileEntry(std::string_view name, const AbsPath& file, std::uint64_t size_bytes,
                std::uint32_t mode = 0644) {
  return {.name = RelPath::Literal(name),
          .mode = mode,
          .size_bytes = size_bytes,
          .link_target = {},
          .text = {},
          .file = file};
}

Result<std::vector<PackedMember>> WriteZip(Env& env, const AbsPath& target, const EntrySet& entries,
                                           const DeflateOptions& options = {}) {
  PTPKG_TRY(AtomicFile file, AtomicFile::Create(env.fs, target));
  ZipWriter writer(file.file(), kMemberTime);
  Task task(env.reporter, {.stage = "zip", .subject = "test", .total_bytes = entries.TotalBytes()});
  PTPKG_TRY(auto members, WriteZipMembers(env, writer, entries.Sorted(), options, task));
  PTPKG_TRY([[maybe_unused]] const std::uint64_t size_bytes, writer.Finish());
  PTPKG_CHECK(std::move(file).Commit(ExistingFilePolicy::kReplace));
  task.Done();
  return members;
}

struct Sample {
  std::string name;
  std::string text;
  std::uint32_t mode = 0644;
};

std::vector<Sample> Samples() {
  return {{"pkg/__init__.py", "import os\n"},
          {"pkg/empty", ""},
          {"pkg/large_text", WordyText(700'000)},
          {"pkg/large_noise", RandomText(500'000)},
          {"pkg/exactly_two_chunks", WordyText(2 * 65536, 9)},
          {"pkg/exactly_one_chunk", WordyText(65536, 10)},
          {"pkg/noise_then_text", RandomText(200'000) + WordyText(600'000)},
          {"pkg/tool", WordyText(3000), 0755}};
}

EntrySet AddFiles(MemFs& fs, const std::vector<Sample>& samples) {
  EntrySet entries;
  for (const Sample& sample : samples) {
    const std::string path = "/in/" + sample.name;
    fs.AddFile(path, sample.text, sample.mode);
    EXPECT_OK(entries.Add(FileEntry(sample.name, AbsPath::Literal(path), sample.text.size(), sample.mode)));
  }
  return entries;
}

constexpr DeflateOptions kSmallChunks{.level = 6, .chunk_bytes = 64U << 10U};

TEST(WriteZipMembers, BytesDoNotDependOnJobs) {
  std::string first;
  for (const int jobs : {1, 2, 7}) {
    MemFs fs;
    TestEnv env({.fs = &fs, .jobs = jobs});
    const EntrySet entries = AddFiles(fs, Samples());
    fs.AddDir("/out");
    ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/z.zip"), entries, kSmallChunks));
    if (jobs == 1) {
      first = fs.Content("/out/z.zip");
    } else {
      EXPECT_TRUE(fs.Content("/out/z.zip") == first) << jobs;
    }
  }
}

TEST(WriteZipMembers, GivesWhatRecordNeeds) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  const std::vector<Sample> samples = Samples();
  const EntrySet entries = AddFiles(fs, samples);
  fs.AddDir("/out");
  ASSERT_OK_AND_ASSIGN(const std::vector<PackedMember> members,
                       WriteZip(env, AbsPath::Literal("/out/z.zip"), entries, kSmallChunks));
  ASSERT_EQ(members.size(), samples.size());
  for (const Sample& sample : samples) {
    const auto found = std::find_if(members.begin(), members.end(),
                                    [&](const PackedMember& member) { return member.name == sample.name; });
    ASSERT_NE(found, members.end()) << sample.name;
    EXPECT_EQ(found->sha256.Hex(), HashText(sample.text).Hex()) << sample.name;
    EXPECT_EQ(found->size_bytes, sample.text.size());
  }
  EXPECT_EQ(env.reporter.tasks().at(0).done_bytes, entries.TotalBytes());
}

TEST(WriteZipMembers, IsReadByPythonAndUnzip) {
  TestEnv env;
  const TempDir dir;
  EntrySet entries;
  for (const Sample& sample : Samples()) {
    const AbsPath file = dir.WriteFile("in/" + sample.name, sample.text, sample.mode);
    ASSERT_OK(entries.Add(FileEntry(sample.name, file, sample.text.size(), sample.mode)));
  }
  ASSERT_OK(entries.AddText(RelPath::Literal("pkg/gr\xc3\xbc\xc3\x9f.txt"), "text"));
  ASSERT_OK(WriteZip(env, dir / "z.zip", entries, kSmallChunks));

  constexpr const char* kScript = R"(
import os, zipfile
z = zipfile.ZipFile('z.zip')
assert z.testzip() is None
for info in z.infolist():
    path = os.path.join('in', info.filename)
    content = open(path, 'rb').read() if os.path.exists(path) else b'text'
    assert z.read(info) == content, info
    mode = 0o100755 if info.filename == 'pkg/tool' else 0o100644
    assert info.external_attr >> 16 == mode, oct(info.external_attr)
    assert info.date_time == (2023, 11, 14, 22, 13, 20), info.date_time
    assert info.flag_bits & 8 == 0 and info.extra == b'' and info.create_system == 3
names = z.namelist()
assert names == sorted(names, key=lambda n: n.encode())
print('ok', len(names))
)";
  const auto python = RunTool(env, {"python3", "-c", kScript}, dir.path());
  if (!python.has_value()) GTEST_SKIP() << "python3 is not installed";
  EXPECT_EQ(python->output, "ok 9\n");
  const auto unzip = RunTool(env, {"unzip", "-tqq", "z.zip"}, dir.path());
  if (unzip.has_value()) {
    EXPECT_TRUE(unzip->ok()) << unzip->output;
  }
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file, env->fs.Open(dir / "z.zip", OpenMode::kRead));
  EXPECT_THAT(StrictZipProblems(*file), ::ptpkg::test::IsOkAndHolds(::testing::IsEmpty()));
}

TEST(WriteZipMembers, StoresWhatDoesNotShrink) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  const EntrySet entries = AddFiles(fs, Samples());
  fs.AddDir("/out");
  ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/z.zip"), entries, kSmallChunks));
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const ZipReader reader,
                       ZipReader::Open(*MakeOsFs(), dir.WriteFile("z.zip", fs.Content("/out/z.zip"))));
  const auto is_stored = [&](std::string_view name) { return reader.Find(name)->stored; };
  EXPECT_TRUE(is_stored("pkg/empty"));
  EXPECT_TRUE(is_stored("pkg/large_noise"));
  EXPECT_FALSE(is_stored("pkg/large_text"));
  EXPECT_FALSE(is_stored("pkg/noise_then_text")) << "samples are taken all over the file";
  EXPECT_TRUE(is_stored("pkg/__init__.py")) << "ten bytes do not shrink";

  ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/stored.zip"), entries, {.level = 0}));
  ASSERT_OK_AND_ASSIGN(
      const ZipReader all_stored,
      ZipReader::Open(*MakeOsFs(), dir.WriteFile("stored.zip", fs.Content("/out/stored.zip"))));
  for (const ZipReader::Member& member : all_stored.members()) EXPECT_TRUE(member.stored) << member.name;
}

constexpr const char* kNotThere = "not there";

/// What the cache has; it is not asked to make it.
std::string Kept(DeflateCache& cache, const DeflateCache::Key& key) {
  const auto found =
      cache.FindOrMake(key, []() -> Result<std::string> { return Error(ErrorCode::kNotFound, kNotThere); });
  return found ? *found : found.error().message();
}

/// Of two chunks of 64 KiB that begin at byte 1000 of an original, the second one.
DeflateCache::Key LastChunk(const std::string& tail, bool ends_stream) {
  return {.name = "a", .from = 1000 + 65536, .size_bytes = tail.size() - 65536, .ends_stream = ends_stream};
}

TEST(WriteZipMembers, WhatFilesShareIsCutIntoEqualChunks) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddDir("/out");
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DeflateCache> cache, DeflateCache::Create(env, env->cache_dir));
  DeflateOptions options = kSmallChunks;
  options.cache = cache.get();
  const std::string tail = WordyText(100'000, 4);  // two chunks
  std::string before;
  for (const std::size_t head_bytes : {std::size_t{70'001}, std::size_t{150'003}}) {
    fs.AddFile("/in/a", WordyText(head_bytes, head_bytes) + tail);
    EntrySet entries;
    Entry entry = FileEntry("a", AbsPath::Literal("/in/a"), head_bytes + tail.size());
    entry.shared = {{.offset = head_bytes, .size_bytes = tail.size(), .from = 1000}};
    ASSERT_OK(entries.Add(entry));
    ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/cached.zip"), entries, options));
    ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/plain.zip"), entries, kSmallChunks));
    EXPECT_EQ(fs.Content("/out/cached.zip"), fs.Content("/out/plain.zip"));
    const std::string known = Kept(*cache, LastChunk(tail, true));
    ASSERT_NE(known, kNotThere);
    if (!before.empty()) {
      EXPECT_EQ(known, before) << "the second file is cut where the first one is";
    }
    before = known;
  }
  EXPECT_EQ(Kept(*cache, LastChunk(tail, false)), kNotThere) << "a chunk that ends no stream is another one";
}

/// What lies between shared ranges is no matter of the cache.
TEST(WriteZipMembers, TheCacheHasSharedRangesAlone) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddDir("/out");
  const std::string text = WordyText(300'000);
  fs.AddFile("/in/a", text);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DeflateCache> cache, DeflateCache::Create(env, env->cache_dir));
  DeflateOptions options = kSmallChunks;
  options.cache = cache.get();
  Entry entry = FileEntry("a", AbsPath::Literal("/in/a"), text.size());
  entry.shared = {{.offset = 10'000, .size_bytes = 70'000, .from = 500},
                  {.offset = 80'000, .size_bytes = 1000, .from = 90'000}};
  EntrySet entries;
  ASSERT_OK(entries.Add(entry));
  ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/a.zip"), entries, options));
  const std::vector<std::pair<std::uint64_t, std::uint64_t>> kept = {
      {500, 65536}, {500 + 65536, 70'000 - 65536}, {90'000, 1000}};
  for (const auto& [from, size] : kept)
    EXPECT_NE(Kept(*cache, {.name = "a", .from = from, .size_bytes = size}), kNotThere) << from;
  EXPECT_EQ(Kept(*cache, {.name = "a", .from = 0, .size_bytes = 10'000}), kNotThere);
  EXPECT_EQ(Kept(*cache, {.name = "b", .from = 500, .size_bytes = 65536}), kNotThere);
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const ZipReader reader,
                       ZipReader::Open(*MakeOsFs(), dir.WriteFile("a.zip", fs.Content("/out/a.zip"))));
  EXPECT_THAT(reader.ReadText("a"), ::ptpkg::test::IsOkAndHolds(text));
}

TEST(WriteZipMembers, TakesAChunkThatIsKnown) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddDir("/out");
  const std::string text = WordyText(65536 + 100);
  fs.AddFile("/in/a", text);
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DeflateCache> cache, DeflateCache::Create(env, env->cache_dir));
  DeflatePool hard(12);
  ASSERT_OK_AND_ASSIGN(const std::string harder,
                       hard.Deflate(AsBytes(text).first(65536), ChunkPlace::kBefore));
  const DeflateCache::Key first = {.name = "a", .from = 0, .size_bytes = 65536};
  ASSERT_OK(cache->FindOrMake(first, [&] { return Result<std::string>(harder); }));
  EntrySet entries;
  Entry entry = FileEntry("a", AbsPath::Literal("/in/a"), text.size());
  entry.shared = {{.offset = 0, .size_bytes = text.size(), .from = 0}};
  ASSERT_OK(entries.Add(entry));
  DeflateOptions options = kSmallChunks;
  options.cache = cache.get();
  ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/z.zip"), entries, options));
  EXPECT_THAT(fs.Content("/out/z.zip"), HasSubstr(harder));
  const TempDir dir;
  ASSERT_OK_AND_ASSIGN(const ZipReader reader,
                       ZipReader::Open(*MakeOsFs(), dir.WriteFile("z.zip", fs.Content("/out/z.zip"))));
  EXPECT_THAT(reader.ReadText("a"), ::ptpkg::test::IsOkAndHolds(text));
}

TEST(DeflateCache, NoFailureOfTheDiskGivesAnotherChunk) {
  ::ptpkg::test::RunFaultLoop(
      {.setup = {},
       .run = [&](Fs& fs) -> Result<void> {
         TestEnv env({.fs = &fs});
         PTPKG_TRY(const std::unique_ptr<DeflateCache> cache, DeflateCache::Create(env, env->cache_dir));
         for (int i = 0; i < 2; ++i) {
           PTPKG_TRY(const std::string found, cache->FindOrMake({.name = "a", .size_bytes = 1}, [] {
             return Result<std::string>("deflated");
           }));
           EXPECT_EQ(found, "deflated");
         }
         return Ok();
       },
       .check = {},
       .may_swallow = true});  // a scratch directory that cannot be removed is left to a later run
}

TEST(DeflateCache, WhoAsksForAChunkThatIsBeingMadeWaits) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<DeflateCache> cache, DeflateCache::Create(env, env->cache_dir));
  std::atomic<int> made = 0;
  const auto make = [&]() -> Result<std::string> {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    if (++made == 1) return Error(ErrorCode::kIo, "the first one fails");
    return std::string("deflated");
  };
  std::atomic<int> failed = 0;
  ASSERT_OK(ParallelFor(4, 40, [&](std::size_t /*i*/) -> Result<void> {
    const auto chunk = cache->FindOrMake({.name = "a", .size_bytes = 1}, make);
    if (!chunk) ++failed;
    EXPECT_TRUE(!chunk || *chunk == "deflated");
    return Ok();
  }));
  EXPECT_EQ(made, 2) << "and by another thread once more";
  EXPECT_EQ(failed, 1);
}

TEST(WriteZipMembers, WritesSymlinksAsCopies) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddFile("/in/lib.so.1", WordyText(9000), 0755);
  fs.AddSymlink("lib.so.1", "/in/lib.so");
  fs.AddDir("/in/folder");
  fs.AddSymlink("folder", "/in/to_folder");
  fs.AddSymlink("nowhere", "/in/dangling");
  fs.AddDir("/out");
  const auto link = [&](const std::string& name, const std::string& target) {
    EntrySet entries;
    EXPECT_OK(entries.Add({.name = RelPath::Literal(name),
                           .is_symlink = true,
                           .link_target = target,
                           .text = {},
                           .file = AbsPath::Literal("/in/" + name)}));
    return entries;
  };
  ASSERT_OK_AND_ASSIGN(const std::vector<PackedMember> members,
                       WriteZip(env, AbsPath::Literal("/out/z.zip"), link("lib.so", "lib.so.1")));
  EXPECT_EQ(members.at(0).sha256.Hex(), HashText(WordyText(9000)).Hex());
  const std::string z = fs.Content("/out/z.zip");
  const std::size_t central = zip::Get32(z, z.size() - 6);
  EXPECT_EQ(zip::Get32(z, central + 38) >> 16U, 0100755U) << "the mode of the target";
  EXPECT_THAT(WriteZip(env, AbsPath::Literal("/out/z.zip"), link("to_folder", "folder")),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("'to_folder' does not point to a regular file")));
  EXPECT_THAT(WriteZip(env, AbsPath::Literal("/out/z.zip"), link("dangling", "nowhere")),
              FailsWith(ErrorCode::kNotFound, HasSubstr("dangling")));
  EntrySet without_file;
  ASSERT_OK(without_file.Add({.name = RelPath::Literal("l"),
                              .is_symlink = true,
                              .link_target = "x",
                              .text = {},
                              .file = std::nullopt}));
  EXPECT_THAT(WriteZip(env, AbsPath::Literal("/out/z.zip"), without_file),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file to be copied from")));
}

TEST(WriteZipMembers, NoticesFilesThatChange) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddDir("/out");
  for (const std::size_t size : {std::size_t{100}, std::size_t{200'000}}) {
    fs.AddFile("/in/f", WordyText(size));
    for (const std::uint64_t declared : {size - 1, size + 1}) {
      EntrySet entries;
      ASSERT_OK(entries.Add(FileEntry("f", AbsPath::Literal("/in/f"), declared)));
      const auto result = WriteZip(env, AbsPath::Literal("/out/z.zip"), entries, kSmallChunks);
      EXPECT_THAT(result,
                  FailsWith(ErrorCode::kInvalidInput, HasSubstr("'/in/f' changed while being packed")));
      EXPECT_THAT(result, ::ptpkg::test::HasHint(HasSubstr("no other process")));
    }
  }
  EXPECT_EQ(fs.List("/out"), std::vector<std::string>{});
}

TEST(WriteZipMembers, RefusesOptionsOutOfRange) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  fs.AddDir("/out");
  const AbsPath out = AbsPath::Literal("/out/z.zip");
  EXPECT_THAT(WriteZip(env, out, {}, {.level = 13}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("level 13")));
  EXPECT_THAT(WriteZip(env, out, {}, {.level = -1}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("level -1")));
  EXPECT_THAT(WriteZip(env, out, {}, {.level = 6, .chunk_bytes = 65535}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("64 KiB")));
}

TEST(WriteZipMembers, StopsWhenCancelled) {
  MemFs fs;
  TestEnv env({.fs = &fs});
  const EntrySet entries = AddFiles(fs, Samples());
  fs.AddDir("/out");
  env.cancel.Cancel();
  EXPECT_THAT(WriteZip(env, AbsPath::Literal("/out/z.zip"), entries),
              FailsWith(ErrorCode::kCancelled, HasSubstr("")));
  EXPECT_EQ(fs.List("/out"), std::vector<std::string>{});
}

TEST(WriteZipMembers, ShuffledInputGivesTheSameBytes) {
  std::string first;
  std::mt19937_64 random(42);
  for (int round = 0; round < 5; ++round) {
    std::vector<Sample> samples = Samples();
    std::shuffle(samples.begin(), samples.end(), random);
    MemFs fs;
    TestEnv env({.fs = &fs});
    const EntrySet entries = AddFiles(fs, samples);
    fs.AddDir("/out");
    ASSERT_OK(WriteZip(env, AbsPath::Literal("/out/z.zip"), entries));
    if (round == 0) first = fs.Content("/out/z.zip");
    EXPECT_TRUE(fs.Content("/out/z.zip") == first) << "round " << round;
  }
}

TEST(WriteZipMembers, FailsCleanlyAtEveryOperation) {
  const std::vector<Sample> samples = {{"a", WordyText(150'000)}, {"b", "text"}};
  EntrySet entries;
  for (const Sample& sample : samples) {
    ASSERT_OK(entries.Add(
        FileEntry(sample.name, AbsPath::Literal("/in/" + sample.name), sample.text.size(), sample.mode)));
  }
  const int faults = ::ptpkg::test::RunFaultLoop(
      {.setup =
           [&](MemFs& fs) {
             for (const Sample& sample : samples) fs.AddFile("/in/" + sample.name, sample.text);
             fs.AddDir("/out");
           },
       .run = [&](Fs& fs) -> Result<void> {
         TestEnv env({.fs = &fs});
         PTPKG_TRY([[maybe_unused]] auto members,
                   WriteZip(env, AbsPath::Literal("/out/z.zip"), entries, kSmallChunks));
         return Ok();
       },
       .check =
           [](MemFs& fs, const Error& error) {
             EXPECT_EQ(error.code(), ErrorCode::kIo);
             const std::vector<std::string> left = fs.List("/out");
             // The last step is the sync of the directory, after the rename.
             EXPECT_TRUE(left.empty() || left == std::vector<std::string>{"z.zip"})
                 << ::testing::PrintToString(left);
           }});
  EXPECT_GT(faults, 10);
}

}  // namespace
}  // namespace ptpkg::archive::test
