#include "repair/repair_wheel.h"

#include "model/package_note.h"
#include "unit/repair/machine_fixture.h"
#include "wheel/sbom.h"

namespace ptpkg::repair {
namespace {

using ptpkg::test::FailsWith;
using ptpkg::test::HasHint;
using test::kInfo;
using test::Library;
using test::Members;
using test::Must;
using test::SyntheticElf;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;

constexpr const char* kBill = "toy-1.0.dist-info/sboms/ptpkg-repair.cdx.json";

using PlanRepairTest = test::MachineTest;

TEST_F(PlanRepairTest, TheLowestTagThatTheFilesDeserve) {
  const auto after = [&](const std::string& platform, SyntheticElf library) {
    const AbsPath wheel = Wheel({.members = {{"toy/a.so", library.Build()}}, .platform = platform});
    return Must(PlanRepair(env_, wheel, {})).name.tag.platform;
  };
  EXPECT_EQ(after("linux_x86_64", Glibc()), "manylinux_2_17_x86_64");
  EXPECT_EQ(after("manylinux_2_28_x86_64", Glibc()), "manylinux_2_17_x86_64");
  EXPECT_EQ(after("manylinux_2_5_x86_64", Glibc()), "manylinux_2_17_x86_64");
  EXPECT_EQ(after("any", Glibc()), "manylinux_2_17_x86_64");
  // It is for other systems too, of which nobody knows here.
  EXPECT_EQ(after("win_amd64", Glibc()), "win_amd64");
  EXPECT_EQ(after("linux_x86_64", Library({"libc.musl-x86_64.so.1"})), "musllinux_1_2_x86_64");
  EXPECT_EQ(after("musllinux_1_1_x86_64", Library({"libc.musl-x86_64.so.1"})), "musllinux_1_1_x86_64");
}

TEST_F(PlanRepairTest, AWheelThatIsAsItShouldBeIsNotTouched) {
  const std::string image = Glibc().Build();
  const AbsPath computed = Wheel({.members = {{"toy/a.so", image}}, .platform = "manylinux_2_17_x86_64"});
  const AbsPath pure = Wheel({.members = {{"toy.py", "x = 1\n"}}, .platform = "any", .pure = "true"});
  for (const AbsPath& wheel : {computed, pure}) {
    ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {}));
    EXPECT_FALSE(repair.ChangesAnything());
    EXPECT_EQ(repair.name.str(), wheel.Name());
    EXPECT_THAT(repair.files, IsEmpty());
  }
}

TEST_F(PlanRepairTest, OnlyTheCacheIsWritten) {
  AddHost("/usr/lib/libx.so.1", Library({}));
  const AbsPath wheel = Module({"libx.so.1"});
  const std::string cache = env_->cache_dir.str();
  const std::string top = cache.substr(1, cache.find('/', 1));  // "tmp/", which is not there before
  const auto outside = [&] {
    std::vector<std::string> paths = fs_.List();
    std::erase_if(paths, [&](const std::string& path) { return path.starts_with(top); });
    return paths;
  };
  const std::vector<std::string> before = outside();
  const std::string bytes = fs_.Content(wheel.str());
  {
    ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {}));
    EXPECT_TRUE(repair.ChangesAnything());
    EXPECT_EQ(outside(), before);
  }
  EXPECT_EQ(fs_.Content(wheel.str()), bytes);
  EXPECT_THAT(fs_.List(cache), Not(Contains(HasSubstr("libx"))));  // gone with the plan
}

TEST_F(PlanRepairTest, ACopyIsNamedReachedAndListed) {
  SyntheticElf host = Glibc();
  host.soname = "libx.so.1";
  host.rpath = "/opt/of/the/builder";
  AddHost("/usr/lib/libx.so.1", host);
  fs_.AddFile("/etc/os-release", "ID=debian\n");
  fs_.AddFile("/var/lib/dpkg/info/libx1:amd64.list", "/.\n/usr/lib/libx.so.1\n");
  fs_.AddFile("/var/lib/dpkg/status", "Package: libx1\nArchitecture: amd64\nVersion: 3-1\n");
  const AbsPath wheel = Module({"libx.so.1"}, "toy/sub/a.so");
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {}));
  ASSERT_EQ(repair.grafts.size(), 1U);
  const std::string path = repair.grafts[0].path;
  EXPECT_THAT(path, testing::StartsWith("toy.libs/libx-"));
  EXPECT_THAT(FactsOf(repair, "toy/sub/a.so").needed, ElementsAre("libc.so.6", repair.grafts[0].name));
  EXPECT_EQ(PathOf(FactsOf(repair, "toy/sub/a.so")), "$ORIGIN/../../toy.libs");
  EXPECT_EQ(FactsOf(repair, path).soname, repair.grafts[0].name);
  EXPECT_EQ(PathOf(FactsOf(repair, path)), "none");
  EXPECT_EQ(repair.owners.at(repair.grafts[0].source).version, "3-1");
  const auto content = Written(wheel, repair.edits);
  EXPECT_THAT(content.at(kBill), AllOf(HasSubstr("pkg:deb/debian/libx1@3-1?arch=amd64"), HasSubstr(path),
                                       HasSubstr(repair.grafts[0].sha256.Hex())));
  EXPECT_THAT(content.at(std::string(kInfo) + "WHEEL"), HasSubstr("Tag: py3-none-manylinux_2_17_x86_64\n"));
}

