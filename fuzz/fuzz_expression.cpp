// Parses and evaluates arbitrary bytes as the expression of a ${{ }}.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "recipe/expression/expression.h"
#include "support/limits.h"
#include "support/text/json.h"
#include "unit/recipe/fake_variants.h"

namespace ptpkg::fuzz {

using recipe::Value;

std::vector<std::string> Seeds() {
  return {"version | replace('.', '_') ~ '-' ~ (names | join(','))",
          "names[0] if not (cuda and 3 // 2 >= 1.5) else [1, 2 ** 3, none] | list",
          "'a.b.c'.split('.')[-1] | upper | default('x')",
          "match(version, '>=1.2,<2') or version in ['1', \"2\"]",
          "pin_compatible('numpy', lower_bound='x.x', upper_bound=none)",
          "env.get('HOME', default='') | length % -3 | abs",
          "compiler('cxx') == stdlib(\"c\") and cdt('x') != is_linux(target_platform)",
          "(names | slice(2) | first | sort | reverse | unique | max | version_to_buildstring)"};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string text(reinterpret_cast<const char*>(data), size);
  // A place is on one line.
  SourceSpan span;
  span.file = "recipe.yaml";
  span.excerpt = text;
  const bool one_line = text.find('\n') == std::string::npos;
  const auto expression = recipe::Expression::Parse(text, {span, one_line});
  if (!expression) {
    fuzz::RequireFair(expression.error());
    return 0;
  }
  test::FakeVariants variants({{"cuda", fuzz::Value("13.0")}, {"c_stdlib", fuzz::Value("sysroot")}});
  const std::map<std::string, std::string> environment = {{"HOME", "/home"}};
  recipe::Scope scope("linux-64", variants, environment);
  scope.Define("version", fuzz::Value("1.2.3"));
  scope.Define("names",
               fuzz::Value(fuzz::Value::List{fuzz::Value("a"), fuzz::Value("b"), fuzz::Value(true)}));
  scope.Define("big", fuzz::Value(std::string(limits::kValue / 3, 'x')));
  scope.pins() = {.name = "toy",
                  .version = "1.2.3",
                  .build_string = "0",
                  .host = {{"numpy", "2.1.0"}},
                  .host_known = true};
  const auto value = expression->Evaluate(scope);
  if (!value) {
    fuzz::RequireFair(value.error());
    return 0;
  }
  fuzz::Require(value->Bytes() <= limits::kValue, "a value beyond its limit");
  static_cast<void>(value->ToJson());
  return 0;
}
