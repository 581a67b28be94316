// Whole recipes against fixtures/golden: the exact text of diagnostics, and what good recipes render to.
// PTPKG_UPDATE_GOLDEN=1 rewrites the expected files, and is refused where CI is set.

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>

#include "recipe/recipe_json.h"
#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/paths.h"
#include "support/text/json.h"
#include "support/text/text.h"
#include "variant/render_json.h"
#include "variant/render_variants.h"

namespace ptpkg::variant {
namespace {

namespace files = std::filesystem;

const files::path kFixtures = test::Fixtures().str();

std::string ReadText(const files::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << path;
  return {std::istreambuf_iterator<char>(in), {}};
}

bool IsSet(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): before any thread is started
  return value != nullptr && *value != '\0';
}

void CompareWithGolden(const files::path& golden, const std::string& actual) {
  if (IsSet("PTPKG_UPDATE_GOLDEN")) {
    ASSERT_FALSE(IsSet("CI")) << "expected files are not rewritten in CI";
    files::create_directories(golden.parent_path());
    std::ofstream(golden, std::ios::binary) << actual;
    return;
  }
  ASSERT_TRUE(files::exists(golden)) << golden << " is missing; PTPKG_UPDATE_GOLDEN=1 writes it";
  EXPECT_EQ(ReadText(golden), actual) << golden;
}

/// Renders `recipe` in memory, so that no path of this machine gets into messages.
Result<std::vector<recipe::Recipe>> RenderInMemory(const files::path& recipe, const files::path& variants) {
  test::MemFs fs;
  fs.AddFile("/recipe/recipe.yaml", ReadText(recipe));
  if (files::exists(variants)) fs.AddFile("/recipe/variants.yaml", ReadText(variants));
  return Render(fs, AbsPath::Literal("/recipe/recipe.yaml"), {});
}

/// Names without the ending `suffix` of the entries of `folder` that have it.
std::set<std::string> NamesIn(const files::path& folder, const std::string& suffix) {
  std::set<std::string> names;
  for (const files::directory_entry& entry : files::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(suffix)) names.insert(name.substr(0, name.size() - suffix.size()));
  }
  return names;
}

TEST(Golden, DiagnosticsOfBadRecipes) {
  std::set<std::string> cases = NamesIn(kFixtures / "recipes/errors", ".yaml");
  std::erase_if(cases, [](const std::string& name) { return name.ends_with(".variants"); });
  EXPECT_GE(cases.size(), 25U);
  for (const std::string& name : cases) {
    SCOPED_TRACE(name);
    const files::path folder = kFixtures / "recipes/errors";
    const auto recipes = RenderInMemory(folder / (name + ".yaml"), folder / (name + ".variants.yaml"));
    ASSERT_FALSE(recipes.has_value());
    EXPECT_TRUE(recipes.error().code() == ErrorCode::kInvalidInput ||
                recipes.error().code() == ErrorCode::kUnsupported);
    EXPECT_TRUE(recipes.error().span().has_value());
    CompareWithGolden(kFixtures / "golden/recipe_errors" / (name + ".txt"),
                      FormatError(recipes.error()) + "\n");
  }
  EXPECT_EQ(NamesIn(kFixtures / "golden/recipe_errors", ".txt"), cases)
      << "an expected file without its recipe";
}

TEST(Golden, RenderingOfGoodRecipes) {
  const std::set<std::string> cases = NamesIn(kFixtures / "recipes/ok", "");
  EXPECT_GE(cases.size(), 8U);
  for (const std::string& name : cases) {
    SCOPED_TRACE(name);
    const files::path folder = kFixtures / "recipes/ok" / name;
    const auto recipes = RenderInMemory(folder / "recipe.yaml", folder / "variants.yaml");
    ASSERT_OK(recipes);
    Json rendered = Json::array();
    for (const recipe::Recipe& recipe : *recipes) rendered.push_back(RenderedToJson(recipe));
    CompareWithGolden(kFixtures / "golden/recipe_ok" / (name + ".json"), DumpJson(rendered));
  }
  EXPECT_EQ(NamesIn(kFixtures / "golden/recipe_ok", ".json"), cases) << "an expected file without its recipe";
}