TEST_F(PlanRepairTest, AWheelForMuslTakesLibrariesOfAnUnpackedAlpine) {
  SyntheticElf glibc = Glibc();
  glibc.symbols = {"of_this_machine"};
  AddHost("/usr/lib/libexpat.so.1", glibc);
  AddHost("/alpine/usr/lib/libexpat.so.1", Library({"libc.musl-x86_64.so.1"}));
  fs_.AddFile("/alpine/etc/os-release", "ID=alpine\n");
  fs_.AddFile("/alpine/lib/apk/db/installed",
              "P:libexpat\nV:2.6.2-r0\nA:x86_64\nF:usr/lib\nR:libexpat.so.1\n\n");
  const AbsPath wheel = Wheel(
      {.members = {{"toy/a.so", Library({"libc.musl-x86_64.so.1", "libexpat.so.1", "libz.so.1"}).Build()}}});
  EXPECT_THAT(PlanRepair(env_, wheel, {}), FailsWith(ErrorCode::kNotFound, HasSubstr("'libexpat.so.1'")));
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair,
                       PlanRepair(env_, wheel, {.search = {AbsPath::Literal("/alpine/usr/lib")}}));
  EXPECT_EQ(repair.name.tag.platform, "musllinux_1_2_x86_64");
  EXPECT_EQ(repair.grafts.at(0).source.str(), "/alpine/usr/lib/libexpat.so.1");
  EXPECT_THAT(Written(wheel, repair.edits).at(kBill),
              HasSubstr("pkg:apk/alpine/libexpat@2.6.2-r0?arch=x86_64"));
  const auto refused = PlanRepair(env_, wheel, {.search = {AbsPath::Literal("/usr/lib")}});
  EXPECT_THAT(refused,
              FailsWith(ErrorCode::kInvalidInput,
                        HasSubstr("'/usr/lib/libexpat.so.1' is for glibc, but the wheel is for musl")));
  EXPECT_THAT(refused, HasHint(HasSubstr("--lib-dir")));
}

TEST_F(PlanRepairTest, EqualInputsGiveEqualEdits) {
  AddHost("/usr/lib/libx.so.1", Library({"liby.so.1"}));
  AddHost("/usr/lib/liby.so.1", Glibc());
  const AbsPath wheel = Module({"libx.so.1", "liby.so.1"});
  ASSERT_OK_AND_ASSIGN(const WheelRepair one, PlanRepair(env_, wheel, {}));
  env_->jobs = 1;
  ASSERT_OK_AND_ASSIGN(const WheelRepair two, PlanRepair(env_, wheel, {}));
  EXPECT_EQ(one.name, two.name);
  EXPECT_EQ(Written(wheel, one.edits), Written(wheel, two.edits));
}

TEST_F(PlanRepairTest, APureWheelWithBinariesIsPureNoMore) {
  const AbsPath wheel =
      Wheel({.members = {{"toy/a.so", Glibc().Build()}}, .platform = "any", .pure = "true"});
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {}));
  EXPECT_THAT(
      Written(wheel, repair.edits).at(std::string(kInfo) + "WHEEL"),
      AllOf(HasSubstr("Root-Is-Purelib: false\n"), HasSubstr("Tag: py3-none-manylinux_2_17_x86_64\n")));
}

