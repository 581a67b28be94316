// Walks all stages: what a node reads is in its key, and what is not in its key changes no byte.

#include <fmt/core.h>

#include "graph/plan.h"
#include "pipeline/plan/repack_plan.h"
#include "pipeline/plan/run_plan.h"
#include "pipeline/stages/stages.h"
#include "support/openssl_keys.h"
#include "unit/elf/fixtures/device_libraries.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::IsOk;
using ::testing::HasSubstr;
using ::testing::IsSubsetOf;
using ::testing::Not;

constexpr std::string_view kUnpacked = "unpacked";  // a directory that becomes a wheel

/// Recipes "lib" and "toy" in `folder`, which together reach every stage that builds.
class Project {
 public:
  Project(test::TestEnv& env, const std::string& folder) : env_(env), root_(env.dir() / folder) {
    const std::string site = "$PREFIX/lib/python3.11/site-packages";
    const std::string dist = site + "/toy-1.0.dist-info";
    Put("lib/recipe.yaml", Recipe("lib", "mkdir -p $PREFIX/include && echo 42 > $PREFIX/include/answer.h",
                                  "extra: {ptpkg: {formats: [conda]}}\n"));
    Put("toy/data.txt", "data");
    Put("toy/src/a.txt", "source");
    Put("toy/LICENSE", "MIT");
    Put("toy/recipe.yaml",
        Recipe("toy",
               "mkdir -p " + dist + " && printf 'Metadata-Version: 2.1\\nName: toy\\nVersion: 1.0\\n' > " +
                   dist +
                   "/METADATA && printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: true\\nTag: "
                   "py3-none-any\\n' > " +
                   dist + "/WHEEL && cat a.txt $RECIPE_DIR/data.txt $PREFIX/include/answer.h > " + site +
                   "/toy.txt",
               "source: {path: src}\nrequirements: {host: [lib]}\ntests: [{script: [\"test -e " + site +
                   "/toy.txt\"]}]\nextra: {ptpkg: {formats: [conda, tar.bz2, wheel, zip], zip: "
                   "{name: toy-1.0, root: site-packages}}}\n"));
    const auto code = [](std::uint32_t number) {
      return elf::test::Container(
          {{.number = number, .payload = std::string(8000, static_cast<char>(number))},
           {.number = 90, .payload = std::string(8000, 'x')}});
    };
    Put("gpu/files/libgpu.so", elf::test::WrappedLibrary{.containers = {code(80), code(86)}}.Build());
    Put("gpu/LICENSE", "MIT");
    Put("gpu/recipe.yaml",
        Recipe("gpu",
               "D=" + site + "/gpu-1.0.dist-info && mkdir -p $D " + site + "/gpu && cp libgpu.so " + site +
                   "/gpu && printf 'Metadata-Version: 2.1\\nName: gpu\\nVersion: "
                   "1.0\\n' > $D/METADATA && printf 'Wheel-Version: 1.0\\nGenerator: x\\nRoot-Is-Purelib: "
                   "false\\nTag: py3-none-linux_x86_64\\n' > $D/WHEEL",
               "source: {path: files}\nextra: {ptpkg: {formats: [conda, tar.bz2, wheel], slices: {gpus: "
               "[9.0, 8.0], "
               "variant: true, cuda: 13.0}}}\n"));
    Put("two/LICENSE", "MIT");
    Put("two/recipe.yaml",
        "schema_version: 1\nrecipe: {name: two, version: \"1.0\"}\nabout: {license: MIT, license_file: "
        "LICENSE}\n"
        "outputs:\n"
        "- staging: {name: native}\n"
        "  build: {script: [\"mkdir -p $PREFIX/lib && echo 1 > $PREFIX/lib/one && echo 2 > "
        "$PREFIX/lib/two\"]}\n"
        "- package: {name: one}\n  inherit: native\n  build: {string: \"0\", files: [lib/one]}\n"
        "- package: {name: other}\n  inherit: native\n  build: {string: \"0\", files: [lib/two]}\n"
        "extra: {ptpkg: {formats: [conda]}}\n");
  }
  [[nodiscard]] const AbsPath& root() const { return root_; }
  [[nodiscard]] BuildRequest Request(const std::vector<std::string>& names) const {
    BuildRequest request{.output = root_ / "dist", .host_env = builder::HostEnv::kSystem};
    for (const std::string& name : names) request.recipes.push_back(root_ / name);
    return request;
  }
  [[nodiscard]] RepackRequest Repacked(const std::string& file) const {
    RepackRequest request;
    request.input = file == kUnpacked ? root_ / file : root_ / "dist" / file;
    request.output = root_ / "repacked";
    return request;
  }
  void Put(const std::string& path, const std::string& text) {
    const AbsPath place = root_ / path;
    EXPECT_THAT(env_->fs.MakeDirs(place.Parent()), IsOk());
    EXPECT_THAT(WriteFile(env_->fs, place, text), IsOk());
  }

