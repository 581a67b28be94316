#pragma once
// Variant values for tests of the recipe stage.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "recipe/expression/scope.h"

namespace ptpkg::test {

class FakeVariants final : public recipe::VariantValues {
 public:
  explicit FakeVariants(std::map<std::string, recipe::Value> values = {}) : values_(std::move(values)) {}

  std::optional<recipe::Value> Read(const std::string& key) override {
    const auto found = values_.find(key);
    if (found == values_.end()) return std::nullopt;
    read.insert(key);
    return found->second;
  }
  void NoteBuiltin(const std::string& key, const recipe::Value& /*value*/) override { read.insert(key); }
  [[nodiscard]] std::vector<std::string> Keys() const override {
    std::vector<std::string> keys;
    for (const auto& [key, value] : values_) keys.push_back(key);
    return keys;
  }

  std::set<std::string> read;  ///< What was read so far.

 private:
  std::map<std::string, recipe::Value> values_;
};

}  // namespace ptpkg::test
