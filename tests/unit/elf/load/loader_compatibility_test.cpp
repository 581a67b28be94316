// Each of ld.so's reasons to pass a file over or to end with it, in the order of its tests.

#include "elf/load/loader_compatibility.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/digest/stream.h"
#include "unit/elf/fixtures/synthetic_elf.h"

namespace ptpkg::elf {
namespace {

using test::SyntheticElf;

const Host kX86 = {.elf_class = ElfClass::k64, .order = ByteOrder::kLittle, .machine = kMachineX8664};

LoaderCompatibility Judge(std::string image, const Host& host = kX86) {
  image.resize(std::min(image.size(), kCompatibilityHeaderBytes));
  return CompatibilityFromHeader(AsBytes(image), host);
}

std::string Elf(ElfClass elf_class, ByteOrder order, std::uint16_t machine, std::uint16_t type = kTypeDyn) {
  SyntheticElf elf;
  elf.elf_class = elf_class;
  elf.order = order;
  elf.machine = machine;
  elf.type = type;
  return elf.Build();
}

std::string With(std::size_t at, char value) {
  std::string image = SyntheticElf().Build();
  image[at] = value;
  return image;
}

TEST(LoaderCompatibility, TakesItsOwnKind) {
  EXPECT_EQ(Judge(SyntheticElf().Build()).fit, CompatibilityKind::kLoads);
  EXPECT_EQ(Judge(With(7, 3)).fit, CompatibilityKind::kLoads);  // GNU
  std::string gnu = With(7, 3);
  gnu[8] = 3;  // as absolute symbols ask
  EXPECT_EQ(Judge(gnu).fit, CompatibilityKind::kLoads);
  EXPECT_EQ(Judge(Elf(ElfClass::k32, ByteOrder::kLittle, 3),
                  {.elf_class = ElfClass::k32, .order = ByteOrder::kLittle, .machine = 3})
                .fit,
            CompatibilityKind::kLoads);
}

TEST(LoaderCompatibility, PassesOverAnotherClassOrProcessor) {
  EXPECT_EQ(Judge(Elf(ElfClass::k32, ByteOrder::kLittle, 62)).fit, CompatibilityKind::kPassedOver);
  EXPECT_EQ(Judge(Elf(ElfClass::k64, ByteOrder::kLittle, 183)).fit, CompatibilityKind::kPassedOver);
  // The class is looked at before the byte order.
  EXPECT_EQ(Judge(Elf(ElfClass::k32, ByteOrder::kBig, 62)).fit, CompatibilityKind::kPassedOver);
}

TEST(LoaderCompatibility, RefusesTheRest) {
  const auto refused = [](const std::string& image) {
    const LoaderCompatibility fit = Judge(image);
    EXPECT_EQ(fit.fit, CompatibilityKind::kRefused);
    return fit.reason;
  };
  EXPECT_EQ(refused(""), "file too short");
  EXPECT_EQ(refused(SyntheticElf().Build().substr(0, 63)), "file too short");
  EXPECT_EQ(refused(std::string(64, 'x')), "invalid ELF header");
  EXPECT_EQ(refused(Elf(ElfClass::k64, ByteOrder::kBig, 62)), "ELF file data encoding not little-endian");
  EXPECT_EQ(refused(With(6, 2)), "ELF file version ident does not match current one");
  EXPECT_EQ(refused(With(7, 9)), "ELF file OS ABI invalid");
  EXPECT_EQ(refused(With(8, 1)), "ELF file ABI version invalid");
  std::string gnu = With(7, 3);
  gnu[8] = 99;
  EXPECT_EQ(refused(gnu), "ELF file ABI version invalid");
  EXPECT_EQ(refused(With(20, 2)), "ELF file version does not match current one");
  EXPECT_EQ(refused(With(15, 1)), "nonzero padding in e_ident");
  EXPECT_EQ(refused(Elf(ElfClass::k64, ByteOrder::kLittle, 62, 1)), "only ET_DYN and ET_EXEC can be loaded");
  EXPECT_EQ(refused(With(54, 55)), "ELF file's phentsize not the expected size");
  EXPECT_EQ(refused(Elf(ElfClass::k64, ByteOrder::kLittle, 62, kTypeExec)),
            "cannot dynamically load executable");
  EXPECT_EQ(Judge(SyntheticElf().Build(), {.order = ByteOrder::kBig}).reason,
            "ELF file data encoding not big-endian");
}

TEST(LoaderCompatibility, RefusesProgramsThatLookLikeLibraries) {
  EXPECT_EQ(CompatibilityFromFlags({}).fit, CompatibilityKind::kLoads);
  LinkFacts pie;
  pie.flags_1 = kFlag1Pie;
  EXPECT_EQ(CompatibilityFromFlags(pie).reason, "cannot dynamically load position-independent executable");
}

}  // namespace
}  // namespace ptpkg::elf
