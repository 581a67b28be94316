// YAML to the recipe as written. Layer: recipe.
//
// Errors in an expression must point at its own line and column. The YAML parser only has the place of the
// whole scalar, whose text has lost indentation and folding. SourceText searches the parts of a scalar in the
// file, in their order. Within a block scalar it may go on to later lines, else it stays on one line. If a
// part isn't found, because of escapes or folding, all later parts get the place of the whole scalar: a
// coarse place is better than a wrong one.
//
// Templates are split here, once, and evaluated per variant. `}}` inside quotes or mappings doesn't end an
// expression. "{{ x }}" without the dollar sign is old conda-build syntax, and would pass as text. It is
// refused where x is a name of the context, except in texts of several lines, which may be templates of
// another program.
//
// Any list item can be conditional, so lists keep their branches until a variant decides.

#include "recipe/document/document.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "recipe/document/schema.h"
#include "support/limits.h"
#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

/// Finds the parts of a scalar in the file.
class SourceText {
 public:
  explicit SourceText(std::string_view source) {
    constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
    if (source.starts_with(kByteOrderMark)) source.remove_prefix(kByteOrderMark.size());
    for (std::string& line : SplitLines(source)) lines_.emplace_back(std::move(line));
  }

  /// Position where the search in one scalar continues. Callers search its parts in their order.
  struct Cursor {
    std::size_t line = 0;  ///< Counts from 0.
    std::size_t column = 0;
    bool lost = false;  ///< A part was not found, so that what follows cannot be placed either.
  };

  [[nodiscard]] static Cursor Begin(const SourceSpan& span) {
    const auto first = static_cast<std::size_t>(span.line - 1);
    if (IsBlock(span)) return {.line = first + 1, .column = 0};
    return {.line = first, .column = static_cast<std::size_t>(span.column - 1)};
  }

  /// The place of `part` in the scalar at `span`. Quoted text with escapes and folded lines cannot be found;
  /// then the place is all of `span`.
  [[nodiscard]] ExpressionPlace Find(const SourceSpan& span, std::string_view part, Cursor& cursor) const {
    const auto first = static_cast<std::size_t>(span.line - 1);
    for (; !cursor.lost && cursor.line < lines_.size(); ++cursor.line, cursor.column = 0) {
      const bool block = IsBlock(span);
      if (block && !InBlock(first, cursor.line)) break;
      // Not beyond the scalar: the same text may follow in a comment or another value.
      const std::string_view text = lines_[cursor.line].view().substr(0, block ? SIZE_MAX : EndOf(span));
      const std::size_t at = text.find(part, cursor.column);
      if (at != std::string::npos) {
        cursor.column = at + part.size();
        return Place(span, cursor.line, at, part.size());
      }
      if (!block) break;
    }
    cursor.lost = true;
    return {span, false};
  }

 private:
  static bool IsBlock(const SourceSpan& span) {
    const auto column = static_cast<std::size_t>(span.column - 1);
    const std::string_view line = span.excerpt.view();
    return column < line.size() && (line[column] == '|' || line[column] == '>');
  }

  /// Behind the last column of a scalar on one line: another scalar may hold the same text. The parser
  /// measures no further than 4096 bytes.
  static std::size_t EndOf(const SourceSpan& span) {
    constexpr int kMeasured = 4096;
    return span.length < kMeasured ? static_cast<std::size_t>(span.column - 1 + span.length) : SIZE_MAX;
  }

  /// Line `i` still belongs to the block scalar that begins on line `first`: it is empty or indented
  /// deeper than that line.
  [[nodiscard]] bool InBlock(std::size_t first, std::size_t i) const {
    const std::size_t indent = lines_[i].view().find_first_not_of(' ');
    return indent == std::string::npos || indent > lines_[first].view().find_first_not_of(' ');
  }

  [[nodiscard]] ExpressionPlace Place(const SourceSpan& span, std::size_t line, std::size_t column,
                                      std::size_t length) const {
    SourceSpan found;
    found.file = span.file;
    found.line = static_cast<int>(line) + 1;
    found.column = static_cast<int>(column) + 1;
    found.length = std::max(1, static_cast<int>(length));
    found.excerpt = lines_[line];
    return {std::move(found), true};
  }

  std::vector<SharedText> lines_;
};

/// End of the expression that begins at `pos`: the index of its "}}", not counting text in quotes and the
/// ends of mappings in it.
std::size_t FindExpressionEnd(std::string_view text, std::size_t pos) {
  char quote = '\0';
  std::size_t open_mappings = 0;
  for (; pos < text.size(); ++pos) {
    const char c = text[pos];
    if (quote != '\0') {
      // An escaped quote doesn't end the text.
      if (c == '\\') {
        ++pos;
      } else if (c == quote) {
        quote = '\0';
      }
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '{') {
      ++open_mappings;
    } else if (c == '}' && open_mappings > 0) {
      --open_mappings;
    } else if (text.substr(pos).starts_with("}}")) {
      return pos;
    }
  }
  return std::string_view::npos;
}

