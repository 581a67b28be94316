#include "verify/elf/device_code_checks.h"

#include "unit/elf/fixtures/device_container_bytes.h"
#include "unit/elf/fixtures/offload_bundles.h"
#include "unit/verify/fixtures/memory_tree.h"

namespace ptpkg::verify {
namespace {

using elf::test::Container;
using elf::test::DeviceLibrary;
using elf::test::Element;
using elf::test::StaticArchive;
using ptpkg::test::FailsWith;
using test::Is;
using test::kRoot;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using Tree = test::MemoryTree;

const std::string kBoth =
    DeviceLibrary(Container({{.number = 80}, {.number = 90}, {.kind = 1, .number = 90}}));
const std::string kOnly80 = DeviceLibrary(Container({{.number = 80}, {.kind = 1, .number = 80}}));
const std::string kBroken = DeviceLibrary(Container({}) + "junk");

TEST(DeviceCodeChecks, WithoutAListNothingIsWrong) {
  Tree tree;
  tree.AddText("lib/a.so", kBoth);
  tree.AddText("lib/b.a", StaticArchive({{"b.o", kOnly80}}));
  tree.Add("lib/c.so", test::Library({}));
  const Examination seen = tree.Examine();
  EXPECT_THAT(seen.report.findings, IsEmpty());
  ASSERT_EQ(seen.device_code.size(), 2U);
  EXPECT_EQ(seen.device_code[0].file, "lib/a.so");
  EXPECT_EQ(ArchitecturesOf(seen.device_code[0].code),
            (versions::DeviceArchitectures{.sass = {"sm_80", "sm_90"}, .ptx = {"compute_90"}}));
  EXPECT_EQ(seen.device_code[1].file, "lib/b.a");
}

TEST(DeviceCodeChecks, EachFileHasWhatIsAskedFor) {
  Tree tree;
  tree.AddText("lib/a.so", kBoth);
  tree.AddText("lib/b.a", StaticArchive({{"b.o", kBoth}}));
  tree.Add("lib/host.so", test::Library({}));
  EXPECT_THAT(tree.Check({.device_code = {"8.0;9.0+PTX"}}), IsEmpty());
  EXPECT_THAT(
      tree.Check({.device_code = {"8.0;9.0"}}),
      ElementsAre(
          Is("device-code-mismatch", Severity::kError, "lib/a.so", "PTX for compute_90 was not requested"),
          Is("device-code-mismatch", Severity::kError, "lib/b.a", "PTX for compute_90 was not requested")));
  EXPECT_THAT(tree.Check({.device_code = {"8.0;9.0+PTX;9.0a;10.0+PTX"}}),
              ElementsAre(Is("device-code-mismatch", Severity::kError, "lib/a.so",
                             "machine code for sm_90a, sm_100 is missing; PTX for compute_100 is missing"),
                          Is("device-code-mismatch", Severity::kError, "lib/b.a", "sm_100")));
}

TEST(DeviceCodeChecks, OneFileOfSeveral) {
  Tree tree;
  tree.AddText("lib/a.so", kBoth);
  tree.AddText("lib/sub/b.o", kOnly80);
  EXPECT_THAT(tree.Check({.device_code = {"8.0;9.0+PTX"}}),
              ElementsAre(Is("device-code-mismatch", Severity::kError, "lib/sub/b.o",
                             "machine code for sm_90 is missing; PTX for compute_90 is missing; PTX for "
                             "compute_80 was not requested")));
  EXPECT_THAT(tree.Check({.device_code = {"8.0;9.0+PTX", "sub/b.o=8.0+PTX"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.device_code = {"8.0;9.0+PTX", "b.*=any"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.device_code = {"any"}}), IsEmpty());
}

TEST(DeviceCodeChecks, NoneAnywhereIsAnErrorWhereSomeIsAskedFor) {
  Tree tree;
  tree.Add("lib/host.so", test::Library({}));
  const auto absent = Is("device-code-absent", Severity::kError, "", "no library, program or static archive");
  EXPECT_THAT(tree.Check({.device_code = {"8.0"}}), ElementsAre(absent));
  const auto absent_in_a = Is("device-code-absent", Severity::kError, "", "no file 'liba.so' has GPU code");
  EXPECT_THAT(tree.Check({.device_code = {"any", "liba.so=8.0"}}), ElementsAre(absent_in_a));
  EXPECT_THAT(tree.Check({.device_code = {"any"}}), IsEmpty());
  EXPECT_THAT(tree.Check(), IsEmpty());
  tree.AddText("lib/libvendor.so", kBoth);
  EXPECT_THAT(tree.Check({.device_code = {"8.0", "libvendor.so=any"}}), ElementsAre(absent))
      << "code of which nothing is asked does not stand for the rest";
}

TEST(DeviceCodeChecks, EachGlobHasAFileWithCode) {
  Tree tree;
  tree.AddText("lib/liba.so", kBoth);
  tree.Add("lib/libb.so", test::Library({}));
  EXPECT_THAT(
      tree.Check({.device_code = {"liba.so=8.0;9.0+PTX", "libb.so=8.0", "libbb.so=8.0", "libc.so=any"}}),
      ElementsAre(Is("device-code-absent", Severity::kError, "", "no file 'libb.so' has GPU code"),
                  Is("device-code-absent", Severity::kError, "", "no file 'libbb.so' has GPU code")));
  EXPECT_THAT(tree.Check({.device_code = {"liba.so=8.0;9.0+PTX", "10.0"}}), IsEmpty())
      << "the list for all others, where there are none";
}

TEST(DeviceCodeChecks, CodeOfAmdByItsTargets) {
  Tree tree;
  tree.AddText("lib/a.so",
               elf::test::LibraryWith(
                   {{".hip_fatbin", elf::test::Bundle({{"hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"},
                                                       {"hipv4-amdgcn-amd-amdhsa--gfx1100"},
                                                       {"hip-spirv64-amd-amdhsa--amdgcnspirv"}})}}));
  EXPECT_THAT(tree.Check({.device_code = {"gfx90a:xnack-;gfx1100;amdgcnspirv"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.device_code = {"gfx1100;more"}}), IsEmpty());
  EXPECT_THAT(
      tree.Check({.device_code = {"gfx90a;gfx1100;9.0+PTX"}}),
      ElementsAre(Is("device-code-mismatch", Severity::kError, "lib/a.so",
                     "machine code for gfx90a, sm_90 is missing; machine code for gfx90a:xnack- was not "
                     "requested; PTX for compute_90 is missing; SPIR-V for amdgcnspirv was not requested")));
}

TEST(DeviceCodeChecks, MoreTakesWhatTheProjectAddsAndMissesWhatItLost) {
  Tree tree;
  tree.AddText("lib/a.so", kBoth);
  EXPECT_THAT(tree.Check({.device_code = {"8.0;more"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.device_code = {"a.so=9.0+PTX more"}}), IsEmpty());
  EXPECT_THAT(tree.Check({.device_code = {"8.0", "more;10.0"}}),
              ElementsAre(Is("device-code-mismatch", Severity::kError, "lib/a.so",
                             "machine code for sm_100 is missing")));
}

TEST(DeviceCodeChecks, WhatCannotBeReadIsAnErrorWhereSomethingIsAskedOfIt) {
  Tree tree;
  tree.AddText("lib/a.so", kBroken);
  tree.AddText("lib/b.a", "!<thin>\n");
  tree.AddText("lib/c.a", StaticArchive({{"one.o", kBoth.substr(0, kBoth.size() - 1)}}));
  EXPECT_THAT(tree.Check(),
              UnorderedElementsAre(
                  Is("device-code-unreadable", Severity::kWarning, "lib/a.so", "section .nv_fatbin, byte 16"),
                  Is("device-code-unreadable", Severity::kWarning, "lib/b.a", "thin archive"),
                  Is("device-code-unreadable", Severity::kWarning, "lib/c.a", "member 'one.o'")));
  EXPECT_THAT(tree.Check({.device_code = {"b.a=8.0", "any"}}),
              testing::Contains(Is("device-code-unreadable", Severity::kError, "lib/b.a", "")));
  EXPECT_THAT(tree.Check({.device_code = {"8.0"}}),
              testing::Each(testing::Field(&Finding::severity, Severity::kError)));
  EXPECT_THAT(tree.Examine().device_code, IsEmpty());
}

TEST(DeviceCodeChecks, APackageSaysWhatItsFilesHold) {
  for (const char* const place : {"pkg-1.dist-info/ptpkg.json", "info/ptpkg.json"}) {
    Tree tree;
    tree.AddText("pkg/a.so", kOnly80);
    tree.AddText(place, R"({"device_code": ["8.0;9.0", "a.so=8.0;9.0"]})");
    EXPECT_THAT(tree.Check(),
                ElementsAre(Is("device-code-mismatch", Severity::kError, "pkg/a.so", "sm_90 is missing")));
    EXPECT_THAT(tree.Check({.device_code = {"80"}}), IsEmpty()) << "who checks decides";
    EXPECT_THAT(tree.Check({.device_code_of_package = {"80"}}), IsEmpty())
        << "info/ of a package that is unpacked";
    tree.AddText(place, R"({"device_code": ["Hopper"]})");
    EXPECT_THAT(tree.Check(),
                ElementsAre(Is("artifact-note-invalid", Severity::kWarning, place, "'Hopper'")));
  }
  Tree tree;
  tree.AddText("a/a.so", kOnly80);
  tree.AddText("a-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: a\nVersion: 1\n");
  tree.AddText("a-1.dist-info/ptpkg.json", R"({"device_code": ["9.0"]})");
  EXPECT_THAT(tree.Check(), testing::SizeIs(1));
  tree.AddText("b-1.dist-info/METADATA", "Metadata-Version: 2.1\nName: b\nVersion: 1\n");
  EXPECT_THAT(tree.Check(), IsEmpty()) << "of several distributions none speaks for all files";
}

TEST(DeviceCodeChecks, AListThatIsNoneIsRefused) {
  Tree tree;
  EXPECT_THAT(ExamineTree(tree.env(), AbsPath::Literal(kRoot), {.device_code = {"all"}}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("unknown GPU architecture 'all'")));
}

}  // namespace
}  // namespace ptpkg::verify
