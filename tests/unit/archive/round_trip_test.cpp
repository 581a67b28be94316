// read(write(x)) = x for random trees, through every format that is written here.

#include <gtest/gtest.h>
#include <map>
#include <random>

#include "archive/codec/codec.h"
#include "archive/extract.h"
#include "archive/tar/tar_writer.h"
#include "archive/zip/zip_writer.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/test_env.h"
#include "unit/archive/fixtures/builders.h"

namespace ptpkg::archive::test {
namespace {

using ::ptpkg::test::MemFs;
using ::ptpkg::test::TestEnv;

/// Names that a CSV, a shell or a tar header might trip over, without control characters.
std::string RandomName(std::mt19937_64& random) {
  static constexpr std::string_view kParts[] = {
      "a",           "B",       "x,y", "\"q\"",   "sp ace",           "gr\xc3\xbc\xc3\x9f",
      "-",           "#1",      "..x", ".hidden", "\xf0\x9f\x94\xa5", "%41",
      "back\\slash", "$ORIGIN", "'"};
  std::string name;
  const std::size_t depth = 1 + random() % 4;
  for (std::size_t i = 0; i < depth; ++i) {
    if (i > 0) name += '/';
    const std::size_t pieces = 1 + random() % 3;
    for (std::size_t k = 0; k < pieces; ++k) name += kParts[random() % std::size(kParts)];
    if (random() % 10 == 0) name += std::string(random() % 120, 'l');
  }
  return name;
}

struct Tree {
  EntrySet entries;
  std::map<std::string, std::pair<std::string, std::uint32_t>> files;  // name to content and mode
  std::map<std::string, std::string> links;
};

Tree RandomTree(MemFs& fs, std::mt19937_64& random, bool with_links) {
  Tree tree;
  const std::size_t count = random() % 40;
  for (std::size_t i = 0; i < count; ++i) {
    const auto name = RelPath::Parse(RandomName(random));
    if (!name) continue;
    if (with_links && random() % 5 == 0) {
      const std::string target = "t" + std::to_string(i) + std::string(random() % 150, 'x');
      if (!tree.entries.Add(
              {.name = *name, .is_symlink = true, .link_target = target, .text = {}, .file = {}}))
        continue;
      tree.links[name->str()] = target;
      continue;
    }
    const std::size_t size = random() % 7 == 0 ? random() % 300'000 : random() % 2000;
    const std::string text = random() % 2 == 0 ? WordyText(size, random()) : RandomText(size, random());
    const std::uint32_t mode = random() % 3 == 0 ? 0755 : 0644;
    const std::string path = "/in/" + std::to_string(i);
    if (!tree.entries.Add({.name = *name,
                           .mode = mode,
                           .size_bytes = size,
                           .link_target = {},
                           .text = {},
                           .file = AbsPath::Literal(path)})) {
      continue;
    }
    fs.AddFile(path, text);
    tree.files[name->str()] = {text, mode};
  }
  return tree;
}

void ExpectSame(MemFs& fs, const Tree& tree) {
  std::size_t found = 0;
  for (const std::string& line : fs.List("/out")) {
    if (!line.ends_with('/')) ++found;
  }
  EXPECT_EQ(found, tree.files.size() + tree.links.size());
  for (const auto& [name, file] : tree.files) {
    EXPECT_TRUE(fs.Content("/out/" + name) == file.first) << name;
    EXPECT_EQ(fs.Lstat(AbsPath::Literal("/out") / RelPath::Literal(name))->mode, file.second) << name;
  }
  for (const auto& [name, target] : tree.links) {
    const auto link = fs.ReadLink(AbsPath::Literal("/out") / RelPath::Literal(name));
    ASSERT_OK(link);
    EXPECT_EQ(*link, target) << name;
  }
}

TEST(RoundTrip, TarThroughEachCodec) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemFs fs;
    fs.AddDir("/out");
    TestEnv env({.fs = &fs});
    const Tree tree = RandomTree(fs, random, true);
    ASSERT_OK_AND_ASSIGN(const std::uint64_t size_bytes, TarSize(tree.entries));
    StringSink packed;
    std::unique_ptr<CodecSink> codec;
    if (seed % 3 == 0) codec = MakeBzip2Sink(packed, {.level = 9, .jobs = 2});
    if (seed % 3 == 1) {
      ASSERT_OK_AND_ASSIGN(codec, MakeZstdSink(packed, {.level = 5, .jobs = 2, .content_size = size_bytes}));
    }
    ByteSink& out = codec ? static_cast<ByteSink&>(*codec) : packed;
    ASSERT_OK_AND_ASSIGN(TarWriter writer, TarWriter::Create(env, out, 1'700'000'000));
    for (const Entry* entry : tree.entries.Sorted()) ASSERT_OK(writer.Append(*entry));
    ASSERT_OK(writer.Finish());
    if (codec) {
      ASSERT_OK(codec->Finish());
    }
    if (!codec) {
      EXPECT_EQ(packed.str().size(), size_bytes);
    }
    StringSource source(packed.str());
    ASSERT_OK(ExtractTar(env, source, "t", AbsPath::Literal("/out"), {}, 0));
    ExpectSame(fs, tree);
  }
}

TEST(RoundTrip, Zip) {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    MemFs fs;
    fs.AddDir("/out");
    TestEnv env({.fs = &fs, .jobs = 3});
    const Tree tree = RandomTree(fs, random, false);
    {
      ASSERT_OK_AND_ASSIGN(const std::unique_ptr<File> file,
                           fs.Open(AbsPath::Literal("/z.zip"), OpenMode::kCreateNew));
      ZipWriter writer(*file, 1'700'000'000);
      Task task(env.reporter, {.stage = "zip", .subject = "z", .total_bytes = 0});
      ASSERT_OK(
          WriteZipMembers(env, writer, tree.entries.Sorted(), {.level = 4, .chunk_bytes = 65536}, task));
      ASSERT_OK(writer.Finish());
    }
    ASSERT_OK(ExtractZip(env, AbsPath::Literal("/z.zip"), AbsPath::Literal("/out"), {}));
    ExpectSame(fs, tree);
  }
}

}  // namespace
}  // namespace ptpkg::archive::test