class NodeParser {
 public:
  /// `names`: of the recipe's context.
  NodeParser(std::string_view source, std::set<std::string> names)
      : source_(source), names_(std::move(names)) {}

  Result<Node> Parse(const YamlNode& yaml) {
    Node node;
    node.kind = yaml.kind;
    node.span = yaml.span;
    node.raw = yaml.scalar;
    node.plain = yaml.plain;
    if (yaml.kind == YamlNode::Kind::kScalar) {
      PTPKG_TRY(node.text, ParseTemplate(yaml));
    }
    for (const YamlNode& item : yaml.items) {
      PTPKG_TRY(Item parsed, ParseItem(item));
      node.items.push_back(std::move(parsed));
    }
    for (const YamlEntry& entry : yaml.entries) {
      PTPKG_TRY(Node value, Parse(entry.value));
      node.entries.push_back({entry.key, entry.key_span, std::move(value)});
    }
    return node;
  }

 private:
  Result<Template> ParseTemplate(const YamlNode& yaml) const {
    Template result;
    const std::string_view text = yaml.scalar;
    std::size_t pos = 0;
    SourceText::Cursor cursor = SourceText::Begin(yaml.span);
    while (pos < text.size()) {
      const std::size_t open = text.find("${{", pos);
      PTPKG_CHECK(CheckBraces(yaml, text.substr(pos, open - pos)));
      if (open != pos) result.pieces.emplace_back(std::string(text.substr(pos, open - pos)));
      if (open == std::string_view::npos) break;
      const std::size_t close = FindExpressionEnd(text, open + 3);
      if (close == std::string_view::npos) {
        return Error(ErrorCode::kInvalidInput, "'${{' without '}}'")
            .At(source_.Find(yaml.span, "${{", cursor).span);
      }
      PTPKG_TRY(Expression expression, ParseInside(yaml, text.substr(open, close + 2 - open), cursor));
      result.pieces.emplace_back(std::move(expression));
      pos = close + 2;
    }
    return result;
  }

  /// `literal` is not evaluated. "{{ version }}" in it is of meta.yaml, unless in a text of several lines,
  /// which may be a template of the package's own.
  Result<void> CheckBraces(const YamlNode& yaml, std::string_view literal) const {
    if (yaml.scalar.find('\n') != std::string::npos) return Ok();
    for (std::size_t open = literal.find("{{"); open != std::string_view::npos;
         open = literal.find("{{", open + 2)) {
      const std::size_t close = literal.find("}}", open);
      if (close == std::string_view::npos) break;
      const std::string name(Trim(literal.substr(open + 2, close - open - 2)));
      if (!names_.contains(name)) continue;
      const std::string_view whole = literal.substr(open, close + 2 - open);
      SourceText::Cursor cursor = SourceText::Begin(yaml.span);
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not evaluated", whole))
          .At(source_.Find(yaml.span, whole, cursor).span)
          .WithHint(fmt::format("an expression begins with a dollar sign: write '${}'", whole));
    }
    return Ok();
  }

  /// `whole` is "${{ expression }}".
  Result<Expression> ParseInside(const YamlNode& yaml, std::string_view whole,
                                 SourceText::Cursor& cursor) const {
    ExpressionPlace place = source_.Find(yaml.span, whole, cursor);
    std::string_view inside = whole.substr(3, whole.size() - 5);
    if (place.exact) {
      // The span covers the expression alone, without "${{" and the blanks behind it.
      const std::size_t blanks = std::min(inside.find_first_not_of(' '), inside.size());
      inside = inside.substr(blanks);
      place.span.column += static_cast<int>(3 + blanks);
      place.span.length = std::max(1, static_cast<int>(Trim(inside).size()));
    }
    return Expression::Parse(inside, std::move(place));
  }