/// What is rendered of a recipe of recipes/: NAME.yaml, relative to its directory, for each of `variants`,
/// then the text `mine`.
struct Chosen {
  std::string recipe;
  std::vector<std::string> variants;
  std::map<std::string, std::vector<std::string>> select = {};
  std::string mine = {};
  std::map<std::string, std::string> tables = {};  ///< Texts that take the place of files beside the recipe.
};

Result<std::vector<recipe::Recipe>> RenderOfProject(const Chosen& chosen) {
  const files::path folder = (kFixtures.parent_path() / "recipes" / chosen.recipe).parent_path();
  const AbsPath place = AbsPath::Literal("/recipe");
  test::MemFs fs;
  RenderOptions options;
  options.select = chosen.select;
  for (const std::string& name : chosen.variants) {
    const AbsPath path = place / (files::path(name).filename().string() + ".yaml");
    fs.AddFile(path.str(), ReadText(folder / (name + ".yaml")));
    options.variant_files.push_back(path);
  }
  if (!chosen.mine.empty()) {
    fs.AddFile((place / "mine.yaml").str(), chosen.mine);
    options.variant_files.push_back(place / "mine.yaml");
  }
  const std::string name = files::path(chosen.recipe).filename().string();
  fs.AddFile((place / name).str(), ReadText(folder / name));
  for (const std::string& table : NamesIn(folder, ".yaml")) {
    fs.AddFile((place / (table + ".yaml")).str(), ReadText(folder / (table + ".yaml")));
  }
  for (const auto& [table, text] : chosen.tables) fs.AddFile((place / table).str(), text);
  return Render(fs, place / name, options);
}

TEST(Golden, RenderingOfMagma) {
  for (const std::string name : {"variants", "variants_smoke", "variants_pytorch", "variants_native",
                                 "variants_rocm", "variants_toolkits"}) {
    SCOPED_TRACE(name);
    const auto recipes = RenderOfProject({.recipe = "magma/recipe.yaml", .variants = {"variants", name}});
    ASSERT_OK(recipes);
    Json rendered = Json::array();
    for (const recipe::Recipe& recipe : *recipes) {
      Json one = RenderedToJson(recipe);
      one["script_env"] = recipe.script.env;
      one["device_code"] = recipe.ptpkg.device_code;
      rendered.push_back(std::move(one));
    }
    CompareWithGolden(kFixtures / "golden/magma" / (name + ".json"), DumpJson(rendered));
  }
}

// Every switch that a version has, off: the names under which it gets them.
constexpr std::string_view kOffIn26 = R"(
torch_cudnn: ["off"]
torch_nccl: ["off"]
torch_magma: ["off"]
torch_mkldnn: ["off"]
torch_distributed: ["off"]
torch_gloo: ["off"]
torch_tensorpipe: ["off"]
torch_mpi: ["off"]
torch_fbgemm: ["off"]
torch_kineto: ["off"]
torch_qnnpack: ["off"]
torch_nnpack: ["off"]
torch_xnnpack: ["off"]
torch_itt: ["off"]
torch_numa: ["off"]
torch_openmp: ["off"]
torch_flash_attention: ["off"]
torch_mem_efficient_attention: ["off"]
torch_cusparselt: ["off"]
torch_cufile: ["off"]
)";
constexpr std::string_view kOffIn11 = R"(
torch_cudnn: ["off"]
torch_nccl: [bundled]
torch_mkldnn: ["off"]
torch_distributed: ["off"]
torch_fbgemm: ["off"]
torch_qnnpack: ["off"]
torch_nnpack: ["off"]
torch_caffe2_ops: ["off"]
)";

constexpr std::string_view kNamesOfGpus = R"(
cuda_compiler_version: ["12.6"]
torch_gpu_archs: ["7.5;Ampere Hopper+PTX"]
)";

