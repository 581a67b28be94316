// Build hashes against the vectors of rattler-build's own tests.

#include "variant/build_hash.h"

#include <gtest/gtest.h>

#include "support/text/json.h"

namespace ptpkg::variant {
namespace {

using recipe::Value;

TEST(BuildHash, AgreesWithRattlerBuild) {
  const Json nine_keys = {
      {"rust_compiler", "rust"},
      {"build_platform", "osx-64"},
      {"c_compiler", "clang"},
      {"target_platform", "osx-arm64"},
      {"openssl", "3"},
      {"CONDA_BUILD_SYSROOT",
       "/Applications/Xcode_13.2.1.app/Contents/Developer/Platforms/MacOSX.platform/Developer/SDKs/"
       "MacOSX11.0.sdk"},
      {"channel_targets", "conda-forge main"},
      {"python", "3.11.* *_cpython"},
      {"c_compiler_version", "14"},
  };
  EXPECT_EQ(BuildHash(nine_keys), "507f6e9");
  EXPECT_EQ(BuildHash(Json::object()), "bf21a9e");
  EXPECT_EQ(BuildHash({{"channel_targets", "conda-forge main"}, {"target_platform", "linux-64"}}), "a770c72");
  EXPECT_EQ(BuildHash({{"target_platform", "linux-64"}}), "b0f4dca");
  EXPECT_EQ(BuildHash({{"target_platform", "noarch"}}), "4616a5c");
}

TEST(BuildHash, TellsTypesApart) {
  EXPECT_NE(BuildHash({{"a", 1}}), BuildHash({{"a", "1"}}));
  EXPECT_NE(BuildHash({{"a", true}}), BuildHash({{"a", "true"}}));
}

TEST(BuildStringPrefix, FollowsTheOrderOfTools) {
  EXPECT_EQ(BuildStringPrefix({}, false), "");
  EXPECT_EQ(BuildStringPrefix({{"zlib", Value("1.3")}}, false), "");
  EXPECT_EQ(BuildStringPrefix({{"r_base", Value("4.2.1")},
                               {"lua", Value("5.4")},
                               {"python", Value("3.10.* *_cpython")},
                               {"numpy", Value("1.21")},
                               {"perl", Value("5.26.2")}},
                              false),
            "np121py310pl5262lua54r42");
  EXPECT_EQ(BuildStringPrefix({{"r", Value("4.1")}}, false), "r41");
  EXPECT_EQ(BuildStringPrefix({{"r", Value("4.1")}, {"r_base", Value("4.2")}}, false), "r42");
  EXPECT_EQ(BuildStringPrefix({{"python", Value(std::int64_t{3})}}, false), "py3");
  EXPECT_EQ(BuildStringPrefix({{"perl", Value("5.26")}}, false), "pl526");
  EXPECT_EQ(BuildStringPrefix({{"python", Value("3.11")}, {"numpy", Value("2.0")}}, true), "py");
}

}  // namespace
}  // namespace ptpkg::variant
