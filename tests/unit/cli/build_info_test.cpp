#include "cli/build_info.h"

#include <gmock/gmock.h>

namespace ptpkg::cli {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

TEST(ThisBuild, NamesCommitAndLibraries) {
  const BuildInfo& info = ThisBuild();
  EXPECT_THAT(std::string(info.commit), MatchesRegex("unknown|[0-9a-f]{12}(\\+changes)?"));
  EXPECT_THAT(VersionText(info), HasSubstr(", LIEF "));
  const Json document = VersionToJson(info);
  EXPECT_EQ(document["version"], info.version);
  EXPECT_EQ(document["libraries"].size(), info.libraries.size());
  for (const auto& [name, version] : document["libraries"].items()) {
    EXPECT_THAT(version.get<std::string>(), MatchesRegex("[0-9]+\\.[0-9].*")) << name;
  }
}

}  // namespace
}  // namespace ptpkg::cli
