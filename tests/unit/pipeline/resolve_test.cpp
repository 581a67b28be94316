#include "pipeline/resolve.h"

#include "conda/package.h"
#include "support/matchers.h"
#include "support/test_env.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

recipe::Recipe Needing(const std::string& name, const std::vector<recipe::MatchSpec>& host) {
  recipe::Recipe recipe;
  recipe.name = name;
  recipe.requirements.host = host;
  return recipe;
}

std::vector<std::string> Names(const std::vector<recipe::Recipe>& recipes) {
  std::vector<std::string> names;
  for (const recipe::Recipe& recipe : recipes) names.push_back(recipe.name);
  return names;
}

TEST(OrderByRequirements, PutsWhatIsNeededFirst) {
  const auto ordered =
      OrderByRequirements({Needing("torch", {{.name = "magma"}}), Needing("free", {}), Needing("magma", {})});
  ASSERT_THAT(ordered, test::IsOk());
  EXPECT_THAT(Names(*ordered), ElementsAre("magma", "torch", "free"));
}

TEST(OrderByRequirements, NamesACycle) {
  EXPECT_THAT(OrderByRequirements({Needing("a", {{.name = "b"}}), Needing("b", {{.name = "a"}})}),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("a → b → a")));
}

class ResolveTest : public ::testing::Test {
 protected:
  void Package(const std::string& name, const std::string& version, const std::string& build,
               const std::vector<std::string>& depends = {}, const std::vector<std::string>& exports = {}) {
    const AbsPath folder = channel_ / "linux-64";
    ASSERT_THAT(env_->fs.MakeDirs(folder), test::IsOk());
    const StagedTree empty;
    conda::PackageMetadata metadata;
    metadata.name = name;
    metadata.version = version;
    metadata.build_string = build;
    metadata.depends = depends;
    metadata.license = "MIT";
    if (!exports.empty()) metadata.run_exports["weak"] = exports;
    ASSERT_THAT(conda::WritePackages(env_, {.metadata = metadata, .tree = empty, .prefix_placeholder = ""},
                                     folder, {.conda = true, .tar_bz2 = false}),
                test::IsOk());
  }

  test::TestEnv env_;
  AbsPath channel_ = env_.dir().path() / "channel";
};

TEST_F(ResolveTest, TakesTheNewestThatFits) {
  Package("magma", "2.9.0", "1");
  Package("magma", "2.10.0", "1", {"blas"}, {"magma >=2.10"});
  Package("magma", "3.0", "1");
  Package("blas", "1.0", "h_0");
  const auto resolved =
      ResolveLocal(env_, Needing("torch", {{.name = "magma", .version = "<3"}, {.name = "cmake"}}), channel_);
  ASSERT_THAT(resolved, test::IsOk());
  ASSERT_EQ(resolved->packages.size(), 2U);
  EXPECT_EQ(resolved->packages[0].path.Name(), "magma-2.10.0-1.conda");
  EXPECT_EQ(resolved->packages[1].name, "blas");
  EXPECT_THAT(resolved->run_exports, ElementsAre("magma >=2.10"));
  EXPECT_EQ(resolved->packages[0].sha256, HashFile(env_->fs, resolved->packages[0].path)->sha256);
}

TEST_F(ResolveTest, ComparesBuildNumbersAsNumbers) {
  Package("magma", "1", "cpu_9");
  Package("magma", "1", "cpu_10");
  const auto resolved = ResolveLocal(env_, Needing("torch", {{.name = "magma"}}), channel_);
  ASSERT_THAT(resolved, test::IsOk());
  EXPECT_EQ(resolved->packages[0].path.Name(), "magma-1-cpu_10.conda");
}

TEST_F(ResolveTest, AVersionThatTheChannelLacksIsNamed) {
  Package("magma", "2.9.0", "1");
  const auto failed = ResolveLocal(env_, Needing("torch", {{.name = "magma", .version = ">=3"}}), channel_);
  ASSERT_THAT(failed, FailsWith(ErrorCode::kNotFound, HasSubstr("magma >=3")));
  EXPECT_THAT(failed.error().hint(), HasSubstr("magma-2.9.0-1"));
}

TEST_F(ResolveTest, NamesThatTheChannelLacksAreTheMachines) {
  const auto resolved = ResolveLocal(env_, Needing("torch", {{.name = "cmake"}}), channel_);
  ASSERT_THAT(resolved, test::IsOk());
  EXPECT_THAT(resolved->packages, IsEmpty());
}

}  // namespace
}  // namespace ptpkg::pipeline
