// Runs a fuzzer without libFuzzer: its seeds, the files and folders named, and `--mutations N` random
// changes of each. The random numbers are the same on every run, so a failure comes back.
// `--write-seeds FOLDER` puts the seeds there, for libFuzzer to begin with.

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <fmt/core.h>
#include <random>
#include <string_view>

#include "fuzz/fuzz.h"
#include "support/files/fs.h"

namespace ptpkg::fuzz {
namespace {

void Run(const std::string& input) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(input.data()), input.size());
}

/// Flips, overwrites, cuts, doubles and moves bytes, as libFuzzer's own mutators do.
std::string Mutated(std::string text, std::mt19937_64& random) {
  static constexpr std::string_view kTokens[] = {
      "..",  "/",          "\xff\xff\xff\xff", std::string_view("\0\0\0\0", 4),
      "../", "PK\x03\x04", "PK\x01\x02",       "PK\x05\x06",
      "\x7f"};
  const std::size_t changes = 1 + random() % 4;
  for (std::size_t i = 0; i < changes && !text.empty(); ++i) {
    const std::size_t at = random() % text.size();
    switch (random() % 6) {
      case 0:
        text[at] = static_cast<char>(static_cast<unsigned char>(text[at]) ^ (1U << (random() % 8)));
        break;
      case 1:
        text[at] = static_cast<char>(random() % 256);
        break;
      case 2: {
        const std::string_view token = kTokens[random() % std::size(kTokens)];
        text.replace(at, std::min(token.size(), text.size() - at), token);
        break;
      }
      case 3:
        text.erase(at, 1 + random() % 64);
        break;
      case 4:
        text.insert(at, text.substr(random() % text.size(), random() % 600));
        break;
      default:
        text.resize(at);
    }
  }
  return text;
}

void RunAll(const std::string& seed, std::uint64_t mutations) {
  Run(seed);
  std::mt19937_64 random(seed.size());
  for (std::uint64_t i = 0; i < mutations; ++i) Run(Mutated(seed, random));
}

Result<std::vector<std::string>> ReadInputs(Fs& fs, const std::string& text) {
  PTPKG_TRY(const AbsPath path, AbsPath::Parse(text));
  const auto stat = fs.Stat(path);
  if (!stat) return std::vector<std::string>();  // no saved inputs yet
  std::vector<AbsPath> files{path};
  if (stat->kind == FileKind::kDirectory) {
    PTPKG_TRY(const std::vector<std::string> names, fs.ListDir(path));
    files.clear();
    for (const std::string& name : names) files.push_back(path / name);
  }
  std::vector<std::string> inputs;
  for (const AbsPath& file : files) {
    PTPKG_TRY(inputs.emplace_back(), ReadFile(fs, file));
  }
  return inputs;
}

Result<void> WriteSeeds(const std::string& folder) {
  const std::unique_ptr<Fs> fs = MakeOsFs();
  PTPKG_TRY(const AbsPath root, AbsPath::Parse(folder));
  PTPKG_CHECK(fs->MakeDirs(root));
  int number = 0;
  for (const std::string& seed : Seeds()) {
    PTPKG_CHECK(ptpkg::WriteFile(*fs, root / fmt::format("seed-{:02}", ++number), seed));
  }
  return Ok();
}

Result<void> Main(const std::vector<std::string>& arguments) {
  std::uint64_t mutations = 0;
  std::vector<std::string> inputs = Seeds();
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == "--write-seeds" && i + 1 < arguments.size()) return WriteSeeds(arguments[i + 1]);
    if (arguments[i] == "--mutations" && i + 1 < arguments.size()) {
      const std::string& count = arguments[++i];
      std::from_chars(count.data(), count.data() + count.size(), mutations);
      continue;
    }
    PTPKG_TRY(const std::vector<std::string> read, ReadInputs(*MakeOsFs(), arguments[i]));
    inputs.insert(inputs.end(), read.begin(), read.end());
  }
  for (const std::string& input : inputs) RunAll(input, mutations);
  fmt::print("{} inputs, {} mutations of each\n", inputs.size(), mutations);
  return Ok();
}

}  // namespace
}  // namespace ptpkg::fuzz

int main(int argc, char** argv) {
  const auto result = ptpkg::fuzz::Main({argv + 1, argv + argc});
  if (result) return 0;
  fmt::print(stderr, "{}\n", ptpkg::FormatError(result.error()));
  return 1;
}
