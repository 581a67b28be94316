// Slices on a file system that breaks at one operation after the other, as an error from which it recovers
// and as the death of the process. The files lie in memory.
//
// A run has hundreds of operations. Here every n-th one is broken; test_pipeline_faults_slow breaks all of
// them.

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "conda/package.h"
#include "pipeline/slice/slice.h"
#include "support/fault_fs.h"
#include "support/files/scratch.h"
#include "support/matchers.h"
#include "support/must.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/wheel/wheel_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FaultAfter;
using test::IsOk;
using test::MemFs;
using test::Must;
using testing::IsEmpty;

#ifdef PTPKG_EVERY_FAULT
constexpr std::uint64_t kStep = 1;
#else
constexpr std::uint64_t kStep = 23;
#endif

/// Two containers with code for three GPUs; a slice for one is two pages smaller.
std::string FatLibrary() {
  using elf::test::Container;
  const auto sass = [](std::uint32_t number, std::size_t size) {
    return elf::test::Element{.number = number, .payload = std::string(size, static_cast<char>(number))};
  };
  return elf::test::WrappedLibrary{.containers = {Container({sass(80, 5000), sass(86, 5000), sass(90, 5000)}),
                                                  Container({sass(80, 300), sass(90, 200)})}}
      .Build();
}

constexpr const char* kLibraryPath = "/in/libtoy.so";
constexpr const char* kWheelPath = "/in/toy-1.0-py3-none-any.whl";
constexpr const char* kCondaPath = "/in/toy-1.0-h1_0.conda";

void PutLibrary(Env& env) { Must(WriteFile(env.fs, AbsPath::Literal(kLibraryPath), FatLibrary())); }

void PutWheel(Env& env) {
  std::vector<std::pair<std::string, std::string>> members = wheel::MinimalMembers();
  members.back() = {"toy/libtoy.so", FatLibrary()};
  const std::string record = "toy-1.0.dist-info/RECORD";
  members.emplace_back(record, wheel::RecordOf(members, record));
  wheel::WriteRawZip(env, AbsPath::Literal(kWheelPath), members);
}

void PutConda(Env& env) {
  const AbsPath root = AbsPath::Literal("/tree");
  Must(env.fs.MakeDirs(root / "lib"));
  Must(WriteFile(env.fs, root / "lib/libtoy.so", FatLibrary()));
  Must(env.fs.CreateSymlink("libtoy.so", root / "lib/libtoy.so.1"));
  const StagedTree tree = Must(ScanTree(env, root, {}));
  conda::PackageMetadata metadata;
  metadata.name = "toy";
  metadata.version = "1.0";
  metadata.build_string = "h1_0";
  metadata.subdir = "linux-64";
  Must(conda::WritePackages(env, {.metadata = metadata, .tree = tree, .prefix_placeholder = ""},
                            AbsPath::Literal("/in"), {.conda = true, .tar_bz2 = false}));
}

struct BrokenSlicing {
  const char* name;
  const char* artifact;
  void (*put)(Env& env);
  FaultAfter after = FaultAfter::kRecover;
  bool variant = false;

  friend std::ostream& operator<<(std::ostream& out, const BrokenSlicing& one) { return out << one.name; }
};

/// Two slices of an artifact in memory, on a disk that breaks at one operation after the other.
class SliceFaults : public testing::TestWithParam<BrokenSlicing> {
 protected:
  SliceFaults() {
    Must(start_.MakeDirs(AbsPath::Literal("/in")));
    test::TestEnv env({.fs = &start_, .jobs = 1});
    GetParam().put(env);
    artifact_ = start_.Content(GetParam().artifact);
    MemFs mem;
    mem.CopyFrom(start_);
    Must(Run(mem));
    whole_ = Slices(mem);
    EXPECT_EQ(whole_.size(), GetParam().variant ? 3U : 2U);
  }

  static Result<SliceOutcome> Run(Fs& fs, bool force = false) {
    test::TestEnv env({.fs = &fs, .jobs = 1});
    env->cache_dir = AbsPath::Literal("/cache");
    return Slice(env, {.artifact = AbsPath::Literal(GetParam().artifact),
                       .gpus = {"9.0", "8.0+8.6"},
                       .output = AbsPath::Literal("/out"),
                       .variant = GetParam().variant,
                       .force = force});
  }

  static bool IsScratch(std::string_view path) {
    while (!path.empty()) {
      if (path.ends_with('/')) path.remove_suffix(1);
      const std::string_view name = path.substr(path.rfind('/') + 1);
      if (IsScratchFolderName(name) || IsScratchFileName(name)) return true;
      path.remove_suffix(name.size());
    }
    return false;
  }

  static std::vector<std::string> Scratch(MemFs& fs) {
    std::vector<std::string> found;
    for (const std::string& path : fs.List()) {
      if (IsScratch(path)) found.push_back(path);
    }
    return found;
  }