  Result<Item> ParseItem(const YamlNode& yaml) {
    const bool conditional = std::any_of(yaml.entries.begin(), yaml.entries.end(),
                                         [](const YamlEntry& entry) { return entry.key == "if"; });
    if (!conditional) {
      PTPKG_TRY(Node node, Parse(yaml));
      return Item{std::move(node)};
    }
    for (const YamlEntry& entry : yaml.entries) {
      if (entry.key == "if" || entry.key == "then" || entry.key == "else") continue;
      return Error(ErrorCode::kInvalidInput, fmt::format("unknown key '{}' beside 'if'", entry.key))
          .At(entry.key_span)
          .WithHint(
              "a conditional item has the keys 'if', 'then' and 'else'; put everything else under 'then'");
    }
    const YamlNode& condition = *yaml.Find("if");
    const YamlNode* then = yaml.Find("then");
    if (condition.kind != YamlNode::Kind::kScalar) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("expected a condition after 'if', found {}", condition.KindName()))
          .At(condition.span);
    }
    if (then == nullptr) {
      return Error(ErrorCode::kInvalidInput, "'if' without 'then'").At(yaml.span);
    }
    PTPKG_TRY(Expression expression, ParseBare(condition));
    Conditional item{std::move(expression), {}, {}};
    PTPKG_TRY(item.then_items, ParseBranch(*then));
    if (const YamlNode* otherwise = yaml.Find("else")) {
      PTPKG_TRY(item.else_items, ParseBranch(*otherwise));
    }
    return Item{std::move(item)};
  }

  Result<std::vector<Item>> ParseBranch(const YamlNode& yaml) {
    std::vector<Item> items;
    if (yaml.kind == YamlNode::Kind::kNull) return items;
    if (yaml.kind != YamlNode::Kind::kSequence) {
      PTPKG_TRY(Item item, ParseItem(yaml));
      items.push_back(std::move(item));
      return items;
    }
    for (const YamlNode& child : yaml.items) {
      PTPKG_TRY(Item item, ParseItem(child));
      items.push_back(std::move(item));
    }
    return items;
  }

  [[nodiscard]] Result<Expression> ParseBare(const YamlNode& yaml) const {
    SourceText::Cursor cursor = SourceText::Begin(yaml.span);
    if (yaml.scalar.find("${{") != std::string::npos) {
      return Error(ErrorCode::kInvalidInput, "a condition is written without '${{' and '}}'")
          .At(source_.Find(yaml.span, "${{", cursor).span);
    }
    ExpressionPlace place = source_.Find(yaml.span, yaml.scalar, cursor);
    return Expression::Parse(yaml.scalar, std::move(place));
  }

  SourceText source_;
  std::set<std::string> names_;
};

}  // namespace

bool Template::IsLiteral() const {
  return std::all_of(pieces.begin(), pieces.end(),
                     [](const auto& piece) { return std::holds_alternative<std::string>(piece); });
}

const Expression* Template::SoleExpression() const {
  return pieces.size() == 1 ? std::get_if<Expression>(&pieces.front()) : nullptr;
}

const Node* Node::Find(std::string_view key) const {
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const Entry& e) { return e.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

const char* Node::KindName() const {
  YamlNode yaml;
  yaml.kind = kind;
  return yaml.KindName();
}

Result<Node> ParseNode(const YamlNode& yaml, std::string_view source) {
  std::set<std::string> names;
  if (const YamlNode* context = yaml.Find("context")) {
    for (const YamlEntry& entry : context->entries) names.insert(entry.key);
  }
  return NodeParser(source, std::move(names)).Parse(yaml);
}

Result<Expression> ParseBareExpression(const Node& node) {
  if (const Expression* sole = node.text.SoleExpression()) return *sole;
  const std::string_view line = node.span.excerpt.view();
  const std::size_t begin = static_cast<std::size_t>(node.span.column - 1) + (node.plain ? 0 : 1);
  const bool on_line = begin <= line.size() && line.substr(begin).starts_with(node.raw);
  ExpressionPlace place{node.span, on_line};
  if (on_line && !node.plain) ++place.span.column;
  return Expression::Parse(node.raw, std::move(place));
}

Result<Document> ParseDocument(std::string_view text, const AbsPath& path) {
  PTPKG_TRY(const YamlNode yaml, ParseYaml(text, path.str()));
  if (yaml.kind != YamlNode::Kind::kMapping) {
    return Error(ErrorCode::kInvalidInput, fmt::format("a recipe is a mapping, found {}", yaml.KindName()))
        .At(yaml.span)
        .WithHint(
            "begin with 'package:', 'name:' and 'version:'; 'ptpkg explain recipe-reference' shows a whole "
            "recipe");
  }
  PTPKG_CHECK(CheckKeys(yaml));
  Document document{path, {}};
  PTPKG_TRY(document.root, ParseNode(yaml, text));
  return document;
}

Result<Document> LoadDocument(Fs& fs, const AbsPath& path) {
  if (path.Name() == "meta.yaml") {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}' is a recipe in the old conda-build format", path.str()))
        .WithHint("convert it with 'rattler-build migrate-recipe', and name the result recipe.yaml");
  }
  PTPKG_TRY(const std::string text, ReadFile(fs, path, limits::kRecipe));
  return ParseDocument(text, path);
}

}  // namespace ptpkg::recipe