 private:
  static std::string Recipe(const std::string& name, const std::string& script, const std::string& rest) {
    return "schema_version: 1\npackage: {name: " + name + ", version: \"1.0\"}\n" +
           "build: {number: 0, string: \"0\", script: {content: [" + Json(script).dump() + "]}}\n" +
           "about: {license: MIT, license_file: LICENSE}\n" + rest;
  }

  test::TestEnv& env_;
  AbsPath root_;
};

constexpr const char* kWheel = "wheels/toy-1.0-py3-none-any.whl";
constexpr const char* kConda = "conda/linux-64/toy-1.0-0.conda";

class KeysTest : public ::testing::Test {
 protected:
  KeysTest() : project_(env_, "project") {
    project_.Put("lib/LICENSE", "MIT");
    test::MakeKeyPair(env_, env_.dir().path());
  }

  /// Plans with a node of every stage; what the later ones start from is built.
  std::vector<graph::Plan> AllPlans() {
    project_.Put("unpacked/toy-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n");
    project_.Put("unpacked/toy-1.0.dist-info/WHEEL",
                 "Wheel-Version: 1.0\nGenerator: x\nRoot-Is-Purelib: true\nTag: py3-none-any\n");
    std::vector<graph::Plan> plans;
    auto built = PlanBuild(env_, project_.Request({"lib", "toy"}));
    EXPECT_THAT(built, IsOk());
    if (!built || !Build(env_, project_.Request({"lib", "toy"}))) {
      ADD_FAILURE() << "the project does not build";
      return plans;
    }
    plans.push_back(built->plan);
    BuildRequest toy = project_.Request({"toy"});  // with lib's package by its file
    toy.sign_key = key_;
    auto alone = PlanBuild(env_, toy);
    EXPECT_THAT(alone, IsOk());
    if (alone) plans.push_back(alone->plan);
    for (const std::string_view file : {std::string_view(kWheel), std::string_view(kConda), kUnpacked}) {
      auto repacked = PlanRepack(env_, project_.Repacked(std::string(file)));
      EXPECT_THAT(repacked, IsOk());
      if (repacked) plans.push_back(*repacked);
    }
    for (const char* recipe : {"two", "gpu"}) {
      auto planned = PlanBuild(env_, project_.Request({recipe}));
      EXPECT_THAT(planned, IsOk());
      if (planned) plans.push_back(planned->plan);
    }
    return plans;
  }
  Result<BuildSummary> RunIn(const graph::Plan& plan, const std::string& id) {
    const AbsPath file = env_.dir() / "plan.json";
    PTPKG_CHECK(WriteFile(env_->fs, file, DumpJson(graph::PlanToJson(plan))));
    return RunNode(env_, file, id);
  }

  test::TestEnv env_;
  AbsPath key_ = env_.dir() / "key.pem";
  Project project_;
};

TEST_F(KeysTest, EveryLeafOfEveryInputOfEveryStageIsInItsKey) {
  std::set<std::string> stages;
  for (const graph::Plan& plan : AllPlans()) {
    const std::vector<graph::NodeKey> keys = graph::KeysOf(plan);
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      const graph::Node& node = plan.nodes[i];
      stages.insert(node.stage);
      const Json leaves = node.inputs.flatten();
      for (const auto& [pointer, leaf] : leaves.items()) {
        if (pointer.empty()) continue;  // a node without inputs
        graph::Plan other = plan;
        other.nodes[i].inputs[Json::json_pointer(pointer)] = "changed";
        EXPECT_NE(graph::KeysOf(other)[i].key, keys[i].key) << node.id << pointer;
      }
      EXPECT_THAT(node.inputs.dump(), Not(HasSubstr(env_.dir().path().str())))
          << node.id << ": a place in the key";
    }
  }
  std::set<std::string> known;
  const graph::StageTable table = MakeStages();
  for (const auto& [name, stage] : table.stages()) known.insert(name);
  EXPECT_EQ(stages, known) << "the walk has to reach every stage";
}

TEST_F(KeysTest, EveryInputIsRead) {
  // Only said for '--explain': the build reads the script from the recipe's directory, or from the recipe.
  const std::set<std::string> told = {"build script"};
  for (const graph::Plan& plan : AllPlans()) {
    for (std::size_t i = 0; i < plan.nodes.size(); ++i) {
      const graph::Node& node = plan.nodes[i];
      for (const auto& [name, value] : node.inputs.items()) {
        // Read for every node that has it, also by those who run others' code.
        if (name == "source_date_epoch" || told.contains(node.stage + " " + name)) continue;
        graph::Plan other = plan;
        other.nodes[i].inputs.erase(name);
        EXPECT_FALSE(RunIn(other, node.id).has_value()) << node.id << " does not miss '" << name << "'";
      }
      ASSERT_THAT(RunIn(plan, node.id), IsOk()) << node.id;
    }
  }
}