  /// The files in the output directory that are no scratch, by path.
  static std::map<std::string, std::string> Slices(MemFs& fs) {
    std::map<std::string, std::string> files;
    for (const std::string& path : fs.List()) {
      const bool is_output = path.starts_with("out/") || path.starts_with("/out/");
      if (is_output && !path.ends_with('/') && !IsScratch(path))
        files.emplace(path, fs.Content(path.starts_with('/') ? path : "/" + path));
    }
    return files;
  }

  void ExpectWholeOrNone(MemFs& fs) const {
    for (const auto& [path, content] : Slices(fs)) {
      const auto found = whole_.find(path);
      ASSERT_NE(found, whole_.end()) << path;
      EXPECT_TRUE(found->second == content) << path << " is not whole";
    }
    EXPECT_TRUE(fs.Content(GetParam().artifact) == artifact_) << "the artifact changed";
  }

  /// False if a run has fewer operations.
  bool BreakAt(std::uint64_t number) {
    MemFs mem;
    mem.CopyFrom(start_);
    test::FaultFs broken(mem, {.number = number, .after = GetParam().after});
    const Result<SliceOutcome> result = Run(broken);
    SCOPED_TRACE(fmt::format("fault at operation {}: {}", number,
                             result ? "the run succeeded" : FormatError(result.error())));
    EXPECT_EQ(mem.open_files(), 0);
    ExpectWholeOrNone(mem);
    if (result) {
      EXPECT_EQ(Slices(mem).size(), whole_.size()) << "success was claimed";
    } else {
      EXPECT_EQ(result.error().code(), ErrorCode::kIo);
      // A process that died leaves its scratch to the next one, and may leave a part of the set.
      if (GetParam().after == FaultAfter::kRecover) {
        EXPECT_THAT(Scratch(mem), IsEmpty());
        EXPECT_THAT(Slices(mem), IsEmpty()) << "a part of a set";
        EXPECT_FALSE(Must(Exists(mem, AbsPath::Literal("/out")))) << "an empty folder";
      }
    }
    if (!broken.fired()) {
      EXPECT_THAT(result, IsOk());
      return false;
    }
    EXPECT_THAT(Run(mem, true), IsOk());
    ExpectWholeOrNone(mem);
    EXPECT_EQ(Slices(mem).size(), whole_.size());
    EXPECT_THAT(Scratch(mem), IsEmpty());
    return true;
  }

  MemFs start_;
  std::string artifact_;                      ///< Its bytes.
  std::map<std::string, std::string> whole_;  ///< Slices of a run that nothing disturbs.
};

TEST_P(SliceFaults, LeaveWholeSlicesOrNone) {
  // Other ones in each way.
  std::uint64_t number = 1 + std::string_view(GetParam().name).size() % kStep;
  std::uint64_t tried = 0;
  for (; BreakAt(number) && !HasFailure(); number += kStep) ++tried;
  EXPECT_GT(tried, 100 / kStep);
}

/// Of a run that replaces an older set: all of that is there after an error, or all of the new one.
class ReplacedSlices : public SliceFaults {};
TEST_P(ReplacedSlices, AreAllOfThemOrNone) {
  MemFs older;
  older.CopyFrom(start_);
  std::map<std::string, std::string> old;
  for (const auto& [path, content] : whole_) {
    const std::string absolute = path.starts_with('/') ? path : "/" + path;
    Must(older.MakeDirs(AbsPath::Literal(absolute.substr(0, absolute.rfind('/')))));
    old[path] = "old";
    older.AddFile(absolute, "old");
    if (!absolute.ends_with(".so")) {
      old[path + ".sig"] = "signature";
      older.AddFile(absolute + ".sig", "signature");
    }
  }
  ASSERT_EQ(Slices(older), old);
  std::uint64_t failed = 0;
  bool goes_on = true;
  for (std::uint64_t number = 1; goes_on && !HasFailure(); number += kStep) {
    MemFs mem;
    mem.CopyFrom(older);
    test::FaultFs broken(mem, {.number = number, .after = FaultAfter::kRecover});
    const Result<SliceOutcome> result = Run(broken, true);
    goes_on = broken.fired();
    EXPECT_EQ(Slices(mem), result ? whole_ : old) << "fault at operation " << number;
    if (result) continue;  // its scratch may be what could not be removed: the next run does it
    ++failed;
    EXPECT_THAT(Scratch(mem), IsEmpty());
  }
  EXPECT_GT(failed, 50 / kStep);
}

/// Changes one byte in the midst of a file in the output directory, by the end of its name; false when there
/// is none.
bool Spoil(MemFs& fs, std::string_view ending) {
  for (const std::string& listed : fs.List()) {
    const std::string path = listed.starts_with('/') ? listed : "/" + listed;
    if (!path.starts_with("/out/") || !path.ends_with(ending)) continue;
    std::string content = fs.Content(path);
    if (content.empty()) continue;
    content[content.size() / 3] = static_cast<char>(content[content.size() / 3] ^ 0x20);
    fs.AddFile(path, content);
    return true;
  }
  return false;
}

