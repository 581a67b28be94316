// Each key of a recipe reaches the stages that carry it out, and no other stage's key depends on it.

#include <fmt/core.h>

#include "recipe/document/schema.h"
#include "support/text/text.h"
#include "unit/pipeline/fixtures/build_fixture.h"

namespace ptpkg::pipeline {
namespace {

/// One key that is carried out.
struct Row {
  const char* key;
  const char* with;          ///< A recipe that has it, without `package` unless the key is in it.
  const char* stages;        ///< Those whose inputs differ; "no X": there is no such node any more.
  const char* without = "";  ///< The recipe that it is compared with.
};

constexpr const char* kOne = "recipe: {name: r, version: \"1\"}\noutputs: [{package: {name: toy}}]\n";
constexpr const char* kHeir =
    "recipe: {version: \"1\"}\noutputs: [{staging: {name: one}, build: {script: f}, requirements: {host: "
    "[dep]}},"
    " {staging: {name: two}, build: {script: p}}, {package: {name: toy}, inherit: {from: one}}]\n";

constexpr const char* kSliced = "extra: {ptpkg: {slices: 9.0}}\n";
constexpr const char* kSliceNodes = "check/slice-conda check/slice-wheel slice-conda slice-wheel";

const std::vector<Row> kRows = {
    {"$schema", "$schema: x\n", ""},  // for editors
    {"schema_version", "schema_version: 2\n", "refused"},
    {"context", "context: {t: b}\nabout: {summary: \"${{ t }}\"}\n", "conda"},
    {"package.name", "package: {name: other, version: \"1\"}\n", "build conda wheel"},
    {"package.version", "package: {name: toy, version: \"2\"}\n", "build conda wheel"},
    {"source.url", "source: {url: https://h/x, sha256: &}\n", "build wheel"},
    {"source.sha256", "source: {url: https://h/x, sha256: &}\n", "build wheel",
     "source: {url: https://h/x, sha256: %}\n"},
    {"source.md5", "source: {url: https://h/x, md5: ^}\n", "build wheel"},
    {"source.filter", "source: {path: f, filter: f}\n", "build wheel", "source: {path: f}\n"},
    {"source.filter.include", "source: {path: f, filter: {include: f}}\n", "build wheel",
     "source: {path: f}\n"},
    {"source.filter.exclude", "source: {path: f, filter: {exclude: f}}\n", "build wheel",
     "source: {path: f}\n"},
    {"source.file_name", "source: {path: f, file_name: b}\n", "build wheel", "source: {path: f}\n"},
    {"source.target_directory", "source: {path: f, target_directory: b}\n", "build wheel",
     "source: {path: f}\n"},
    {"source.patches", "source: {path: f, patches: [p]}\n", "build wheel", "source: {path: f}\n"},
    {"source.path", "source: {path: f}\n", "build conda wheel"},
    {"source.git", "source: {git: https://h/x, rev: @}\n", "build wheel"},
    // What of a repository is taken counts as its commit: source_places_test.cpp.
    {"source.tag", "source: {git: https://h/x, expected_commit: @, tag: a}\n", "",
     "source: {git: https://h/x, expected_commit: @, tag: b}\n"},
    {"source.branch", "source: {git: https://h/x, expected_commit: @, branch: a}\n", "",
     "source: {git: https://h/x, expected_commit: @, branch: b}\n"},
    {"source.rev", "source: {git: https://h/x, expected_commit: @, rev: a}\n", "",
     "source: {git: https://h/x, expected_commit: @, rev: b}\n"},
    {"source.depth", "source: {git: https://h/x, rev: @, depth: 2}\n", "",
     "source: {git: https://h/x, rev: @}\n"},
    {"source.lfs", "source: {git: https://h/x, rev: @, lfs: true}\n", "build wheel",
     "source: {git: https://h/x, rev: @}\n"},
    {"source.submodules", "source: {git: https://h/x, rev: @, submodules: false}\n", "build wheel",
     "source: {git: https://h/x, rev: @}\n"},
    {"source.expected_commit", "source: {git: https://h/x, rev: @, expected_commit: @}\n", "",
     "source: {git: https://h/x, rev: @}\n"},
    {"build.number", "build: {number: 7}\n", "conda"},
    {"build.string", "build: {string: x}\n", "conda"},
    {"build.skip", "build: {skip: true}\n",
     "no build no check/conda no check/wheel no conda no publish no wheel"},
    {"build.noarch", "build: {noarch: generic}\n", "build conda wheel"},
    {"build.script", "build: {script: make}\n", "build"},
    {"build.script.file", "build: {script: {file: f}}\n", "build"},
    {"build.script.content", "build: {script: {content: f}}\n", "build"},
    {"build.script.interpreter", "build: {script: {content: f, interpreter: sh}}\n", "build",
     "build: {script: {content: f}}\n"},
    {"build.script.env", "build: {script: {content: f, env: {b: c}}}\n", "build",
     "build: {script: {content: f}}\n"},
    {"build.script.secrets", "build: {script: {content: f, secrets: [B]}}\n", "build",
     "build: {script: {content: f}}\n"},
    {"build.always_include_files", "build: {always_include_files: f}\n", "build"},
    {"build.always_copy_files", "build: {always_copy_files: f}\n", "conda"},
    {"build.files", "build: {files: f}\n", "build"},
    {"build.files.include", "build: {files: {include: f}}\n", "build"},
    {"build.files.exclude", "build: {files: {exclude: f}}\n", "build"},
    {"build.variant.use_keys", "build: {variant: {use_keys: [key]}}\n", "build conda"},
    {"build.variant.ignore_keys", "build: {variant: {ignore_keys: [dep]}}\nrequirements: {host: [dep]}\n",
     "build conda", "requirements: {host: [dep]}\n"},
    {"build.variant.down_prioritize_variant", "build: {variant: {down_prioritize_variant: 1}}\n", "conda"},
    {"build.python.entry_points", "build: {python: {entry_points: [\"a = b:c\"]}}\n", "build conda wheel"},
    {"build.prefix_detection.ignore_binary_files", "build: {prefix_detection: {ignore_binary_files: true}}\n",
     "conda"},
    {"build.prefix_detection.ignore", "build: {prefix_detection: {ignore: f}}\n", "conda"},
    {"build.prefix_detection.force_file_type.text",
     "build: {prefix_detection: {force_file_type: {text: f}}}\n", "conda"},
    {"build.prefix_detection.force_file_type.binary",
     "build: {prefix_detection: {force_file_type: {binary: f}}}\n", "conda"},
    // No package holds a compiled Python file.
    {"build.python.skip_pyc_compilation", "build: {python: {skip_pyc_compilation: f}}\n", ""},
    {"build.dynamic_linking.rpaths", "build: {dynamic_linking: {rpaths: f}}\n", "conda"},
    {"build.dynamic_linking.binary_relocation", "build: {dynamic_linking: {binary_relocation: false}}\n",
     "check/conda conda"},
    {"build.dynamic_linking.rpath_allowlist", "build: {dynamic_linking: {rpath_allowlist: f}}\n",
     "check/conda conda"},
    {"build.dynamic_linking.overlinking_behavior",
     "build: {dynamic_linking: {overlinking_behavior: ignore}}\n", "check/conda conda"},
    // 'ignore' is what happens anyway.
    {"build.dynamic_linking.overdepending_behavior",
     "build: {dynamic_linking: {overdepending_behavior: ignore}}\n", ""},
    {"build.dynamic_linking.missing_dso_allowlist", "build: {dynamic_linking: {missing_dso_allowlist: f}}\n",
     "check/conda check/wheel conda wheel"},
    {"requirements.build", "requirements: {build: [dep]}\n", "build conda"},
    {"requirements.host", "requirements: {host: [dep]}\n", "build conda"},
    {"requirements.run", "requirements: {run: [dep]}\n", "check/conda conda"},
    {"requirements.run_constraints", "requirements: {run_constraints: [dep]}\n", "conda"},
    {"requirements.run_exports", "requirements: {run_exports: dep}\n", "conda"},
    {"requirements.run_exports.weak", "requirements: {run_exports: {weak: dep}}\n", "conda"},
    {"requirements.run_exports.strong", "requirements: {run_exports: {strong: dep}}\n", "conda"},
    {"requirements.run_exports.noarch", "requirements: {run_exports: {noarch: dep}}\n", "conda"},
    {"requirements.run_exports.weak_constraints", "requirements: {run_exports: {weak_constraints: dep}}\n",
     "conda"},
    {"requirements.run_exports.strong_constraints",
     "requirements: {run_exports: {strong_constraints: dep}}\n", "conda"},
    {"requirements.ignore_run_exports.by_name",
     "requirements: {host: [dep], ignore_run_exports: {by_name: [exported]}}\n", "conda",
     "requirements: {host: [dep]}\n"},
    {"requirements.ignore_run_exports.from_package",
     "requirements: {host: [dep], ignore_run_exports: {from_package: [dep]}}\n", "conda",
     "requirements: {host: [dep]}\n"},
    {"tests.script", "tests: [{script: f}]\n", "conda test"},
    {"tests.script.file", "tests: [{script: {file: f}}]\n", "conda test"},
    {"tests.script.content", "tests: [{script: {content: f}}]\n", "conda test"},
    {"tests.script.interpreter", "tests: [{script: {content: f, interpreter: sh}}]\n", "conda test",
     "tests: [{script: f}]\n"},
    {"tests.script.env", "tests: [{script: {content: f, env: {b: c}}}]\n", "conda test",
     "tests: [{script: f}]\n"},
    {"tests.script.secrets", "tests: [{script: {content: f, secrets: [B]}}]\n", "conda test",
     "tests: [{script: f}]\n"},
    {"tests.pip_check", "tests: [{python: {imports: f}, pip_check: false}]\n", "conda test",
     "tests: [{python: {imports: f}}]\n"},
    {"tests.strict", "tests: [{package_contents: {bin: f}, strict: true}]\n", "test",
     "tests: [{package_contents: {bin: f}}]\n"},
    {"build.python.version_independent", "build: {python: {version_independent: true}}\n", "build conda"},
    {"tests.requirements.build", "tests: [{script: f, requirements: {build: [dep]}}]\n", "conda test",
     "tests: [{script: f}]\n"},
    {"tests.files.source", "tests: [{script: f, files: {source: a}}]\n", "build conda test wheel",
     "tests: [{script: f}]\n"},
    {"tests.files.recipe", "tests: [{script: f, files: {recipe: a}}]\n", "build conda test wheel",
     "tests: [{script: f}]\n"},
    {"tests.python.python_version", "tests: [{python: {imports: f, python_version: \"3.10.*\"}}]\n",
     "conda test", "tests: [{python: {imports: f}}]\n"},
    {"tests.perl.uses", "tests: [{perl: {uses: A}}]\n", "conda test"},
    {"tests.r.libraries", "tests: [{r: {libraries: a}}]\n", "conda test"},
    {"tests.ruby.requires", "tests: [{ruby: {requires: a}}]\n", "conda test"},
    {"tests.requirements.run", "tests: [{script: f, requirements: {run: [dep]}}]\n", "conda test",
     "tests: [{script: f}]\n"},
    {"tests.python.imports", "tests: [{python: {imports: f}}]\n", "conda test"},
    {"tests.python.pip_check", "tests: [{python: {imports: f, pip_check: false}}]\n", "conda test",
     "tests: [{python: {imports: f}}]\n"},
    {"tests.package_contents.files", "tests: [{package_contents: {files: f}}]\n", "test"},
    {"tests.package_contents.files.exists", "tests: [{package_contents: {files: {exists: f}}}]\n", "test"},
    {"tests.package_contents.files.not_exists", "tests: [{package_contents: {files: {not_exists: f}}}]\n",
     "test"},
    {"tests.package_contents.site_packages", "tests: [{package_contents: {site_packages: f}}]\n", "test"},
    {"tests.package_contents.bin", "tests: [{package_contents: {bin: f}}]\n", "test"},
    {"tests.package_contents.lib", "tests: [{package_contents: {lib: f}}]\n", "test"},
    {"tests.package_contents.include", "tests: [{package_contents: {include: f}}]\n", "test"},
    {"tests.package_contents.strict", "tests: [{package_contents: {bin: f, strict: true}}]\n", "test",
     "tests: [{package_contents: {bin: f}}]\n"},
    {"about.homepage", "about: {homepage: a}\n", "conda"},
    {"about.repository", "about: {repository: a}\n", "conda"},
    {"about.documentation", "about: {documentation: a}\n", "conda"},
    {"about.license", "about: {license: MIT}\n", "conda"},
    {"about.license_family", "about: {license_family: a}\n", "conda"},
    {"about.license_file", "about: {license_file: f}\n", "build conda"},
    {"about.summary", "about: {summary: a}\n", "conda"},
    {"about.description", "about: {description: a}\n", "conda"},
    {"extra", "extra: {anything: a}\n", ""},  // for people and other programs
    {"extra.ptpkg.formats", "extra: {ptpkg: {formats: wheel}}\n", "wheel no check/conda no conda"},
    {"extra.ptpkg.layouts.conda.files", "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n",
     "conda"},
    {"extra.ptpkg.layouts.conda.rpath",
     "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: [$ORIGIN]}]}}}\n", "conda",
     "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.conda.tag",
     "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: [], tag: rpath}]}}}\n", "conda",
     "extra: {ptpkg: {layouts: {conda: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.wheel.files", "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n",
     "wheel"},
    {"extra.ptpkg.layouts.wheel.rpath",
     "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: [$ORIGIN]}]}}}\n", "wheel",
     "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.wheel.tag",
     "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: [], tag: rpath}]}}}\n", "wheel",
     "extra: {ptpkg: {layouts: {wheel: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.zip.files",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}, layouts: {zip: [{files: a, rpath: []}]}}}\n",
     "zip", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.layouts.zip.rpath",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}, layouts: {zip: [{files: a, rpath: "
     "[$ORIGIN]}]}}}\n",
     "zip",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}, layouts: {zip: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.layouts.zip.tag",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}, layouts: {zip: [{files: a, rpath: [], tag: "
     "rpath}]}}}\n",
     "zip",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}, layouts: {zip: [{files: a, rpath: []}]}}}\n"},
    {"extra.ptpkg.wheel.name", "extra: {ptpkg: {wheel: {name: a}}}\n", "wheel"},
    {"extra.ptpkg.wheel.requires", "extra: {ptpkg: {wheel: {requires: a}}}\n", "wheel"},
    {"extra.ptpkg.wheel.exclude", "extra: {ptpkg: {wheel: {exclude: a}}}\n", "wheel"},
    {"extra.ptpkg.wheel.repair", "extra: {ptpkg: {wheel: {repair: plain}}}\n", "wheel"},
    {"extra.ptpkg.zip.name", "extra: {ptpkg: {formats: [conda, zip], zip: {name: m}}}\n", "zip",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.zip.root", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n, root: a}}}\n", "zip",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.zip.top", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n, top: a}}}\n", "zip",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.zip.files", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n, files: a}}}\n", "zip",
     "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.zip.exclude", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n, exclude: a}}}\n",
     "zip", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.zip.texts", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n, texts: {a: b}}}}\n",
     "zip", "extra: {ptpkg: {formats: [conda, zip], zip: {name: n}}}\n"},
    {"extra.ptpkg.system_packages", "extra: {ptpkg: {system_packages: a}}\n", "build"},
    {"extra.ptpkg.allow_unresolved", "extra: {ptpkg: {allow_unresolved: a}}\n",
     "check/conda check/wheel conda wheel"},
    {"extra.ptpkg.device_code", "extra: {ptpkg: {device_code: \"8.0\"}}\n",
     "check/conda check/wheel conda wheel"},
    {"extra.ptpkg.slices", "extra: {ptpkg: {slices: 9.0}}\n", kSliceNodes},
    {"extra.ptpkg.slices.gpus", "extra: {ptpkg: {slices: {gpus: 9.0}}}\n", kSliceNodes},
    {"extra.ptpkg.slices.ptx", "extra: {ptpkg: {slices: {gpus: 9.0, ptx: keep}}}\n",
     "slice-conda slice-wheel", kSliced},
    {"extra.ptpkg.slices.compact", "extra: {ptpkg: {slices: {gpus: 9.0, compact: true}}}\n",
     "slice-conda slice-wheel", kSliced},
    {"extra.ptpkg.slices.allow", "extra: {ptpkg: {slices: {gpus: 9.0, allow: a}}}\n",
     "slice-conda slice-wheel", kSliced},
    {"extra.ptpkg.slices.variant", "extra: {ptpkg: {slices: {gpus: 9.0, variant: true}}}\n", "slice-wheel",
     kSliced},
    {"extra.ptpkg.slices.cuda", "extra: {ptpkg: {slices: {gpus: 9.0, variant: true, cuda: 13.0}}}\n",
     "slice-wheel", "extra: {ptpkg: {slices: {gpus: 9.0, variant: true}}}\n"},
    // recipe.name is for --source.
    {"recipe.name", "recipe: {name: s, version: \"1\"}\noutputs: [{package: {name: toy}}]\n", "", kOne},
    {"recipe.version", "recipe: {name: r, version: \"2\"}\noutputs: [{package: {name: toy}}]\n",
     "build conda wheel", kOne},
    {"outputs", "recipe: {version: \"1\"}\noutputs: [{package: {name: toy}, build: {number: 1}}]\n", "conda",
     kOne},
    {"outputs.inherit",
     "recipe: {version: \"1\"}\noutputs: [{staging: {name: one}, build: {script: f}},"
     " {package: {name: toy}, inherit: one}]\n",
     "build outputs staging wheel", kOne},
    {"outputs.inherit.from",
     "recipe: {version: \"1\"}\noutputs: [{staging: {name: one}, build: {script: f}, requirements: {host: "
     "[dep]}},"
     " {staging: {name: two}, build: {script: p}}, {package: {name: toy}, inherit: {from: two}}]\n",
     "conda staging wheel", kHeir},
    {"outputs.inherit.run_exports",
     "recipe: {version: \"1\"}\noutputs: [{staging: {name: one}, build: {script: f}, requirements: {host: "
     "[dep]}},"
     " {staging: {name: two}, build: {script: p}}, {package: {name: toy}, inherit: {from: one, run_exports: "
     "false}}]\n",
     "conda", kHeir},
    {"outputs.staging.name",
     "recipe: {version: \"1\"}\noutputs: [{staging: {name: six}, build: {script: f}, requirements: {host: "
     "[dep]}},"
     " {staging: {name: two}, build: {script: p}}, {package: {name: toy}, inherit: {from: six}}]\n",
     "staging wheel", kHeir},
    {"extra.ptpkg.outputs",
     "recipe: {name: r, version: \"1\"}\noutputs: [{package: {name: toy}}]\n"
     "extra: {ptpkg: {outputs: {toy: {formats: wheel}}}}\n",
     "wheel no check/conda no conda", kOne},
    {"extra.ptpkg.resume", "extra: {ptpkg: {resume: false}}\n", ""},            // how it is built, not what
    {"extra.ptpkg.dev.script", "extra: {ptpkg: {dev: {script: make}}}\n", ""},  // of `ptpkg dev` alone
    {"extra.ptpkg.dev.script.file", "extra: {ptpkg: {dev: {script: {file: f}}}}\n", ""},
    {"extra.ptpkg.dev.script.content", "extra: {ptpkg: {dev: {script: {content: f}}}}\n", ""},
    {"extra.ptpkg.dev.script.interpreter", "extra: {ptpkg: {dev: {script: {content: f, interpreter: sh}}}}\n",
     ""},
    {"extra.ptpkg.dev.script.env", "extra: {ptpkg: {dev: {script: {content: f, env: {b: c}}}}}\n", ""},
    {"extra.ptpkg.dev.script.secrets", "extra: {ptpkg: {dev: {script: {content: f, secrets: [B]}}}}\n", ""},
    {"extra.ptpkg.allow_empty", "extra: {ptpkg: {allow_empty: true}}\n", "build"},
    {"extra.ptpkg.memory_per_job", "extra: {ptpkg: {memory_per_job: 2 GB}}\n", ""},  // an option of the build
    {"extra.ptpkg.resources.cores", "extra: {ptpkg: {resources: {cores: 9}}}\n",
     ""},  // where it runs, not what
    {"extra.ptpkg.resources.memory", "extra: {ptpkg: {resources: {memory: 9 GB}}}\n", ""},
    {"extra.ptpkg.resources.disk", "extra: {ptpkg: {resources: {disk: 9 GB}}}\n", ""},
    {"extra.ptpkg.resources.gpus", "extra: {ptpkg: {resources: {gpus: 1}}}\n", ""},
    {"extra.ptpkg.resources.minutes", "extra: {ptpkg: {resources: {minutes: 9}}}\n", ""},
};

