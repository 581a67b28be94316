// Outputs of one recipe, with real scripts: one native build and what is made of it.

#include <algorithm>

#include "archive/extract.h"
#include "pipeline/stages/stages.h"
#include "support/recording_reporter.h"
#include "support/text/text.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

using test::FailsWith;
using test::HasHint;
using test::IsOk;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

/// A library that is "compiled" by make in the source directory, and a program for each `flavour` on top of
/// it.
constexpr const char* kRecipe = R"yaml(recipe: {name: toy, version: "1.0"}
source: {path: src}
build: {string: s}
about: {license: MIT, license_file: COPYING}
outputs:
- staging: {name: native}
  build: {script: native.sh}
- package: {name: libtoy}
  inherit: native
  build: {files: [lib/**]}
- package: {name: toy}
  inherit: native
  build:
    script: app.sh
    string: ${{ flavour }}
    files: [%FILES%]
  requirements: {run: ["${{ pin_subpackage('libtoy', exact=true) }}"]}
  tests: [{script: "test -f $PREFIX/lib/libtoy && test -f $PREFIX/bin/toy"}]
extra: {ptpkg: {formats: [conda]}}
)yaml";

class OutputsTest : public BuildFixture {
 protected:
  OutputsTest() {
    Put("toy/src/COPYING", "free");
    Put("toy/src/in", "1");
    Put("toy/src/Makefile", "out: in\n\tcp in out\n");
    Put("toy/native.sh",
        "test -z \"${PKG_NAME:-}\"\nmake\nmkdir -p build/empty $PREFIX/lib $PREFIX/share\ncp out "
        "$PREFIX/lib/libtoy\n"
        "echo $SRC_DIR > where\necho $PREFIX > $PREFIX/lib/where\necho x > $PREFIX/share/unused\nln -s "
        "$SRC_DIR/in link\n");
    // The state of make and the links are as native.sh left them, in another directory.
    Put("toy/app.sh",
        "make -q\ntest -d build/empty\ntest \"$(cat link)\" = 1\ntest \"$(cat where)\" = $SRC_DIR\n"
        "grep -q \"^$PREFIX$\" $PREFIX/lib/where\n"
        "mkdir $PREFIX/bin\necho $flavour > $PREFIX/bin/toy\n");
    Put("toy/variants.yaml", "flavour: [a, b]\n");
    Recipe("bin/**");
  }
  void Recipe(const std::string& files, const std::string& from = "", const std::string& to = "") {
    std::string text = kRecipe;
    text.replace(text.find("%FILES%"), 7, files);
    if (!from.empty()) text.replace(text.find(from), from.size(), to);
    Put("toy/recipe.yaml", text);
  }
  static const graph::Node* Find(const graph::Plan& plan, const std::string& start) {
    const auto found = std::find_if(plan.nodes.begin(), plan.nodes.end(),
                                    [&](const graph::Node& node) { return node.id.starts_with(start); });
    return found == plan.nodes.end() ? nullptr : &*found;
  }
  std::vector<std::string> Builds(const BuildSummary& summary) {
    std::vector<std::string> builds;
    for (const std::string& name : Ran(summary)) {
      if (name.starts_with("build ")) builds.push_back(name.substr(6, name.rfind("-h") - 6));
    }
    return builds;
  }
};

TEST_F(OutputsTest, OneNativeBuildServesThemAll) {
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"toy"})));
  const graph::Node* native = Find(planned.plan, "build/native-1.0-h");
  ASSERT_NE(native, nullptr);
  EXPECT_FALSE(native->inputs["recipe"]["variant"].contains("flavour"));
  for (const char* heir : {"build/libtoy-1.0-s", "build/toy-1.0-a", "build/toy-1.0-b"}) {
    const graph::Node* node = planned.plan.Find(heir);
    ASSERT_NE(node, nullptr) << heir;
    EXPECT_EQ(node->needs.at("staging"), native->id);
  }
  EXPECT_THAT(planned.plan.Find("publish/toy-1.0-a")->after, Contains("publish/libtoy-1.0-s"));
  const auto graph_again = graph::PlanFromJson(graph::PlanToJson(planned.plan), "a plan");
  EXPECT_THAT(graph_again, IsOk());

  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"toy"})));
  EXPECT_THAT(Builds(summary),
              ::testing::UnorderedElementsAre("native-1.0", "libtoy-1.0-s", "toy-1.0-a", "toy-1.0-b"));
  EXPECT_THAT(Artifacts(),
              ::testing::UnorderedElementsAre("libtoy-1.0-s.conda", "toy-1.0-a.conda", "toy-1.0-b.conda"));
}

TEST(BuildStage, ABuildWithoutAScriptTakesNoCoresFromOthers) {
  const graph::StageTable stages = MakeStages();
  graph::Node node = stages.MakeNode("build", "meta-1-0");
  for (const auto& [script, light] : {std::pair("", true), std::pair("make", false)}) {
    node.inputs["script"] = script;
    EXPECT_EQ(stages.Find("build")->is_light(node), light);
  }
}

TEST_F(OutputsTest, AZipHasWhatOtherPackagesOfTheRecipeHold) {
  Recipe("bin/**", "extra: {ptpkg: {formats: [conda]}}",
         "extra: {ptpkg: {formats: [conda], outputs: {toy: {formats: [conda, zip], zip: {name: \"toy-${{ "
         "flavour }}\", top: "
         "toy, exclude: [share/**, lib/where]}}}}}");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(Artifacts(), ::testing::IsSupersetOf({"toy-a.zip", "toy-b.zip"}));
  ASSERT_OK_AND_ASSIGN(const archive::ZipReader zip,
                       archive::ZipReader::Open(env_->fs, output_ / "zip/toy-a.zip"));
  std::vector<std::string> names;
  for (const archive::ZipReader::Member& member : zip.members()) names.push_back(member.name);
  EXPECT_THAT(names, ElementsAre("toy/bin/toy", "toy/lib/libtoy"));
}

TEST_F(OutputsTest, AnotherScriptOfAnHeirCompilesNothingAgain) {
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  Put("toy/app.sh", "mkdir $PREFIX/bin\necho $flavour 2 > $PREFIX/bin/toy\n");
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(Request({"toy"})));
  EXPECT_THAT(Builds(again), ::testing::UnorderedElementsAre("toy-1.0-a", "toy-1.0-b"));
}

TEST_F(OutputsTest, WhatIsSelectedIsInNoKey) {
  Recipe("bin/**", "script: app.sh", "script: \"${{ flavour }}.sh\"");
  for (const char* script : {"toy/a.sh", "toy/b.sh"})
    Put(script, "mkdir $PREFIX/bin\necho $flavour > $PREFIX/bin/toy\n");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  BuildRequest one = Request({"toy"});
  one.select = {{"flavour", {"a"}}};
  ASSERT_OK_AND_ASSIGN(const BuildSummary again, Run(one));
  EXPECT_THAT(Builds(again), IsEmpty());
  Put("toy/b.sh", "mkdir $PREFIX/bin\necho other > $PREFIX/bin/toy\n");
  ASSERT_OK_AND_ASSIGN(const BuildSummary edited, Run(one));
  EXPECT_THAT(Builds(edited), IsEmpty());
}

TEST_F(OutputsTest, AnHeirSaysTheVersionsOfTheToolsThatItsFilesWereMadeBy) {
  Put("bin/nvcc", "#!/bin/sh\necho 'Cuda compilation tools, release 13.0, V13.0.88'\n");
  for (const char* file : {"bin/nvcc.profile", "include/cudnn.h"}) Put(file, "");
  Put("include/cudnn_version.h",
      "#define CUDNN_MAJOR 9\n#define CUDNN_MINOR 2\n#define CUDNN_PATCHLEVEL 1\n");
  ASSERT_THAT(env_->fs.SetMode(env_.dir() / "bin/nvcc", 0755), IsOk());
  env_->variables["PATH"] = (env_.dir() / "bin").str() + ":" + env_->variables["PATH"];
  Put("toy/variants.yaml", "flavour: [a]\n");
  const std::string before = "- package: {name: libtoy}\n";
  Recipe("bin/**", before,
         "- package: {name: gpu}\n  inherit: native\n  build: {files: [lib/**], string: \"cuda${{ "
         "detected('cuda_toolkit') }}_cudnn${{ detected('cudnn') }}\"}\n" +
             before);
  ASSERT_OK_AND_ASSIGN(const std::string text, ReadFile(env_->fs, env_.dir() / "toy/recipe.yaml"));
  const std::string script = "  build: {script: native.sh}\n";
  Put("toy/recipe.yaml",
      ReplaceAll(text, script, script + "  requirements: {build: [cuda-nvcc], host: [cudnn]}\n"));
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, Request({"toy"})));
  EXPECT_NE(planned.plan.Find("conda/gpu-1.0-cuda13.0.88_cudnn9.2.1"), nullptr);
}

TEST_F(OutputsTest, FilesThatNoneOrTwoOfThemPackAreWarnedOf) {
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(env_.reporter.warnings(),
              Contains(AllOf(HasSubstr("no output packs 1 file"), HasSubstr("share/unused"))));
  EXPECT_THAT(env_.reporter.warnings(), Not(Contains(HasSubstr("both contain"))));
  Recipe("bin/**, lib/libtoy, share/**");
  BuildRequest request = Request({"toy"});
  request.test = false;  // it would install both
  ASSERT_THAT(Run(request), IsOk());
  EXPECT_THAT(env_.reporter.warnings(),
              Contains(AllOf(HasSubstr("'libtoy' and 'toy' both contain 'lib/libtoy'"))));
}

TEST_F(OutputsTest, TwoThatAreInstalledTogetherHoldNoFileWithOtherContent) {
  const auto recipe = [&](const std::string& second, const std::string& requires_text) {
    Put("toy/recipe.yaml",
        "recipe: {name: toy, version: \"1.0\"}\nbuild: {string: s}\nabout: {license: MIT, license_file: "
        "COPYING}\n"
        "outputs:\n"
        "- package: {name: one}\n  build: {script: \"mkdir $PREFIX/share; echo 1 > $PREFIX/share/f\"}\n"
        "- package: {name: two}\n  build: {script: \"mkdir $PREFIX/share; echo " +
            second + " > $PREFIX/share/f\"}\n" + requires_text + "extra: {ptpkg: {formats: [conda]}}\n");
    Put("toy/COPYING", "free");
  };
  const std::string pinned = "  requirements: {run: [\"${{ pin_subpackage('one', exact=true) }}\"]}\n";
  recipe("2", "");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(
      env_.reporter.warnings(),
      Contains(HasSubstr("'one' and 'two' both contain 'share/f', so they cannot be installed together")));
  recipe("1", pinned);
  EXPECT_THAT(Run(Request({"toy"})), IsOk()) << "one file with one content";
  recipe("3", pinned);
  BuildRequest forced = Request({"toy"});
  forced.force = true;
  EXPECT_THAT(Run(forced),
              FailsWith(ErrorCode::kInvalidInput,
                        HasSubstr("'two' requires 'one' at run time, but both contain 'share/f'")));
}

TEST_F(OutputsTest, WhatAZipLeavesOutIsPackedByNone) {
  const auto warnings = [&](const std::string& zip) {
    Recipe("bin/**", "extra: {ptpkg: {formats: [conda]}}",
           "extra: {ptpkg: {formats: [conda], outputs: {toy: {formats: [conda, zip], zip: {name: \"toy-${{ "
           "flavour }}\", " +
               zip + "}}}}}");
    const auto before = static_cast<std::ptrdiff_t>(env_.reporter.warnings().size());
    EXPECT_OK(Run(Request({"toy"})));
    const std::vector<std::string> all = env_.reporter.warnings();
    return std::vector<std::string>(all.begin() + before, all.end());
  };
  const auto warned = Contains(AllOf(HasSubstr("no output packs 1 file"), HasSubstr("share/unused")));
  EXPECT_THAT(warnings("exclude: [share/**, lib/where]"), warned);
  EXPECT_THAT(warnings("root: lib, exclude: [where]"), warned);
  EXPECT_THAT(warnings("files: [\"lib/libtoy\"]"), warned);
  EXPECT_THAT(warnings("exclude: [lib/where]"), Not(Contains(HasSubstr("no output packs"))));
}

TEST_F(OutputsTest, AFailedNativeBuildStopsWhatInheritsIt) {
  Put("toy/native.sh", "exit 3\n");
  const auto failed = Run(Request({"toy"}));
  EXPECT_THAT(failed, FailsWith(ErrorCode::kCommandFailed, HasSubstr("native-1.0-h")));
  EXPECT_THAT(Artifacts(), IsEmpty());
}

TEST_F(OutputsTest, AnHeirThatPacksNothingIsRefused) {
  Recipe("bin/**", "files: [lib/**]", "files: [nothing/**]");
  EXPECT_THAT(Run(Request({"toy"})),
              FailsWith(ErrorCode::kInvalidInput, HasSubstr("leaves out all of the 3 files")));
}

TEST_F(OutputsTest, AHostPackageKeepsTheFilesThatItHasToo) {
  Recipe("bin/**", "  requirements: {run:", "  requirements: {host: [libtoy], run:");
  Recipe("bin/**, lib/**", "  requirements: {run:", "  requirements: {host: [libtoy], run:");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(env_.reporter.warnings(), Not(Contains(HasSubstr("both contain"))));
}

TEST_F(OutputsTest, RunExportsOfWhatItIsBuiltWithComeAlong) {
  Put("dep/recipe.yaml",
      "package: {name: dep, version: \"1\"}\nbuild: {string: s, script: \"touch $PREFIX/dep\"}\n"
      "requirements: {run_exports: [exported >=1]}\nextra: {ptpkg: {formats: conda}}\n");
  const auto exports_of = [&](const std::string& id) -> Json {
    const auto planned = PlanBuild(env_, Request({"dep", "toy"}));
    if (!planned) return FormatError(planned.error());
    return planned->plan.Find(id)->inputs["run exports"]["depends"];
  };
  Recipe("bin/**", "- staging: {name: native}\n",
         "- staging: {name: native}\n  requirements: {host: [dep]}\n");
  EXPECT_EQ(exports_of("conda/libtoy-1.0-s"), Json({"exported >=1"}));
  Recipe("bin/**", "- staging: {name: native}\n",
         "- staging: {name: native}\n  requirements: {host: [dep], ignore_run_exports: {from_package: "
         "[dep]}}\n");
  EXPECT_EQ(exports_of("conda/libtoy-1.0-s"), Json::array());
  Put("toy/variants.yaml", "flavour: [a]\n");
  Recipe("bin/**", "- staging: {name: native}\n",
         "- package: {name: bare}\n  inherit: {from: native, run_exports: false}\n"
         "- staging: {name: native}\n  requirements: {host: [dep]}\n");
  EXPECT_EQ(exports_of("conda/bare-1.0-s"), Json::array());
  EXPECT_EQ(exports_of("conda/toy-1.0-a"), Json({"exported >=1"}));
}

TEST_F(OutputsTest, AnOwnSourceGoesOverTheInheritedFolder) {
  Put("toy/more/in", "1");
  Put("toy/app.sh", "test -f Makefile\ntest \"$(cat in)\" = 1\nmkdir $PREFIX/bin\ntouch $PREFIX/bin/toy\n");
  Recipe("bin/**", "  inherit: native\n  build:\n", "  inherit: native\n  source: {path: more}\n  build:\n");
  ASSERT_THAT(Run(Request({"toy"})), IsOk());
  EXPECT_THAT(env_.reporter.warnings(), Contains(HasSubstr("replaces 'in' of the inherited work directory")));
}

TEST_F(OutputsTest, AStagingOutputGoesOnFromAnother) {
  Recipe("bin/**", "- package: {name: toy}\n  inherit: native\n",
         "- staging: {name: second}\n  inherit: native\n"
         "  build: {script: \"make -q; echo 2 > $PREFIX/share/second\"}\n"
         "- package: {name: toy}\n  inherit: second\n");
  Put("toy/app.sh",
      "make -q\ntest -f $PREFIX/lib/libtoy\ntest -f $PREFIX/share/second\nmkdir $PREFIX/bin\ntouch "
      "$PREFIX/bin/toy\n");
  ASSERT_OK_AND_ASSIGN(const BuildSummary summary, Run(Request({"toy"})));
  EXPECT_THAT(Builds(summary), Contains("second-1.0"));
}

TEST_F(OutputsTest, OneThatMakesNothingOfTheFormatIsLeftOut) {
  Recipe("bin/**", "extra: {ptpkg: {formats: [conda]}}",
         "- package: {name: bare}\nextra: {ptpkg: {formats: [conda], outputs: {toy: {formats: [wheel]}}}}");
  BuildRequest request = Request({"toy"});
  request.formats = {ArtifactFormat::kWheel};
  ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, request));
  EXPECT_EQ(Find(planned.plan, "build/bare-"), nullptr);
  EXPECT_NE(Find(planned.plan, "conda/libtoy-"), nullptr);  // the test of toy needs it
  EXPECT_EQ(Find(planned.plan, "publish/libtoy-"), nullptr);
  request.formats = {ArtifactFormat::kTarBz2};
  EXPECT_THAT(PlanBuild(env_, request), FailsWith(ErrorCode::kUsage, HasSubstr("does not make tar.bz2")));
}

TEST_F(OutputsTest, SourceOverridesMeanTheStagingOutput) {
  Put("elsewhere/COPYING", "free");
  Put("elsewhere/in", "1");
  Put("elsewhere/Makefile", "out: in\n\tcp in out\n");
  for (const char* name : {"toy", "native"}) {
    BuildRequest request = Request({"toy"});
    request.sources.emplace(name, env_.dir().path() / "elsewhere");
    ASSERT_OK_AND_ASSIGN(const BuildPlan planned, PlanBuild(env_, request));
    EXPECT_EQ(Find(planned.plan, "build/native-")->places.count("source"), 1U) << name;
    EXPECT_EQ(planned.plan.Find("build/libtoy-1.0-s")->places.count("source"), 0U) << name;
  }
}

TEST_F(BuildFixture, ASourceForAnOutputThatInheritsNamesTheRecipe) {
  Put("o/recipe.yaml", R"(recipe: {name: opus, version: "1.0"}
source: {path: src}
about: {license: MIT}
outputs:
- staging: {name: native}
  build: {script: touch $PREFIX/made}
- package: {name: lib}
  inherit: native
extra: {ptpkg: {formats: [conda]}}
)");
  BuildRequest request = Request({"o"});
  request.sources.emplace("lib", env_.dir().path());
  const auto planned = PlanBuild(env_, request);
  EXPECT_THAT(planned, FailsWith(ErrorCode::kUsage, "--source 'lib': this output has no sources"));
  EXPECT_THAT(planned, HasHint("it inherits 'native': use --source opus=…"));
  request.sources = {{"opsu", env_.dir().path()}};
  EXPECT_THAT(PlanBuild(env_, request), HasHint("did you mean 'opus'?"));
}

TEST_F(BuildFixture, ARecipeWithoutPackagesIsWarnedOf) {
  Put("o/recipe.yaml", R"(recipe: {name: opus, version: "1.0"}
about: {license: MIT}
outputs:
- staging: {name: native}
  build: {script: touch $PREFIX/made}
)");
  ASSERT_THAT(Run(Request({"o"})), IsOk());
  EXPECT_THAT(env_.reporter.warnings(),
              Contains(HasSubstr("makes no package: it only has staging outputs that no output inherits")));
}

}  // namespace
}  // namespace ptpkg::pipeline