TEST_F(KeysTest, ContentAtAPlaceIsComparedWithTheKey) {
  struct Edit {
    std::string file;
    std::string id;
    std::size_t plan;
  };
  const std::vector<graph::Plan> plans = AllPlans();
  ASSERT_EQ(plans.size(), 7U);
  for (const graph::Node& node : plans[1].nodes) ASSERT_THAT(RunIn(plans[1], node.id), IsOk()) << node.id;
  const std::vector<Edit> edits = {
      {"toy/data.txt", "build/toy-1.0-0", 1},
      {"toy/src/a.txt", "build/toy-1.0-0", 1},
      {"dist/conda/linux-64/lib-1.0-0.conda", "build/toy-1.0-0", 1},
      {"toy/recipe.yaml", "conda/toy-1.0-0", 1},
      {"toy/data.txt", "conda/toy-1.0-0", 1},
      {"toy/data.txt", "test/toy-1.0-0", 1},
      {fmt::format("dist/{}", kWheel), "repack-conda/toy-1.0-py3-none-any.whl", 2},
      {fmt::format("dist/{}", kConda), "repack-wheel/toy-1.0-0.conda", 3},
      {"unpacked/toy-1.0.dist-info/METADATA", "repack-tree/unpacked", 4},
  };
  for (const Edit& edit : edits) {
    SCOPED_TRACE(edit.id + " with another " + edit.file);
    graph::Plan plan = plans[edit.plan];
    const auto node = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                   [&](const graph::Node& one) { return one.id == edit.id; });
    ASSERT_NE(node, plan.nodes.end());
    node->inputs["another"] = true;  // a key without a result
    ASSERT_OK_AND_ASSIGN(const std::string before, ReadFile(env_->fs, project_.root() / edit.file));
    project_.Put(edit.file, before + "\n");
    EXPECT_THAT(RunIn(plan, edit.id), FailsWith(ErrorCode::kRefused, HasSubstr("after planning")));
    project_.Put(edit.file, before);
  }
}

TEST_F(KeysTest, PlacesAndOptionsAreOnlyPathsAndSwitches) {
  BuildRequest request = project_.Request({"lib", "toy"});
  request.force = true;
  request.keep_work = true;
  request.fresh = true;
  request.preflight = false;
  request.tools = {.python = "python3", .conda_exe = "conda"};
  request.sources = {{"toy", project_.root() / "toy/src"}};
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, request));
  std::set<std::string> options;
  std::set<std::string> places;
  for (const graph::Node& node : planned.plan.nodes) {
    for (const auto& [name, value] : node.options) options.insert(name);
    for (const auto& [name, path] : node.places) places.insert(name);
  }
  // A further one needs a line here, and a reason why it cannot change a byte of what is made: the tools that
  // two of these name are compared by content, and so are sources; their spans are for messages; the build
  // number says what may be replaced.
  EXPECT_THAT(options, IsSubsetOf({"build-number", "conda", "device-code", "force", "fresh", "keep-work",
                                   "no-preflight", "python", "source spans", "sources"}));
  // What is read from a place is compared (above); the others are written.
  EXPECT_THAT(places, IsSubsetOf({"channel", "log", "output", "recipe", "recipe file", "source"}));
}

TEST_F(KeysTest, OtherFoldersAndOptionsGiveTheSameKeysAndBytes) {
  test::TestEnv other({.jobs = 1});
  Project moved(other, "another/much/deeper/folder");
  moved.Put("lib/LICENSE", "MIT");
  BuildRequest request = moved.Request({"lib", "toy"});
  request.force = true;
  request.keep_work = true;
  request.sources = {{"toy", moved.root() / "toy/src"}};
  const auto digests = [](const BuildSummary& summary) {
    std::map<std::string, std::string> found;
    for (const ArtifactRecord& record : summary.artifacts) found.emplace(record.path, record.sha256);
    return found;
  };
  ASSERT_OK_AND_ASSIGN(const BuildSummary one, Build(env_, project_.Request({"lib", "toy"})));
  ASSERT_OK_AND_ASSIGN(const BuildSummary two, Build(other, request));
  EXPECT_EQ(digests(one).size(), 5U);
  EXPECT_EQ(digests(one), digests(two));
  for (const char* file : {kWheel, kConda}) {
    RepackRequest repack = moved.Repacked(file);
    repack.force = true;
    repack.keep_work = true;
    ASSERT_OK_AND_ASSIGN(const BuildSummary here, Repack(env_, project_.Repacked(file)));
    ASSERT_OK_AND_ASSIGN(const BuildSummary there, Repack(other, repack));
    EXPECT_EQ(digests(here), digests(there)) << file;
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
