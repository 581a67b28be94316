// Damaged recipes: whatever bytes a file holds, Render returns recipes, or an error whose place exists.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <random>

#include "support/matchers.h"
#include "support/mem_fs.h"
#include "support/paths.h"
#include "variant/render_variants.h"

namespace ptpkg::variant {
namespace {

namespace files = std::filesystem;

constexpr int kRounds = 3000;

std::vector<std::string> Seeds() {
  std::vector<std::string> seeds;
  for (const files::directory_entry& entry :
       files::recursive_directory_iterator(files::path(test::Fixtures().str()) / "recipes")) {
    if (!entry.is_regular_file()) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  // The order of a directory's entries is the file system's; the mutations should not depend on it.
  std::sort(seeds.begin(), seeds.end());
  return seeds;
}

/// Flips, drops, doubles or splices bytes, with a taste for those that mean something in a recipe.
std::string Mutate(std::string text, const std::vector<std::string>& seeds, std::mt19937& random) {
  const auto below = [&](std::size_t limit) { return limit == 0 ? 0 : random() % limit; };
  constexpr std::string_view kTelling = "${}[]|>&*!?:-#'\"\n \t%@`,()<=.0~\\\xC3\x01";
  for (std::size_t i = 0, count = 1 + below(6); i < count; ++i) {
    const std::size_t at = below(text.size() + 1);
    const std::size_t length = below(12);
    switch (below(5)) {
      case 0:
        text.insert(at, 1, kTelling[below(kTelling.size())]);
        break;
      case 1:
        text.erase(at, length);
        break;
      case 2:
        text.insert(at, text.substr(below(text.size()), length * 4));
        break;
      case 3: {
        const std::string& other = seeds[below(seeds.size())];
        text.insert(at, other.substr(below(other.size()), length * 4));
        break;
      }
      default:
        if (at < text.size()) text[at] = static_cast<char>(random());
    }
  }
  return text;
}

TEST(Render, SurvivesDamagedFiles) {
  const std::vector<std::string> seeds = Seeds();
  ASSERT_GT(seeds.size(), 50U);
  std::mt19937 random(20260101);  // NOLINT(cert-msc51-cpp): fixed, so that a failure can be repeated
  for (int round = 0; round < kRounds; ++round) {
    test::MemFs fs;
    const std::string recipe = Mutate(seeds[random() % seeds.size()], seeds, random);
    const std::string variants = Mutate(seeds[random() % seeds.size()], seeds, random);
    fs.AddFile("/r/recipe.yaml", recipe);
    if (round % 4 == 0) fs.AddFile("/r/variants.yaml", variants);
    const auto recipes = Render(fs, AbsPath::Literal("/r/recipe.yaml"), {});
    if (recipes || !recipes.error().span()) continue;
    const SourceSpan& span = *recipes.error().span();
    const int width = static_cast<int>(span.excerpt.size());
    ASSERT_GE(span.line, 1) << recipe;
    ASSERT_GE(span.column, 1) << recipe;
    ASSERT_LE(span.column, width + 1) << recipe;
    ASSERT_GE(span.length, 1) << recipe;
    ASSERT_LE(span.column + span.length, width + 2) << recipe;
    ASSERT_FALSE(recipes.error().message().empty()) << recipe;
  }
}

}  // namespace
}  // namespace ptpkg::variant