class RecipeKeysTest : public BuildFixture {
 protected:
  RecipeKeysTest() {
    for (const char* file : {"toy/f", "toy/p"}) Put(file, "");
    // Names of git sources are then what the recipe expects, and no server is asked.
    env_->offline = true;
    // git, and a git that has git-lfs.
    Put("bin/git", "#!/bin/sh\n");
    EXPECT_THAT(env_->fs.SetMode(env_.dir() / "bin/git", 0755), test::IsOk());
    env_->variables["PATH"] = (env_.dir() / "bin").str() + ":" + env_->variables["PATH"];
    Put("micromamba", "#!/bin/sh\necho 2.0.0\n");
    EXPECT_THAT(env_->fs.SetMode(env_.dir() / "micromamba", 0755), test::IsOk());
    Put("toy/variants.yaml", "key: [\"1\"]\ndep: [\"1\"]\n");
    Put("dep/recipe.yaml",
        "package: {name: dep, version: \"1\"}\nbuild: {string: s, script: \"true\"}\n"
        "requirements: {run_exports: exported}\nextra: {ptpkg: {formats: conda}}\n");
  }

  /// The inputs of each node of "toy", by stage, or the error. What info/recipe shows of any change is left
  /// out.
  Json PlanOf(const std::string& body) {
    const bool whole = body.starts_with("package:") || body.starts_with("recipe:");
    std::string text = whole ? body : "package: {name: toy, version: \"1\"}\n" + body;
    text = ReplaceAll(ReplaceAll(text, "&", std::string(64, 'a')), "%", std::string(64, 'b'));
    text = ReplaceAll(text, "^", std::string(32, 'c'));
    text = ReplaceAll(text, "@", std::string(40, 'c'));
    Put("toy/recipe.yaml", text);
    BuildRequest request = Request({"dep", "toy"});
    // A plan only looks for the client: what a variant needs comes from it when it is built.
    request.host_env = builder::HostEnv::kConda;
    request.tools.conda_exe = (env_.dir() / "micromamba").str();
    const auto planned = PlanBuild(env_, request);
    if (!planned) return {{"refused", FormatError(planned.error())}};
    Json nodes = Json::object();
    for (const graph::Node& node : planned->plan.nodes) {
      if (node.id.find("/dep-") != std::string::npos || node.stage == "index") continue;
      Json inputs = node.inputs;
      inputs.erase("recipe file");
      if (inputs.contains("output")) inputs["output"].erase("rendered_recipe_yaml");
      const bool staging = node.stage == "build" && inputs["recipe"].contains("staging");
      // Stages of which there are several nodes are told apart: "check/slice-conda" of
      // "check/slice-conda/toy-…".
      const bool several = node.stage == "check" || node.stage == "slice";
      nodes[staging ? "staging" : several ? node.id.substr(0, node.id.rfind('/')) : node.stage] = inputs;
    }
    return nodes;
  }
};