class SpoiledSlices : public SliceFaults {};
INSTANTIATE_TEST_SUITE_P(Artifacts, SpoiledSlices,
                         testing::Values(BrokenSlicing{"Wheel", kWheelPath, PutWheel},
                                         BrokenSlicing{"CondaPackage", kCondaPath, PutConda}),
                         [](const testing::TestParamInfo<BrokenSlicing>& tested) {
                           return std::string(tested.param.name);
                         });

/// What the disk made of a slice is found by reading it again.
TEST_P(SpoiledSlices, GetNoName) {
  const std::string_view ending =
      std::string_view(GetParam().artifact).substr(std::string_view(GetParam().artifact).rfind('.'));
  std::size_t found = 0;
  std::size_t spoiled = 0;
  for (std::uint64_t number = 1; found < 3; number += 5) {
    MemFs mem;
    mem.CopyFrom(start_);
    bool is_spoiled = false;
    test::FaultFs disk(mem, {});
    disk.Before(number, [&] { is_spoiled = Spoil(mem, ending); });
    const Result<SliceOutcome> result = Run(disk);
    ASSERT_LT(number, disk.count() + 10) << "found " << found << " of " << spoiled;
    if (is_spoiled) ++spoiled;
    // One that was spoiled behind its check is nobody's to find.
    if (result) continue;
    ++found;
    EXPECT_TRUE(is_spoiled);
    EXPECT_EQ(result.error().code(), ErrorCode::kCheckFailed) << FormatError(result.error());
    ExpectWholeOrNone(mem);
    EXPECT_THAT(Scratch(mem), IsEmpty());
  }
}

/// So is what it made of the library that slices are made of, whenever it did so.
TEST_P(SpoiledSlices, OfASpoiledOriginalGetNoName) {
  std::size_t spoiled = 0;
  for (std::uint64_t number = 1;; number += 5) {
    MemFs mem;
    mem.CopyFrom(start_);
    bool is_spoiled = false;
    test::FaultFs disk(mem, {});
    disk.Before(number, [&] {
      is_spoiled = Spoil(mem, "/unpacked/lib/libtoy.so") || Spoil(mem, "/unpacked/toy/libtoy.so");
    });
    const Result<SliceOutcome> result = Run(disk);
    if (disk.count() < number) break;
    ExpectWholeOrNone(mem);
    if (!is_spoiled) continue;
    ++spoiled;
    if (!result) {
      EXPECT_THAT(Slices(mem), IsEmpty());
    }
  }
  EXPECT_GT(spoiled, 5U);
}

TEST_P(SpoiledSlices, OfAnArtifactThatChangesGetNoName) {
  MemFs mem;
  mem.CopyFrom(start_);
  test::FaultFs disk(mem, {});
  ASSERT_THAT(Run(disk), IsOk());
  const std::uint64_t operations = disk.count();
  std::size_t refused = 0;
  for (std::uint64_t number = 2; number < operations; number += 7) {
    MemFs changing;
    changing.CopyFrom(start_);
    test::FaultFs watched(changing, {});
    // The same bytes again, as another file: nobody can tell what was read of which.
    watched.Before(number, [&] { changing.AddFile(GetParam().artifact, artifact_); });
    const Result<SliceOutcome> result = Run(watched);
    ExpectWholeOrNone(changing);
    if (result) continue;
    ++refused;
    EXPECT_EQ(result.error().code(), ErrorCode::kRefused) << FormatError(result.error());
    EXPECT_THAT(result.error().message(), testing::HasSubstr("changed while it was sliced"));
    EXPECT_THAT(Slices(changing), IsEmpty());
  }
  EXPECT_GT(refused, 5U);
}

INSTANTIATE_TEST_SUITE_P(
    Artifacts, ReplacedSlices,
    testing::Values(BrokenSlicing{"Library", kLibraryPath, PutLibrary},
                    BrokenSlicing{"Wheel", kWheelPath, PutWheel},
                    BrokenSlicing{
                        .name = "Variants", .artifact = kWheelPath, .put = PutWheel, .variant = true},
                    BrokenSlicing{"CondaPackage", kCondaPath, PutConda}),
    [](const testing::TestParamInfo<BrokenSlicing>& tested) { return std::string(tested.param.name); });

constexpr FaultAfter kGoesOn = FaultAfter::kRecover;
constexpr FaultAfter kDies = FaultAfter::kDead;
INSTANTIATE_TEST_SUITE_P(
    Artifacts, SliceFaults,
    testing::Values(BrokenSlicing{"Library", kLibraryPath, PutLibrary, kGoesOn},
                    BrokenSlicing{"KilledWithLibrary", kLibraryPath, PutLibrary, kDies},
                    BrokenSlicing{"Wheel", kWheelPath, PutWheel, kGoesOn},
                    BrokenSlicing{"KilledWithWheel", kWheelPath, PutWheel, kDies},
                    BrokenSlicing{"Variants", kWheelPath, PutWheel, kGoesOn, true},
                    BrokenSlicing{"CondaPackage", kCondaPath, PutConda, kGoesOn},
                    BrokenSlicing{"KilledWithCondaPackage", kCondaPath, PutConda, kDies}),
    [](const testing::TestParamInfo<BrokenSlicing>& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace ptpkg::pipeline
