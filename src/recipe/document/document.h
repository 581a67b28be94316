#pragma once
// Parsed recipe with source positions and unevaluated expressions. Layer: recipe. Format: conda recipe v1
// (CEP 13, CEP 14), the subset of docs/recipe-reference.md.

#include <string>
#include <variant>
#include <vector>

#include "recipe/expression/expression.h"
#include "support/files/fs.h"
#include "support/text/yaml.h"

namespace ptpkg::recipe {

/// Text with ${{ }} in it, cut into pieces: literal text and expressions in turn.
struct Template {
  std::vector<std::variant<std::string, Expression>> pieces;

  [[nodiscard]] bool IsLiteral() const;
  /// The one expression that is all of the text, or null.
  [[nodiscard]] const Expression* SoleExpression() const;
};

struct Item;
struct Entry;

/// A node of the recipe.
struct Node {
  using Kind = YamlNode::Kind;

  Kind kind = Kind::kNull;
  SourceSpan span;
  std::string raw;             ///< kScalar: as written, after unquoting.
  bool plain = false;          ///< kScalar: written without quotes.
  Template text;               ///< kScalar
  std::vector<Item> items;     ///< kSequence
  std::vector<Entry> entries;  ///< kMapping, in written order

  [[nodiscard]] const Node* Find(std::string_view key) const;
  [[nodiscard]] const char* KindName() const;
};

/// `if: condition`, `then: …`, `else: …` as an item of a list.
struct Conditional {
  Expression condition;
  std::vector<Item> then_items;
  std::vector<Item> else_items;
};

struct Item {
  std::variant<Node, Conditional> value;
};

struct Entry {
  std::string key;
  SourceSpan key_span;
  Node value;
};

struct Document {
  AbsPath path;
  Node root;  ///< kMapping; every key is known and every value has the kind that the format asks for.
};

/// A node of a YAML file with its templates parsed. The bare expressions of `if:` become Conditional.
/// `source` is the whole text of the file: expressions inside block scalars are found in it.
/// Errors: kInvalidInput with a span: syntax of expressions, `${{` without `}}`, an `if` item with
/// other keys than then and else, or without then.
Result<Node> ParseNode(const YamlNode& yaml, std::string_view source);

/// Parses the bare expression in `node` (of `skip:`), or the sole template of it.
Result<Expression> ParseBareExpression(const Node& node);

/// Errors: kInvalidInput and kUnsupported with a span: YAML syntax, unknown keys, values of the wrong
/// kind, syntax of expressions. `path` is used in messages and kept.
Result<Document> ParseDocument(std::string_view text, const AbsPath& path);

/// Reads `path`. Errors: as ParseDocument, kNotFound, kUnsupported for a meta.yaml, kInvalidInput when larger
/// than 1 MiB.
Result<Document> LoadDocument(Fs& fs, const AbsPath& path);

}  // namespace ptpkg::recipe