TEST_F(RecipeKeysTest, EachThatIsCarriedOutHasARow) {
  std::vector<std::string> keys;
  for (const recipe::SchemaKey& key : recipe::SchemaKeys()) {
    if (key.carried_out) keys.push_back(key.path);
  }
  std::vector<std::string> rows;
  for (const Row& row : kRows) rows.emplace_back(row.key);
  EXPECT_THAT(rows, ::testing::UnorderedElementsAreArray(keys));
}

TEST_F(RecipeKeysTest, EachReachesTheStagesThatCarryItOut) {
  for (const Row& row : kRows) {
    const Json before = PlanOf(row.without);
    const Json after = PlanOf(row.with);
    ASSERT_FALSE(before.contains("refused")) << row.key << before["refused"].get<std::string>();
    std::vector<std::string> differ;
    for (const auto& [stage, inputs] : after.items()) {
      if (!before.contains(stage) || before[stage] != inputs) differ.push_back(stage);
    }
    for (const auto& [stage, inputs] : before.items()) {
      if (!after.contains(stage) && !after.contains("refused")) differ.push_back("no " + stage);
    }
    EXPECT_EQ(Join(differ, " "), row.stages) << row.key << (after.contains("refused") ? after.dump() : "");
  }
}

}  // namespace
}  // namespace ptpkg::pipeline
