// A source directory that holds the recipe, its variants and the results: an edit compiles again what it
// concerns.

#include <sys/stat.h>

#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::IsOk;
using ::testing::Contains;
using ::testing::Not;

/// Keeps what the script found, and says so each time it runs.
constexpr const char* kKeepFound =
    "mkdir -p $PREFIX/share && find . -type f -name '[!.]*' | sort > $PREFIX/share/found && echo >> $RUNS";

class PathSourceTest : public BuildFixture {
 protected:
  void Write(const std::string& recipe, const std::string& source, const std::string& summary = "a",
             const std::string& script = kKeepFound) {
    Put(recipe, "schema_version: 1\npackage: {name: toy, version: \"1.0\"}\nsource: {path: \"" + source +
                    "\"}\nbuild:\n  number: 0\n  string: \"0\"\n  script: {env: {RUNS: " +
                    (env_.dir() / "runs").str() + "}, content: [" + Json(script).dump() +
                    "]}\nabout: {license: MIT, summary: " + summary +
                    "}\nextra: {ptpkg: {formats: [conda]}}\n");
  }

  /// How often the script ran, with this run.
  std::size_t Runs(const BuildRequest& request) {
    EXPECT_THAT(Run(request), IsOk());
    const auto text = ReadFile(env_->fs, env_.dir() / "runs");
    return text ? text->size() : 0;
  }

  /// What the script of the only build found.
  std::string Found() {
    const AbsPath results = env_->cache_dir / "stages/results/build";
    const auto names = env_->fs.ListDir(results);
    EXPECT_THAT(names, IsOk());
    if (!names || names->empty()) return "";
    const auto text = ReadFile(env_->fs, results / names->front() / "files/tree/share/found");
    EXPECT_THAT(text, IsOk());
    return text ? *text : "";
  }
};

TEST_F(PathSourceTest, AnEditedRecipeCompilesNothingAgain) {
  struct Case {
    const char* recipe;
    const char* source;
    const char* sources;  ///< Where they lie.
  };
  for (const Case& one : {Case{"a/recipe.yaml", ".", "a"}, Case{"b/recipe/recipe.yaml", "..", "b"},
                          Case{"c/packaging/conda/recipe.yaml", "../..", "c"}}) {
    const std::string folder = std::string(one.recipe).substr(0, std::string(one.recipe).rfind('/'));
    const std::string sources = one.sources;
    Put(sources + "/main.c", "int " + sources + ";");  // none has the results of another
    Put(sources + "/README.md", "1");
    Put(folder + "/variants.yaml", "python: [\"3.11\"]\n");
    Write(one.recipe, one.source);
    const BuildRequest request = Request({one.recipe});
    const std::size_t first = Runs(request);
    Write(one.recipe, one.source, "b");
    EXPECT_EQ(Runs(request), first) << one.recipe << ": the summary";
    Put(folder + "/variants.yaml", "python: [\"3.11\"]\nblas: [\"openblas\"]\n");
    EXPECT_EQ(Runs(request), first) << one.recipe << ": a key that nobody uses";
    Put(sources + "/README.md", "2");
    EXPECT_EQ(Runs(request), first + 1) << one.recipe << ": a source";
    Put(sources + "/other.c", "int other;");
    EXPECT_EQ(Runs(request), first + 2) << one.recipe << ": a new source";
  }
}

TEST_F(PathSourceTest, VariantFilesOfTheCommandLineAreNoSources) {
  Put("toy/main.c", "int main;");
  Put("toy/ci/cpu.yaml", "python: [\"3.11\"]\n");
  Write("toy/recipe.yaml", ".");
  BuildRequest request = Request({"toy"});
  request.variant_files = {env_.dir() / "toy/ci/cpu.yaml"};
  ASSERT_EQ(Runs(request), 1U);
  Put("toy/ci/cpu.yaml", "python: [\"3.11\"]\nblas: [\"openblas\"]\n");
  EXPECT_EQ(Runs(request), 1U);
  EXPECT_EQ(Found(), "./main.c\n");
}

TEST_F(PathSourceTest, ResultsAndCachesAreNoSources) {
  Put("toy/main.c", "int main;");
  Write("toy/recipe.yaml", ".");
  BuildRequest request = Request({"toy"});
  env_->cache_dir = env_.dir() / "toy/.cache/ptpkg";
  for (const char* output : {"toy/dist", "toy/out/of/it", "elsewhere", "toy/dist"}) {
    request.output = env_.dir() / output;
    EXPECT_EQ(Runs(request), 1U) << output;
  }
  EXPECT_EQ(Found(), "./main.c\n");
  // Named through links.
  ASSERT_THAT(env_->fs.CreateSymlink("toy", env_.dir() / "link"), IsOk());
  request = Request({"link"});
  request.output = env_.dir() / "link/dist2";
  EXPECT_EQ(Runs(request), 1U);
}

TEST_F(PathSourceTest, MetadataOfVersionControlIsNoSource) {
  Put("toy/main.c", "int main;");
  Write("toy/recipe.yaml", ".");
  const BuildRequest request = Request({"toy"});
  ASSERT_EQ(Runs(request), 1U);
  for (const char* file : {".git/index", ".hg/dirstate", ".svn/wc.db", "deep/.jj/repo"}) {
    Put("toy/deep/x.c", "");
    const std::size_t before = Runs(request);
    Put(std::string("toy/") + file, "1");
    EXPECT_EQ(Runs(request), before) << file;
  }
}

TEST_F(PathSourceTest, SettingsAndLogsOfARunAreNoSources) {
  for (const char* recipe : {"a/recipe.yaml", "b/recipe/recipe.yaml"}) {
    const std::string root(1, recipe[0]);
    const std::string folder = std::string(recipe).substr(0, std::string(recipe).rfind('/'));
    Put(root + "/main.c", "int " + root + ";");
    Write(recipe, folder == root ? "." : "..");
    const BuildRequest request = Request({folder});
    const std::size_t once = Runs(request);
    for (const std::string& file :
         {folder + "/ptpkg.toml", root + "/ptpkg.toml", root + "/build.log", root + "/nohup.out"}) {
      Put(file, "1");
      EXPECT_EQ(Runs(request), once) << file;
    }
    Put(root + "/tests/expected.log", "1");
    EXPECT_EQ(Runs(request), once + 1);
  }
}

TEST_F(PathSourceTest, AFileThatTheScriptNamesStaysASource) {
  const std::string script = std::string("grep -q schema_version recipe.yaml; ") + kKeepFound;
  Put("toy/main.c", "int main;");
  Write("toy/recipe.yaml", ".", "a", script);
  const BuildRequest request = Request({"toy"});
  ASSERT_EQ(Runs(request), 1U);
  EXPECT_EQ(Found(), "./main.c\n./recipe.yaml\n");
  Write("toy/recipe.yaml", ".", "b", script);
  EXPECT_EQ(Runs(request), 2U);
}

TEST_F(PathSourceTest, FilesThatTheScriptReadsBesideTheRecipeAreKeyed) {
  const std::string script = std::string("cat $RECIPE_DIR/note.txt > /dev/null; ") + kKeepFound;
  Put("toy/src/main.c", "int main;");
  Put("toy/note.txt", "1");
  for (const char* source : {"src", "."}) {
    Write("toy/recipe.yaml", source, "a", script);
    const BuildRequest request = Request({"toy"});
    const std::size_t first = Runs(request);
    Put("toy/note.txt", std::string("2 ") + source);
    EXPECT_EQ(Runs(request), first + 1) << source;
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