TEST_F(PlanRepairTest, PlatformsThatAreAskedFor) {
  const AbsPath wheel = Module({});
  const auto after = [&](const std::string& platform) -> Result<std::string> {
    PTPKG_TRY(const WheelRepair repair, PlanRepair(env_, wheel, {.platform = platform}));
    return repair.name.tag.platform;
  };
  EXPECT_THAT(after("manylinux_2_28_x86_64"), ptpkg::test::IsOkAndHolds("manylinux_2_28_x86_64"));
  EXPECT_THAT(after("linux"), ptpkg::test::IsOkAndHolds("linux_x86_64"));
  for (const char* other :
       {"manylinux_2_28_aarch64", "win_amd64", "any", "manylinux_2_28_x86_64.win_amd64"}) {
    const auto refused = after(other);
    EXPECT_THAT(refused, FailsWith(ErrorCode::kInvalidInput, HasSubstr("are for Linux on x86_64"))) << other;
    EXPECT_THAT(refused, HasHint(HasSubstr("remove --platform"))) << other;
  }
  const AbsPath pure = Wheel({.members = {{"toy.py", ""}}, .platform = "any", .pure = "true"});
  EXPECT_THAT(PlanRepair(env_, pure, {.platform = "linux_x86_64"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no ELF files")));
  EXPECT_THAT(PlanRepair(env_, pure, {.platform = "linux"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("has no ELF files")));
  EXPECT_THAT(PlanRepair(env_, pure, {.platform = "any"}), ptpkg::test::IsOk());
}

TEST_F(PlanRepairTest, APlatformInTheNameIsHeldAgainstTheMachineToo) {
  const AbsPath wheel =
      Wheel({.members = {{"toy/a.so", Glibc().Build()}}, .platform = "manylinux_2_28_aarch64"});
  EXPECT_THAT(PlanRepair(env_, wheel, {.platform = "manylinux_2_28_aarch64"}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("are for Linux on x86_64")));
}

TEST_F(PlanRepairTest, WheelSaysWhatTheNameSays) {
  const Members members = {{"toy/a.so", Glibc().Build()}};
  const AbsPath other = Wheel({.members = members,
                               .platform = "manylinux_2_17_x86_64",
                               .tags = "Tag: py3-none-linux_x86_64\nTag: cp39-none-any\n"});
  ASSERT_OK_AND_ASSIGN(const WheelRepair tags, PlanRepair(env_, other, {}));
  EXPECT_EQ(tags.name.str(), other.Name());
  EXPECT_THAT(tags.wheel_file.changes,
              ElementsAre("tags of the file name, were 'py3-none-linux_x86_64', 'cp39-none-any'"));
  EXPECT_THAT(Written(other, tags.edits).at(std::string(kInfo) + "WHEEL"),
              AllOf(HasSubstr("Tag: py3-none-manylinux_2_17_x86_64\n"), Not(HasSubstr("-linux_x86_64")),
                    Not(HasSubstr("cp39"))));
  const AbsPath built = Wheel({.members = members}, "3-");
  ASSERT_OK_AND_ASSIGN(const WheelRepair build, PlanRepair(env_, built, {}));
  EXPECT_EQ(build.name.str(), "toy-1.0-3-py3-none-manylinux_2_17_x86_64.whl");
  EXPECT_THAT(build.wheel_file.changes, ElementsAre("build '3' of the file name, was ''"));
  EXPECT_THAT(Written(built, build.edits).at(std::string(kInfo) + "WHEEL"), HasSubstr("Build: 3\n"));
}

TEST_F(PlanRepairTest, ThePlatformDecidesWhatTheSystemHas) {
  AddHost("/usr/lib/libexpat.so.1", Library({}));
  const AbsPath wheel = Module({"libexpat.so.1"});
  ASSERT_OK_AND_ASSIGN(const WheelRepair newest, PlanRepair(env_, wheel, {}));
  EXPECT_THAT(newest.grafts, IsEmpty());
  // Of several tags the oldest counts: it is installed there too.
  ASSERT_OK_AND_ASSIGN(const WheelRepair oldest,
                       PlanRepair(env_, wheel, {.platform = "manylinux_2_5_x86_64.manylinux_2_28_x86_64"}));
  EXPECT_EQ(oldest.grafts.size(), 1U);
}

TEST_F(PlanRepairTest, ABackendSaysFolderNamesPathsAndTag) {
  const Backend backend{
      .name = "mine",
      .layout = {{.files = "toy/*.so", .search_path = {"$ORIGIN/lib"}, .tag = elf::PathTag::kRpath}},
      .folder = "toy/lib",
      .platform = "manylinux_2_28",
      .rename = Rename::kBare,
      .never_rename = {"libkept.*"},
      .never_graft = {"libbrought.*"}};
  AddHost("/usr/lib/libx.so.1", Library({}));
  AddHost("/usr/lib/libkept.so.2", Library({}));
  const AbsPath wheel = Module({"libx.so.1", "libkept.so.2", "libbrought.so.3"});
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {.backend = backend}));
  EXPECT_EQ(repair.name.tag.platform, "manylinux_2_28_x86_64");
  EXPECT_THAT(repair.left_out, ElementsAre(ExcludedLibrary{"libbrought.so.3", "never bundled"}));
  EXPECT_THAT(FactsOf(repair, "toy/a.so").needed,
              ElementsAre("libc.so.6", "libx.so", "libkept.so.2", "libbrought.so.3"));
  EXPECT_EQ(PathOf(FactsOf(repair, "toy/a.so")), "$ORIGIN/lib");
  EXPECT_EQ(repair.grafts.at(0).path, "toy/lib/libkept.so.2");
  EXPECT_EQ(repair.grafts.at(1).path, "toy/lib/libx.so");
  // What is asked for comes first.
  ASSERT_OK_AND_ASSIGN(
      const WheelRepair other,
      PlanRepair(env_, wheel, {.backend = backend, .folder = "toy.libs", .rename = Rename::kNone}));
  EXPECT_EQ(other.grafts.at(1).path, "toy.libs/libx.so.1");
  EXPECT_THAT(PlanRepair(env_, Module({}, "other/a.so"), {.backend = backend}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file of the backend 'mine'")));
}

TEST_F(PlanRepairTest, KernelsOfACopyHaveToBeThere) {
  const Backend backend{.name = "mine",
                        .folder = "toy/lib",
                        .platform = "manylinux_2_28",
                        .rename = Rename::kNone,
                        .data_folders = {{"libblas.so*", "toy/lib/blas/library"}}};
  AddHost("/usr/lib/libblas.so.5", Library({}));
  const std::string image = Glibc({"libblas.so.5"}).Build();
  const auto refused =
      PlanRepair(env_, Wheel({.members = {{"toy/a.so", image}, {"toy/lib/blas/library2/x.dat", "x"}}}),
                 {.backend = backend});
  EXPECT_THAT(refused, FailsWith(ErrorCode::kInvalidInput,
                                 HasSubstr("reads its kernels from 'toy/lib/blas/library', which")));
  EXPECT_THAT(refused, HasHint(HasSubstr("--exclude 'libblas.so*'")));
  EXPECT_THAT(PlanRepair(env_, Wheel({.members = {{"toy/a.so", image}, {"toy/lib/blas/library/x.dat", "x"}}}),
                         {.backend = backend}),
              ptpkg::test::IsOk());
  EXPECT_THAT(PlanRepair(env_, Wheel({.members = {{"toy/a.so", image}}}),
                         {.backend = backend, .exclude = {"libblas.*"}}),
              ptpkg::test::IsOk());
}

TEST_F(PlanRepairTest, FoldersThatAreNoneOfAWheel) {
  const AbsPath wheel = Module({});
  for (const char* folder : {"../x", "/x", "toy-1.0.dist-info", "toy-1.0.data/platlib", "a//b"}) {
    EXPECT_THAT(PlanRepair(env_, wheel, {.folder = folder}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("is not a library directory of a wheel")))
        << folder;
  }
}

TEST_F(PlanRepairTest, CopiesReachLibrariesOfTheWheelWhereTheyAreInstalled) {
  AddHost("/usr/lib/libx.so.1", Library({"libown.so.1"}));
  const std::string module = Glibc({"libx.so.1"}).Build();
  const std::string own = Library({}).Build();
  const AbsPath plain = Wheel({.members = {{"toy/a.so", module}, {"toy/lib/libown.so.1", own}}});
  ASSERT_OK_AND_ASSIGN(const WheelRepair one, PlanRepair(env_, plain, {}));
  EXPECT_EQ(PathOf(FactsOf(one, one.grafts.at(0).path)), "$ORIGIN/../toy/lib");
  const AbsPath platlib =
      Wheel({.members = {{"toy/a.so", module}, {"toy-1.0.data/platlib/toy/lib/libown.so.1", own}}});
  ASSERT_OK_AND_ASSIGN(const WheelRepair two, PlanRepair(env_, platlib, {}));
  EXPECT_EQ(PathOf(FactsOf(two, two.grafts.at(0).path)), "$ORIGIN/../toy/lib");
}

TEST_F(PlanRepairTest, FilesThatAreInstalledElsewhereCannotReachCopies) {
  AddHost("/usr/lib/libx.so.1", Library({}));
  SyntheticElf program = Glibc({"libx.so.1"});
  program.interpreter = "/lib64/ld-linux-x86-64.so.2";
  EXPECT_THAT(PlanRepair(env_, Wheel({.members = {{"toy-1.0.data/scripts/prog", program.Build()}}}), {}),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'toy-1.0.data/scripts/prog' needs libraries")));
  const AbsPath platlib = Module({"libx.so.1"}, "toy-1.0.data/platlib/toy/a.so");
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, platlib, {}));
  EXPECT_EQ(PathOf(FactsOf(repair, "toy-1.0.data/platlib/toy/a.so")), "$ORIGIN/../toy.libs");
}

TEST_F(PlanRepairTest, WhatPythonFilesOpenIsCopiedWhenAskedFor) {
  AddHost("/usr/lib/libplugin.so.3", Library({}));
  const AbsPath wheel = Wheel({.members = {{"toy/a.so", Glibc().Build()},
                                           {"toy/open.py", "ctypes.CDLL('libplugin.so.3')\n"},
                                           {"toy/data.txt", "libother.so.1"}}});
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {.opened = {"libplugin.so.3"}}));
  EXPECT_EQ(repair.grafts.at(0).path, "toy.libs/libplugin.so.3");
  EXPECT_EQ(repair.grafts.at(0).opened_by, "toy/open.py");
  AddHost("/usr/lib/libother.so.1", Library({}));
  EXPECT_THAT(PlanRepair(env_, wheel, {.opened = {"libother.so.1"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file of the wheel contains that name")));
}

TEST_F(PlanRepairTest, ANameWithinAnotherIsNone) {
  AddHost("/usr/lib/libplugin.so", Library({}));
  for (const char* text :
       {"'libplugin.so.3'", "'mylibplugin.so'", "'libplugin.so_old'", "'libplugin.solo'"}) {
    const AbsPath wheel = Wheel({.members = {{"toy/a.so", Glibc().Build()}, {"toy/open.py", text}}});
    EXPECT_THAT(PlanRepair(env_, wheel, {.opened = {"libplugin.so"}}),
                FailsWith(ErrorCode::kInvalidInput, HasSubstr("no file of the wheel contains that name")))
        << text;
  }
  for (const char* text : {"libplugin.so", "x/libplugin.so\n", "libplugin.so.3 or libplugin.so."}) {
    const AbsPath wheel = Wheel({.members = {{"toy/a.so", Glibc().Build()}, {"toy/open.py", text}}});
    EXPECT_THAT(PlanRepair(env_, wheel, {.opened = {"libplugin.so"}}), ptpkg::test::IsOk()) << text;
  }
}

TEST_F(PlanRepairTest, WhatTheWheelAndItsDependenciesLeaveOutside) {
  const std::string note = FormatPackageNote({.allow_unresolved = {"libmine.*"}});
  const AbsPath wheel = Wheel({.members = {{"toy/a.so", Glibc({"libmine.so.1", "libcudart.so.12"}).Build()},
                                           {std::string(kInfo) + std::string(kPackageNoteName), note}},
                               .metadata = "Requires-Dist: nvidia-cuda-runtime-cu12\n"});
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {}));
  EXPECT_THAT(repair.left_out,
              ElementsAre(ExcludedLibrary{"libcudart.so.12", "a dependency provides it"},
                          ExcludedLibrary{"libmine.so.1", "the wheel expects it on the machine"}));
}

TEST_F(PlanRepairTest, AnEarlierBillOfMaterialsStays) {
  wheel::Sbom earlier;
  earlier.subject = {.name = "toy", .version = "1.0"};
  earlier.components = {
      {.name = "libold", .version = "7", .properties = {{"ptpkg:file", "toy.libs/libold.so"}}}};
  AddHost("/usr/lib/libx.so.1", Library({}));
  const std::string image = Glibc({"libx.so.1"}).Build();
  const AbsPath wheel = Wheel({.members = {{"toy/a.so", image}, {kBill, Must(wheel::FormatSbom(earlier))}}});
  ASSERT_OK_AND_ASSIGN(const WheelRepair repair, PlanRepair(env_, wheel, {}));
  const auto components = Must(wheel::ParseSbomComponents(Written(wheel, repair.edits).at(kBill), "sbom"));
  std::vector<std::string> names;
  for (const wheel::SbomComponent& one : components) names.push_back(one.name);
  EXPECT_THAT(names, UnorderedElementsAre("libold", "libx.so.1"));
  const AbsPath damaged = Wheel({.members = {{"toy/a.so", image}, {kBill, "{"}}});
  EXPECT_THAT(PlanRepair(env_, damaged, {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("ptpkg-repair.cdx.json is not valid JSON")));
  // Without copies nothing is written there, and nothing read.
  const AbsPath idle = Wheel({.members = {{"toy/a.so", Glibc().Build()}, {kBill, "{"}}});
  EXPECT_THAT(PlanRepair(env_, idle, {}), ptpkg::test::IsOk());
}

TEST_F(PlanRepairTest, StripIsAProgramOfTheMachine) {
  AddHost("/usr/lib/libx.so.1", Library({}));
  EXPECT_THAT(PlanRepair(env_, Module({"libx.so.1"}), {.strip = true}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("strip")));
  EXPECT_THAT(PlanRepair(env_, Module({}), {.strip = true}), ptpkg::test::IsOk());  // nothing to strip
}

TEST_F(PlanRepairTest, WheelsThatCannotBeRepaired) {
  SyntheticElf other = Library({});
  other.machine = 183;
  const auto both =
      PlanRepair(env_, Wheel({.members = {{"toy/a.so", Glibc().Build()}, {"toy/b.so", other.Build()}}}), {});
  EXPECT_THAT(both, FailsWith(ErrorCode::kInvalidInput, HasSubstr("no platform tag covers both")));
  const AbsPath mixed = Wheel(
      {.members = {{"toy/a.so", Glibc().Build()}, {"toy/b.so", Library({"libc.musl-x86_64.so.1"}).Build()}}});
  EXPECT_THAT(PlanRepair(env_, mixed, {}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("needs musl and 'toy/a.so' glibc")));
  std::string cut = Glibc().Build();
  cut.resize(100);
  EXPECT_THAT(PlanRepair(env_, Wheel({.members = {{"toy/a.so", cut}}}), {}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy/a.so'")));
  Members unlisted = {{"toy/a.so", Glibc().Build()}};
  for (auto& member : InfoOf({})) unlisted.push_back(member);
  const std::string record = std::string(kInfo) + "RECORD";
  unlisted.emplace_back(record, wheel::RecordOf({}, record));
  EXPECT_THAT(PlanRepair(env_, Raw(unlisted), {}),
              FailsWith(ErrorCode::kCorrupt, HasSubstr("is not listed in RECORD")));
  EXPECT_THAT(PlanRepair(env_, AbsPath::Literal("/none/toy-1.0-py3-none-any.whl"), {}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  EXPECT_THAT(PlanRepair(env_, Module({}), {.search = {AbsPath::Literal("/none")}}),
              FailsWith(ErrorCode::kNotFound, HasSubstr("none")));
  const AbsPath wheel = Module({});
  env_.cancel.Cancel();
  EXPECT_THAT(PlanRepair(env_, wheel, {}), FailsWith(ErrorCode::kCancelled, HasSubstr("interrupted")));
}

TEST_F(PlanRepairTest, NoNewRowVouchesForDamage) {
  SyntheticElf sick = Glibc();
  sick.runpath = "/opt/build";
  std::string damaged = sick.Build();
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  Members members = {{"toy/a.so", sick.Build()}};
  for (auto& member : InfoOf({})) members.push_back(member);
  const std::string record = std::string(kInfo) + "RECORD";
  members.emplace_back(record, wheel::RecordOf(members, record));
  EXPECT_THAT(PlanRepair(env_, Raw(members), {}), ptpkg::test::IsOk());
  members[0].second = damaged;
  const auto refused = PlanRepair(env_, Raw(members), {});
  EXPECT_THAT(refused, FailsWith(ErrorCode::kCorrupt, HasSubstr("'toy/a.so' does not match RECORD")));
  EXPECT_THAT(refused, HasHint(HasSubstr("--fix")));
}

TEST_F(PlanRepairTest, LinksInAWheelAreNotEdited) {
  EXPECT_THAT(PlanRepair(env_, Linked(), {}),
              FailsWith(ErrorCode::kUnsupported, HasSubstr("'toy/libx.so' is a link or device")));
}

}  // namespace
}  // namespace ptpkg::repair