/// The one variant that is `chosen`, with every command of its script: `packages` that it makes.
void CompareOne(const Chosen& chosen, const files::path& golden, std::size_t packages = 1) {
  const auto recipes = RenderOfProject(chosen);
  ASSERT_OK(recipes);
  Json rendered = Json::array();
  for (const recipe::Recipe& recipe : *recipes) {
    if (recipe.skip && recipes->size() > 1) continue;  // the outputs of the other way to build
    Json one = RenderedToJson(recipe);
    for (const char* twice : {"variant", "inherits", "noarch", "subdir"}) one.erase(twice);
    one["script"] = recipe.script.lines;
    one["script_env"] = recipe.script.env;
    one["device_code"] = recipe.ptpkg.device_code;
    if (!recipe.ptpkg.zip.name.empty()) {
      const Json extra = recipe::RecipeToJson(recipe).at("extra").at("ptpkg");
      one["zip"] = extra.at("zip");
      one["zip"]["layout"] = extra.at("layouts").at("zip");
    }
    rendered.push_back(std::move(one));
  }
  ASSERT_EQ(rendered.size(), packages);
  CompareWithGolden(golden, DumpJson(rendered));
}

TEST(Golden, RenderingOfPytorch) {
  const struct {
    std::string version;
    std::string python;
    std::string what;          // of the file's name
    std::string platform;      // variants_torch_….yaml; "": none
    std::string toolkit = {};  // of CUDA or ROCm
    std::string_view switches = {};
  } cases[] = {
      {"1.1.0", "3.7", "cpu", ""},
      {"1.13.1", "3.10", "cpu", ""},
      {"2.6.0", "3.11", "cpu", ""},
      {"2.14.1", "3.12", "cpu", ""},
      {"2.15.0", "3.12", "cpu", ""},
      {"1.13.1", "3.11", "debian", "debian_1.13"},
      {"2.6.0", "3.11", "debian", "debian"},
      {"2.6.0", "3.11", "debian_cuda", "debian_cuda"},
      {"1.1.0", "3.7", "cuda", "cuda", "10.0"},
      {"1.13.1", "3.10", "cuda", "cuda", "11.7"},
      {"2.6.0", "3.11", "cuda", "cuda", "12.6"},
      {"2.15.0", "3.12", "cuda", "cuda", "13.0"},
      {"1.13.1", "3.10", "rocm", "rocm", "5.2", "rocm_version: [\"5.2\"]\ntorch_magma: [default]\n"},
      {"2.6.0", "3.11", "rocm", "rocm", "6.2"},
      {"2.15.0", "3.12", "rocm", "rocm", "6.4"},
      {"1.1.0", "3.7", "off", "cuda", "10.0", kOffIn11},
      {"2.6.0", "3.11", "off", "cuda", "12.6", kOffIn26},
      {"2.6.0", "3.11", "names", "cuda", "12.6", kNamesOfGpus},
      {"2.6.0", "3.11", "nccl_root", "cuda", "12.6", "torch_nccl_root: [/opt/nccl]\n"},
      {"2.6.0", "3.11", "plain_version", "", "", "torch_local_version: [none]\n"},
      {"2.6.0", "3.11", "split", "", "", "torch_split: [\"on\"]\n"},
      {"2.6.0", "3.11", "split_cuda", "cuda", "12.6", "torch_split: [\"on\"]\n"},
  };
  for (const auto& [version, python, what, platform, toolkit, switches] : cases) {
    const std::string name = version + "_" + what;
    SCOPED_TRACE(name);
    Chosen chosen{.recipe = "pytorch/torch.yaml", .variants = {"variants_torch"}};
    if (platform == "debian_cuda") chosen.variants.push_back("variants_torch_debian");
    if (!platform.empty()) chosen.variants.push_back("variants_torch_" + platform);
    if (!toolkit.empty()) {
      chosen.select[platform == "cuda" ? "cuda_compiler_version" : "rocm_version"] = {toolkit};
    }
    // Not by --select, which renders all versions.
    chosen.mine = "torch_version: [\"" + version + "\"]\npython: [\"" + python + "\"]\n";
    chosen.mine += switches;
    CompareOne(chosen, kFixtures / "golden/pytorch" / (name + ".json"), what.starts_with("split") ? 2 : 1);
  }
}

