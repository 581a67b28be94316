// The hash depends on the variant, never on the order in which files or recipes name its keys.

#include <algorithm>
#include <fmt/core.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "support/mem_fs.h"
#include "support/text/json.h"
#include "variant/build_hash.h"
#include "variant/render_variants.h"

namespace ptpkg::variant {
namespace {

RC_GTEST_PROP(BuildHash, IgnoresKeyOrder, (const std::map<std::string, std::string>& values)) {
  std::vector<std::pair<std::string, std::string>> pairs(values.begin(), values.end());
  // JSON text is UTF-8; keys of other bytes cannot be written down in a variant file either.
  for (auto& [key, value] : pairs) {
    const auto ascii = [](char c) { return c < 0x20 || c > 0x7E; };
    std::replace_if(key.begin(), key.end(), ascii, '_');
    std::replace_if(value.begin(), value.end(), ascii, '_');
  }
  Json forward = Json::object();
  for (const auto& [key, value] : pairs) forward.emplace(key, value);
  std::vector<std::pair<std::string, std::string>> unique;
  for (const auto& [key, value] : forward.items()) unique.emplace_back(key, value.get<std::string>());
  std::rotate(unique.begin(), unique.begin() + static_cast<std::ptrdiff_t>(unique.size() / 2), unique.end());
  std::reverse(unique.begin(), unique.end());
  Json backward = Json::object();
  for (const auto& [key, value] : unique) backward[key] = value;
  RC_ASSERT(BuildHash(forward) == BuildHash(backward));
  RC_ASSERT(BuildHash(forward).size() == 7U);
}

RC_GTEST_PROP(Render, IgnoresTheOrderOfKeysAndRequirements, ()) {
  const std::vector<std::string> names = {"alpha", "beta", "gamma-x", "delta", "epsilon"};
  const auto in_files = *rc::gen::apply(
      [&](std::vector<int> weights) {
        std::vector<std::size_t> order = {0, 1, 2, 3, 4};
        std::sort(order.begin(), order.end(),
                  [&](std::size_t a, std::size_t b) { return weights[a] < weights[b]; });
        return order;
      },
      rc::gen::unique<std::vector<int>>(5, rc::gen::arbitrary<int>()));
  const auto used = *rc::gen::container<std::vector<bool>>(5, rc::gen::arbitrary<bool>());

  const auto render = [&](const std::vector<std::size_t>& order) {
    std::string variants;
    std::string host;
    for (const std::size_t i : order) {
      variants += fmt::format("{}: [\"{}\", \"{}.1\"]\n", names[i], i, i);
      if (used[i]) host += fmt::format("    - {}\n", names[i]);
    }
    test::MemFs fs;
    fs.AddFile("/r/variants.yaml", variants);
    fs.AddFile("/r/recipe.yaml", "package:\n  name: toy\n  version: \"1\"\nrequirements:\n  host:\n" +
                                     (host.empty() ? "    - other\n" : host));
    const auto recipes = Render(fs, AbsPath::Literal("/r/recipe.yaml"), {});
    RC_ASSERT(recipes.has_value());
    std::map<std::map<std::string, std::string>, std::string> hashes;
    for (const recipe::Recipe& recipe : *recipes) hashes[recipe.variant] = recipe.hash;
    RC_ASSERT(hashes.size() == recipes->size());
    return hashes;
  };
  const auto first = render({0, 1, 2, 3, 4});
  RC_ASSERT(first.size() == std::size_t{1}
                                << static_cast<std::size_t>(std::count(used.begin(), used.end(), true)));
  RC_ASSERT(first == render(in_files));
}

}  // namespace
}  // namespace ptpkg::variant
