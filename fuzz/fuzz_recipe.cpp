// Renders arbitrary bytes as a recipe; what follows a line "%%%" is its variants.yaml.

#include "fuzz/fuzz.h"
#include "fuzz/require.h"
#include "support/mem_fs.h"
#include "variant/render_variants.h"

namespace ptpkg::fuzz {

namespace {
constexpr std::string_view kSeparator = "\n%%%\n";
}  // namespace

std::vector<std::string> Seeds() {
  return {R"(schema_version: 1
context:
  version: "1.2.3"
  major: ${{ (version | split('.'))[0] | int }}
package:
  name: toy
  version: ${{ version }}
source:
  - url: https://example.org/toy-${{ version }}.tar.gz
    sha256: "0000000000000000000000000000000000000000000000000000000000000000"
build:
  number: ${{ major + 1 }}
  script: |
    make -j${CPU_COUNT} ${{ "CUDA=1" if cuda != "none" }}
  skip: [win]
requirements:
  build: ["${{ compiler('c') }}"]
  host:
    - if: cuda != "none"
      then: [cuda-cudart, "x >=1,<2"]
      else: y
  run: ["${{ pin_subpackage('toy', exact=true) }}", {"if": "linux", "then": "a"}]
tests:
  - script: [toy --version]
about:
  license: MIT
extra:
  ptpkg: {formats: [conda, wheel]}
%%%
cuda: ["none", "13.0"]
python: ["3.11", "3.12"]
zip_keys: [[cuda, python]]
)",
          "package: {name: a, version: '1'}\nbuild: {string: ${{ hash }}_0}\n"};
}

}  // namespace ptpkg::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ptpkg;  // NOLINT(google-build-using-namespace): one function is all there is
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const std::size_t separator = input.find(fuzz::kSeparator);
  test::MemFs fs;
  fs.AddFile("/r/recipe.yaml", input.substr(0, separator));
  if (separator != std::string_view::npos) {
    fs.AddFile("/r/variants.yaml", input.substr(separator + fuzz::kSeparator.size()));
  }
  const auto recipes = variant::Render(fs, AbsPath::Literal("/r/recipe.yaml"), {});
  if (!recipes) fuzz::RequireFair(recipes.error());
  return 0;
}