/// The row of variants_domain.yaml that has this torch, as a variant file: all rows would take minutes here.
std::string RowOfTable(const std::string& torch) {
  std::istringstream table(ReadText(kFixtures.parent_path() / "recipes/pytorch/variants_domain.yaml"));
  std::string file;
  std::string key;
  std::size_t row = 0;
  std::optional<std::size_t> wanted;
  for (std::string line; std::getline(table, line);) {
    if (line.ends_with("_version:")) {
      key = line;
      row = 0;
    } else if (line.starts_with("  - \"")) {
      const std::string value = line.substr(4, line.find('"', 5) - 3);
      if (key == "torch_version:" && value == '"' + torch + '"') wanted = row;
      if (row++ == wanted && !key.empty()) file += key + " [" + value + "]\n";
    }
  }
  return file;
}

// What belongs to the oldest, the newest and two other torches; and of CUDA, the one that is built most.
TEST(Golden, RenderingOfDomainLibraries) {
  const struct {
    std::string torch;
    std::string python;
    std::string toolkit = {};  // of CUDA; "": for the CPU
  } cases[] = {
      {"1.1.0", "3.7"}, {"1.13.1", "3.10"}, {"2.6.0", "3.11"}, {"2.6.0", "3.11", "12.6"}, {"2.15.0", "3.12"}};
  for (const std::string library : {"torchvision", "torchaudio", "torchtext"}) {
    for (const auto& [torch, python, toolkit] : cases) {
      const std::string name = torch + (toolkit.empty() ? "_cpu" : "_cuda");
      SCOPED_TRACE(library + " of torch " + name);
      Chosen chosen{.recipe = library + "/recipe.yaml", .variants = {"../pytorch/variants_torch"}};
      if (!toolkit.empty()) {
        chosen.variants.emplace_back("../pytorch/variants_torch_cuda");
        chosen.select["cuda_compiler_version"] = {toolkit};
      }
      chosen.variants.emplace_back("../pytorch/variants_domain");
      chosen.mine = RowOfTable(torch) + "python: [\"" + python + "\"]\n";
      CompareOne(chosen, kFixtures / "golden" / library / (name + ".json"));
    }
  }
}

constexpr const char* kOnTorch[] = {"torchvision", "torchaudio", "torchtext", "torch_scatter"};

/// The files that choose a `library` and its torch, for `platform`: "", "cuda" or "rocm".
Chosen OnTorch(const std::string& library, const std::string& torch, const std::string& platform,
               const std::string& mine) {
  Chosen chosen{.recipe = library + "/recipe.yaml", .variants = {"../pytorch/variants_torch"}};
  if (!platform.empty()) chosen.variants.push_back("../pytorch/variants_torch_" + platform);
  if (library != "torch_scatter") chosen.variants.emplace_back("../pytorch/variants_domain");
  chosen.mine = RowOfTable(torch) + mine;
  return chosen;
}

std::string TorchTable() { return ReadText(kFixtures.parent_path() / "recipes/pytorch/torch_versions.yaml"); }

