#pragma once
// Typed access to the nodes of a recipe. Layer: recipe. Used by evaluate_recipe.cpp, the files of sections.h,
// and variant/config.cpp.

#include <optional>
#include <string>
#include <vector>

#include "recipe/document/document.h"

namespace ptpkg::recipe {

/// Evaluates nodes in a scope. Every error carries a span.
class Reader {
 public:
  explicit Reader(Scope& scope) : scope_(scope) {}

  [[nodiscard]] Scope& scope() { return scope_; }

  /// A text that is one template keeps the type of its expression; other templates give text.
  /// Value::FromPlainScalar reads a plain scalar, and a quoted one is text. REQUIRES: `node` is a scalar.
  Result<Value> ReadValue(const Node& node);
  /// Reads the text as written when there is no template in it ("007", "1.10"). REQUIRES: `node` is a scalar.
  Result<std::string> ReadText(const Node& node);
  /// Errors: kInvalidInput unless true or false.
  Result<bool> ReadBool(const Node& node, std::string_view key);
  /// Errors: kInvalidInput unless a whole number from 0 on.
  Result<std::uint64_t> ReadCount(const Node& node, std::string_view key);

  /// The items of a list after its conditions; a node that is not a list counts as its only item.
  Result<std::vector<const Node*>> ReadItems(const Node& node);

  struct PlacedText {
    std::string text;
    const Node* node = nullptr;
  };
  /// The texts of a list or scalar. A template that gives nothing or empty text drops its item; one that
  /// gives a list adds its items.
  Result<std::vector<PlacedText>> ReadPlacedTexts(const Node& node);
  Result<std::vector<std::string>> ReadTexts(const Node& node);
  /// Like ReadTexts; names of the build environment become "${NAME}".
  Result<std::vector<std::string>> ReadTextsOfScripts(const Node& node);

  // The same for a key of a mapping; a missing key gives nothing, and so does a template that gives nothing.
  Result<std::string> TextOf(const Node* mapping, std::string_view key);
  Result<std::vector<std::string>> TextsOf(const Node* mapping, std::string_view key);
  Result<bool> BoolOf(const Node* mapping, std::string_view key, bool fallback);

 private:
  Result<void> AppendItems(const std::vector<Item>& items, std::vector<const Node*>& nodes);

  Scope& scope_;
};

/// The value of `key`, null if `mapping` is null or has no such key.
const Node* FindIn(const Node* mapping, std::string_view key);

}  // namespace ptpkg::recipe
