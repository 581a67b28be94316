// The functions that Python calls for a file, by its path. tests/e2e/elf/python_modules_test.py has the
// checks.

#include "verify/elf/module_checks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ptpkg::verify {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

std::vector<std::string> FunctionsOf(std::string_view path) { return ModuleNameOf(path).functions; }

TEST(ModuleName, BySuffix) {
  EXPECT_THAT(FunctionsOf("toy/x.cpython-311-x86_64-linux-gnu.so"), ElementsAre("PyInit_x"));
  EXPECT_THAT(FunctionsOf("x.pypy311-pp73-x86_64-linux-gnu.so"), ElementsAre("PyInit_x"));
  for (const char* file : {"x.cpython-314-x86_64-linux-gnu.so", "x.cpython-36m-x86_64-linux-gnu.so",
                           "x.cpython-3-x.so", "x.cpython-39-x86_64-linux-gnu.so"})
    EXPECT_THAT(FunctionsOf(file), ElementsAre("PyInit_x")) << file;
  // From Python 3.15 on.
  for (const char* file :
       {"x.abi3.so", "x.abi3t.so", "x.so", "x.abi3-x86_64-linux-gnu.so", "x.cpython-315-x86_64-linux-gnu.so",
        "x.cpython-315t-x86_64-linux-gnu.so", "x.cpython-3100-x86_64-linux-gnu.so",
        "x.cpython-399999999999999999999-x86_64-linux-gnu.so"})
    EXPECT_THAT(FunctionsOf(file), ElementsAre("PyModExport_x", "PyInit_x")) << file;
  for (const char* file : {"x", "x.so.1", "x.y.so", "x.abi4.so", "libx.so", ".so", ".abi3.so", "so/x"})
    EXPECT_THAT(FunctionsOf(file), IsEmpty()) << file;
  EXPECT_TRUE(ModuleNameOf("libx.abi3.so").is_tagged);
  EXPECT_FALSE(ModuleNameOf("x.so").is_tagged);
}

TEST(ModuleName, ByName) {
  EXPECT_THAT(FunctionsOf("a-b.cpython-311-x86_64-linux-gnu.so"), ElementsAre("PyInit_a_b"));
  EXPECT_THAT(FunctionsOf("1x.cpython-311-x86_64-linux-gnu.so"), ElementsAre("PyInit_1x"));
  EXPECT_THAT(FunctionsOf("gr\u00fcn.so"), ElementsAre("PyModExportU_grn_ioa", "PyInitU_grn_ioa"));
}

TEST(ModuleName, OfPackages) {
  const std::string file = "/__init__.cpython-311-x86_64-linux-gnu.so";
  EXPECT_THAT(FunctionsOf("p" + file), ElementsAre("PyInit_p"));
  EXPECT_THAT(FunctionsOf("o/p" + file), ElementsAre("PyInit_p"));
  EXPECT_THAT(FunctionsOf("toy-1.0.data/platlib/p" + file), ElementsAre("PyInit_p"));
  EXPECT_THAT(FunctionsOf("lib/python3.11/site-packages/p" + file), ElementsAre("PyInit_p"));
  for (const std::string folder : {"lib/python3.11/site-packages", "lib/python3.11", "toy-1.0.data/platlib"})
    EXPECT_THAT(FunctionsOf(folder + file), ElementsAre("PyInit___init__")) << folder;
  EXPECT_THAT(FunctionsOf("__init__.cpython-311-x86_64-linux-gnu.so"), ElementsAre("PyInit___init__"));
}

TEST(ModuleName, IsModuleFunction) {
  for (const char* name : {"PyInit_x", "PyInitU_x", "PyModExport_x", "PyModExportU_x"})
    EXPECT_TRUE(IsModuleFunction(name)) << name;
  for (const char* name : {"PyInitialize", "PyInit", "PyModExport", "Py_Init_x", "_PyInit_x", "PyInitX_x"})
    EXPECT_FALSE(IsModuleFunction(name)) << name;
}

}  // namespace
}  // namespace ptpkg::verify