// One table of Pythons and toolkits: an extension has no torch where torch is skipped.
TEST(DomainLibraries, AreSkippedByTheTableOfTorch) {
  const std::pair<const char*, const char*> edits[] = {{"", "python: [\"3.11\"]\n"},
                                                       {"    python: \"<3.11\"\n", "python: [\"3.11\"]\n"},
                                                       {"    cuda: \"<12\"\n", "python: [\"3.11\"]\n"}};
  const std::string row = "  - versions: \">=2.6,<2.6.1\"\n";
  for (const std::string library : {"torchvision", "torchaudio", "torch_scatter"}) {
    for (const auto& [edit, mine] : edits) {
      SCOPED_TRACE(library + edit);
      Chosen chosen = OnTorch(library, "2.6.0", "cuda", mine);
      chosen.select["cuda_compiler_version"] = {"12.6"};
      std::string table = TorchTable();
      ASSERT_NE(table.find(row), std::string::npos);
      // The key of the row itself would be a second one.
      if (std::string(edit).find("cuda") != std::string::npos)
        table = ReplaceAll(table, "    cuda: \">=11\" ", edit);
      if (std::string(edit).find("python") != std::string::npos) table = ReplaceAll(table, row, row + edit);
      chosen.tables["torch_versions.yaml"] = table;
      const auto recipes = RenderOfProject(chosen);
      ASSERT_OK(recipes);
      ASSERT_EQ(recipes->size(), 1U);
      EXPECT_EQ(recipes->front().skip, !std::string(edit).empty());
      EXPECT_EQ(TorchTable(),
                ReadText(kFixtures.parent_path() / "recipes" / library / "torch_versions.yaml"));
    }
  }
}

TEST(DomainLibraries, HaveCodeForTheGpusThatTheirTorchKnows) {
  const auto archs = [](const std::string& library, const std::string& torch, const std::string& toolkit,
                        const std::string& mine = "") {
    Chosen chosen = OnTorch(library, torch, "cuda", "python: [\"3.11\"]\n" + mine);
    chosen.select["cuda_compiler_version"] = {toolkit};
    const auto recipes = RenderOfProject(chosen);
    if (!recipes) return "error: " + recipes.error().message();
    EXPECT_EQ(recipes->size(), 1U);
    const std::vector<std::string>& lines = recipes->front().script.lines;
    const std::string code = Join(recipes->front().ptpkg.device_code, " ");
    const std::string line = "export TORCH_CUDA_ARCH_LIST=\"" + code + "\"";
    EXPECT_NE(std::find(lines.begin(), lines.end(), line), lines.end()) << line;
    return code;
  };
  for (const std::string library : {"torchvision", "torchaudio", "torch_scatter"}) {
    SCOPED_TRACE(library);
    EXPECT_EQ(archs(library, "2.6.0", "12.6"), "5.0;6.0;7.0;7.5;8.0;8.6;9.0");
    EXPECT_EQ(archs(library, "2.6.0", "12.8"), "7.0;7.5;8.0;8.6;9.0+PTX");
    EXPECT_EQ(archs(library, "2.6.0", "13.0"), "7.5;8.0;8.6;9.0+PTX");
    EXPECT_EQ(archs(library, "2.9.1", "13.0"), "7.5;8.0;8.6;9.0;10.0;12.0+PTX");
    const std::string own =
        "zip_keys: []\ncuda_compiler_version: [\"13.0\"]\ntorch_gpu_archs: [\"9.0;12.0a\"]\n"
        "torch_wheel_requires: [none]\n";
    EXPECT_EQ(archs(library, "2.6.0", "13.0", own),
              "error: torch 2.6.0 compiles extensions for GPUs up to 9.0, not for 9.0;12.0a");
  }
}

// Against which torch, and under which names.
TEST(Golden, RenderingOfTorchScatter) {
  for (const std::string platform : {"cpu", "cuda", "rocm"}) {
    SCOPED_TRACE(platform);
    Chosen chosen{.recipe = "torch_scatter/recipe.yaml",
                  .variants = {"../pytorch/variants_torch"},
                  .mine = "torch_version: [\"2.6.0\"]\npython: [\"3.11\"]\n"};
    if (platform != "cpu") chosen.variants.push_back("../pytorch/variants_torch_" + platform);
    if (platform == "cuda") chosen.select["cuda_compiler_version"] = {"12.6"};
    if (platform == "rocm") chosen.select["rocm_version"] = {"6.2"};
    CompareOne(chosen, kFixtures / "golden/torch_scatter" / (platform + ".json"));
  }
}

}  // namespace
}  // namespace ptpkg::variant
