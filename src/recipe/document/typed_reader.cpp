// Nodes to typed values. Layer: recipe.
//
// A scalar that is one expression keeps the type of its result, and one with text around it becomes text.
// Lists are flattened while they are read: conditional items are replaced by their branch, and an item whose
// expression gives a list becomes its items. Empty results vanish, so an expression can omit an item. A
// written empty text stays.
//
// Invariant: each error has a place. Placed adds the node's to errors that have none.

#include "recipe/document/typed_reader.h"

#include <fmt/core.h>

#include "support/assert.h"

namespace ptpkg::recipe {
namespace {

/// A span that points at `node`, for errors whose own span is missing.
template <class T>
Result<T> Placed(Result<T> result, const SourceSpan& span) {
  if (result || result.error().span()) return result;
  return std::move(result).error().At(span);
}

}  // namespace

Result<Value> Reader::ReadValue(const Node& node) {
  PTPKG_ASSERT(node.kind == Node::Kind::kScalar);
  if (const Expression* sole = node.text.SoleExpression()) return sole->Evaluate(scope_);
  if (node.text.IsLiteral()) return node.plain ? Value::FromPlainScalar(node.raw) : Value(node.raw);
  std::string text;
  for (const auto& piece : node.text.pieces) {
    if (const std::string* literal = std::get_if<std::string>(&piece)) {
      text += *literal;
      continue;
    }
    const Expression& expression = std::get<Expression>(piece);
    PTPKG_TRY(const Value value, expression.Evaluate(scope_));
    PTPKG_TRY(const std::string part, Placed(value.ToText(), expression.place().span));
    text += part;
  }
  Value value(std::move(text));
  PTPKG_CHECK(Placed(scope_.Spend(value), node.span));
  return value;
}

Result<std::string> Reader::ReadText(const Node& node) {
  // Not by ReadValue: text such as 1.10 or "yes" must keep its spelling.
  if (node.text.IsLiteral()) return node.raw;
  PTPKG_TRY(const Value value, ReadValue(node));
  return Placed(value.ToText(), node.span);
}

Result<bool> Reader::ReadBool(const Node& node, std::string_view key) {
  PTPKG_TRY(const Value value, ReadValue(node));
  if (const bool* boolean = value.AsBool()) return *boolean;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is true or false, found {}", key, value.KindName()))
      .At(node.span)
      .WithHint("write true or false without quotes");
}

Result<std::uint64_t> Reader::ReadCount(const Node& node, std::string_view key) {
  PTPKG_TRY(const Value value, ReadValue(node));
  std::optional<std::int64_t> number;
  if (const std::int64_t* integer = value.AsInteger()) number = *integer;
  // Quoted, or put together from several parts: both are text that only looks like a number.
  if (const std::string* text = value.AsText()) number = ParseInteger(*text);
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  PTPKG_TRY(const std::string shown, Placed(value.ToText(), node.span));
  return Error(ErrorCode::kInvalidInput,
               fmt::format("'{}' is a whole number from 0 on, found '{}'", key, shown))
      .At(node.span);
}

Result<void> Reader::AppendItems(const std::vector<Item>& items, std::vector<const Node*>& nodes) {
  for (const Item& item : items) {
    if (const Node* node = std::get_if<Node>(&item.value)) {
      nodes.push_back(node);
      continue;
    }
    const Conditional& conditional = std::get<Conditional>(item.value);
    PTPKG_TRY(const Value condition, conditional.condition.Evaluate(scope_));
    // Only the branch that is taken, so keys of the other one don't enter the variant. The reader of YAML
    // limits the depth.
    PTPKG_CHECK(AppendItems(condition.Truthy() ? conditional.then_items : conditional.else_items, nodes));
  }
  return Ok();
}

Result<std::vector<const Node*>> Reader::ReadItems(const Node& node) {
  std::vector<const Node*> nodes;
  if (node.kind == Node::Kind::kNull) return nodes;
  if (node.kind != Node::Kind::kSequence) {
    nodes.push_back(&node);
    return nodes;
  }
  PTPKG_CHECK(AppendItems(node.items, nodes));
  return nodes;
}

Result<std::vector<Reader::PlacedText>> Reader::ReadPlacedTexts(const Node& node) {
  PTPKG_TRY(const std::vector<const Node*> nodes, ReadItems(node));
  std::vector<PlacedText> texts;
  for (const Node* item : nodes) {
    if (item->text.IsLiteral()) {
      texts.push_back({item->raw, item});
      continue;
    }
    PTPKG_TRY(const Value value, ReadValue(*item));
    const Value::List values = value.AsList() != nullptr ? *value.AsList() : Value::List{value};
    for (const Value& single : values) {
      PTPKG_TRY(std::string text, Placed(single.ToText(), item->span));
      // Only results of expressions vanish; a literal "" above stays.
      if (!text.empty()) texts.push_back({std::move(text), item});
    }
  }
  return texts;
}

Result<std::vector<std::string>> Reader::ReadTexts(const Node& node) {
  PTPKG_TRY(std::vector<PlacedText> placed, ReadPlacedTexts(node));
  std::vector<std::string> texts;
  texts.reserve(placed.size());
  for (PlacedText& text : placed) texts.push_back(std::move(text.text));
  return texts;
}

Result<std::vector<std::string>> Reader::ReadTextsOfScripts(const Node& node) {
  scope_.ExposeScriptVariables(true);
  Result<std::vector<std::string>> texts = ReadTexts(node);
  scope_.ExposeScriptVariables(false);
  return texts;
}

const Node* FindIn(const Node* mapping, std::string_view key) {
  return mapping == nullptr ? nullptr : mapping->Find(key);
}

Result<std::string> Reader::TextOf(const Node* mapping, std::string_view key) {
  const Node* node = FindIn(mapping, key);
  if (node == nullptr) return std::string();
  return ReadText(*node);
}

Result<std::vector<std::string>> Reader::TextsOf(const Node* mapping, std::string_view key) {
  const Node* node = FindIn(mapping, key);
  if (node == nullptr) return std::vector<std::string>();
  return ReadTexts(*node);
}

Result<bool> Reader::BoolOf(const Node* mapping, std::string_view key, bool fallback) {
  const Node* node = FindIn(mapping, key);
  if (node == nullptr) return fallback;
  return ReadBool(*node, key);
}

}  // namespace ptpkg::recipe
