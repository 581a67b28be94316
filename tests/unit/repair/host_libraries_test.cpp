#include "repair/host_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/must.h"
#include "support/test_env.h"
#include "unit/elf/fixtures/synthetic_elf.h"
#include "unit/repair/cache_image.h"

namespace ptpkg::repair {
namespace {

using elf::test::SyntheticElf;
using ptpkg::test::FailsWith;
using ptpkg::test::Must;
using testing::HasSubstr;

class HostLibrariesTest : public testing::Test {
 protected:
  void Add(const std::string& path, std::uint16_t machine = 62) {
    SyntheticElf elf;
    elf.machine = machine;
    fs_.AddFile(path, elf.Build());
  }
  /// Where x.so is found; "" for nowhere.
  std::string Find(HostSearch search = {}, std::vector<AbsPath> first = {}, bool own_only = false) {
    search.name = search.name.empty() ? "x.so" : search.name;
    search.host.machine = 62;
    const HostLibraries libraries = Must(HostLibraries::Read(env_, std::move(first), own_only));
    const auto found = Must(libraries.Find(env_, search));
    return found ? found->str() : "";
  }

  ptpkg::test::MemFs fs_;
  ptpkg::test::TestEnv env_{{.fs = &fs_}};
};

TEST_F(HostLibrariesTest, OrderIsThatOfTheLoader) {
  test::CacheImage cache;
  cache.Add("x.so", "/cached/x.so");
  fs_.AddFile("/etc/ld.so.cache", cache.Build());
  const HostSearch by_rpath{.name = {}, .host = {}, .rpath = {"/rpath"}, .runpath = {}};
  const HostSearch by_runpath{.name = {}, .host = {}, .rpath = {}, .runpath = {"/runpath"}};
  EXPECT_EQ(Find(), "");
  Add("/usr/lib/x.so");
  EXPECT_EQ(Find(), "/usr/lib/x.so");
  Add("/cached/x.so");
  EXPECT_EQ(Find(), "/cached/x.so");
  Add("/runpath/x.so");
  EXPECT_EQ(Find(by_runpath), "/runpath/x.so");
  env_->variables["LD_LIBRARY_PATH"] = "relative:/environment";
  Add("/environment/x.so");
  EXPECT_EQ(Find(by_runpath), "/environment/x.so");
  Add("/rpath/x.so");
  EXPECT_EQ(Find(by_rpath), "/rpath/x.so");
  Add("/first/x.so");
  EXPECT_EQ(Find(by_rpath, {AbsPath::Literal("/first")}), "/first/x.so");
}

TEST_F(HostLibrariesTest, WhatDoesNotFitIsPassedOver) {
  Add("/a/x.so", /*machine=*/183);
  fs_.AddFile("/b/x.so", "INPUT(libx.a)");
  fs_.AddDir("/c/x.so");
  Add("/d/x.so");
  EXPECT_EQ(Find({.name = {}, .host = {}, .rpath = {"/a", "/b", "/c", "/none", "/d"}, .runpath = {}}),
            "/d/x.so");
}

TEST_F(HostLibrariesTest, OwnFoldersOnly) {
  Add("/usr/lib/x.so");
  fs_.AddDir("/own");
  EXPECT_EQ(Find({}, {AbsPath::Literal("/own")}, true), "");
  Add("/own/x.so");
  EXPECT_EQ(Find({}, {AbsPath::Literal("/own")}, true), "/own/x.so");
}

TEST_F(HostLibrariesTest, NamesWithASlashAreOpenedAsTheyStand) {
  Add("/opt/x.so");
  EXPECT_EQ(Find({.name = "/opt/x.so", .host = {}, .rpath = {}, .runpath = {}}), "/opt/x.so");
  EXPECT_EQ(Find({.name = "opt/x.so", .host = {}, .rpath = {"/"}, .runpath = {}}), "");
}

TEST_F(HostLibrariesTest, ADamagedCacheIsToldAndLeftOut) {
  fs_.AddFile("/etc/ld.so.cache", "junk");
  Add("/usr/lib/x.so");
  EXPECT_EQ(Find(), "/usr/lib/x.so");
  EXPECT_THAT(env_.reporter.warnings(), testing::ElementsAre(HasSubstr("'/etc/ld.so.cache' is not used")));
}

TEST_F(HostLibrariesTest, AFolderThatIsNoneIsRefused) {
  Add("/file.so");
  EXPECT_THAT(HostLibraries::Read(env_, {AbsPath::Literal("/none")}, false),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(HostLibraries::Read(env_, {AbsPath::Literal("/file.so")}, false),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a directory")));
}

}  // namespace
}  // namespace ptpkg::repair
