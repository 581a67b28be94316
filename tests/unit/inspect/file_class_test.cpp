#include "inspect/file_class.h"

#include <gtest/gtest.h>

namespace ptpkg::inspect {
namespace {

TEST(FileClass, IsToldByTheName) {
  EXPECT_EQ(ClassOfName("torch/lib/libx.so.1.2"), FileClass::kElf);
  EXPECT_EQ(ClassOfName("torch/_C.so"), FileClass::kElf);
  EXPECT_EQ(ClassOfName("x.so.txt"), FileClass::kText);
  EXPECT_EQ(ClassOfName("lib/libx.a"), FileClass::kStaticArchive);
  EXPECT_EQ(ClassOfName("toy/__init__.py"), FileClass::kPython);
  EXPECT_EQ(ClassOfName("include/a.cuh"), FileClass::kHeader);
  EXPECT_EQ(ClassOfName("share/x.tar.gz"), FileClass::kArchive);
  EXPECT_EQ(ClassOfName("bin/toy"), FileClass::kData);
}

TEST(FileClass, MetadataLiesInItsFolder) {
  EXPECT_EQ(ClassOfName("toy-1.0.dist-info/METADATA"), FileClass::kMetadata);
  EXPECT_EQ(ClassOfName("info/paths.json"), FileClass::kMetadata);
  EXPECT_EQ(ClassOfName("info"), FileClass::kData);
  EXPECT_EQ(ClassOfName("toy/info/x.json"), FileClass::kText);
}

}  // namespace
}  // namespace ptpkg::inspect
