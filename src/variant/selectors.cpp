// Selectors of conda_build_config.yaml choose lines by platform, before the file is parsed as YAML. There,
// conda-build evaluates Python. ptpkg evaluates the recipe's expression language, with the names that such
// files use: platforms, linux64, x86, and os.environ. An unknown name is false: it could only be a variant
// key, and no variant is chosen yet.
//
// A line that is left out stays as an empty line, so that errors of the YAML parser still name the right
// line. The selector is the last bracket in a comment: "#" inside a value and other comments don't count.

#include "variant/selectors.h"

#include <optional>
#include <vector>

#include "recipe/expression/expression.h"
#include "recipe/expression/scope.h"
#include "support/text/text.h"

namespace ptpkg::variant {
namespace {

using recipe::Value;

/// A name that is not the platform's can only be a variant key, and no variant is chosen yet.
class FalseKeys final : public recipe::VariantValues {
 public:
  explicit FalseKeys(const std::string& platform) : platform_(platform) {}

  std::optional<Value> Read(const std::string& key) override {
    return recipe::PlatformValue(key, platform_) ? std::nullopt : std::optional<Value>(Value(false));
  }
  void NoteBuiltin(const std::string& /*key*/, const Value& /*value*/) override {}
  [[nodiscard]] std::vector<std::string> Keys() const override { return {}; }

 private:
  const std::string& platform_;
};

/// "linux and x86_64" of "- gcc  # [linux and x86_64] of the toolchain"; nullopt for a line without one.
std::optional<std::string_view> SelectorOf(std::string_view line) {
  for (std::size_t hash = line.rfind('#'); hash != std::string_view::npos && hash > 0;
       hash = line.rfind('#', hash - 1)) {
    const std::string_view comment = Trim(line.substr(hash + 1));
    const std::size_t close = comment.find(']');
    const bool behind_blank = line[hash - 1] == ' ' || line[hash - 1] == '\t';
    if (behind_blank && comment.starts_with('[') && close != std::string_view::npos) {
      return Trim(comment.substr(1, close - 1));
    }
  }
  return std::nullopt;
}

}  // namespace

Result<std::string> ApplySelectors(std::string_view text, const std::string& file,
                                   const std::string& target_platform,
                                   const std::map<std::string, std::string>& environment) {
  FalseKeys keys(target_platform);
  recipe::Scope scope(target_platform, keys, environment);
  const std::string architecture = recipe::PlatformArchitecture(target_platform);
  scope.Define("x86", Value(architecture == "x86_64" || architecture == "x86"));
  scope.Define(ReplaceAll(target_platform, "-", ""), Value(true));  // "linux64"
  Value::Map variables;
  for (const auto& [name, value] : environment) variables.emplace(name, Value(value));
  scope.Define("os", Value(Value::Map{{"environ", Value(std::move(variables))}}));
  std::string kept;
  int number = 0;
  for (const std::string& line : Split(text, '\n')) {
    ++number;
    const std::optional<std::string_view> selector = SelectorOf(line);
    if (selector) {
      SourceSpan span{file, number, static_cast<int>(selector->data() - line.data()) + 1, 1, line};
      PTPKG_TRY(const recipe::Expression expression,
                recipe::Expression::Parse(*selector, {std::move(span), true}));
      PTPKG_TRY(const Value holds, expression.Evaluate(scope));
      if (!holds.Truthy()) {
        kept += '\n';
        continue;
      }
    }
    kept += line;
    kept += '\n';
  }
  return kept;
}

}  // namespace ptpkg::variant
