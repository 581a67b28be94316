// Recursive descent over the tokens of an expression. Layer: recipe.
// The grammar is Jinja's (jinja2/parser.py). Operators from the weakest to the strongest:
//   `if` … `else`, `or`, `and`, `not`, comparisons, `+ -`, `~`, `* / // %`, `**`, filters and `is`, signs,
//   `.` `[]` `()`
// So "-x | abs" is the filter of -x, and "a + b | f" filters b only.
// Names of functions, filters, tests and methods are checked here and not at the evaluation: a misspelt name
// is found also in a branch that no variant takes.
// Invariant: the last token is kEnd and is never taken, so Peek() and the token behind a name always exist.

#include "recipe/expression/expression_parser.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <span>

#include "recipe/expression/expression_lexer.h"
#include "recipe/expression/functions.h"
#include "recipe/expression/value_tests.h"
#include "support/limits.h"
#include "support/text/text.h"

namespace ptpkg::recipe {
namespace {

using Kind = ExpressionNode::Kind;

// size-limit: 450 lines, because each method is one rule of the grammar, and all move the same cursor
class Parser {
 public:
  Parser(std::vector<Token> tokens, const ExpressionPlace& place)
      : tokens_(std::move(tokens)), place_(place) {}

  Result<ExpressionNode> Run() {
    if (Peek().kind == Token::Kind::kEnd) {
      return Error(ErrorCode::kInvalidInput, "an expression is missing").At(place_.Part(0, 1));
    }
    PTPKG_TRY(ExpressionNode root, ParseConditional());
    if (Peek().kind != Token::Kind::kEnd) return Unexpected("an operator or the end");
    PTPKG_CHECK(CheckHeight(root));
    return root;
  }

 private:
  using ParseFunction = Result<ExpressionNode> (Parser::*)();

  [[nodiscard]] const Token& Peek() const { return tokens_[pos_]; }
  Token Take() { return tokens_[pos_ + 1 < tokens_.size() ? pos_++ : pos_]; }
  bool TakeIf(std::string_view symbol) {
    if (!Peek().Is(symbol)) return false;
    ++pos_;
    return true;
  }
  bool TakeWord(std::string_view word) {
    if (!Peek().IsWord(word)) return false;
    ++pos_;
    return true;
  }

  [[nodiscard]] Error Unexpected(std::string_view expected) const {
    const Token& token = Peek();
    const std::string found =
        token.kind == Token::Kind::kEnd ? "the end of the expression" : fmt::format("'{}'", token.text);
    return Error(ErrorCode::kInvalidInput, fmt::format("expected {}, found {}", expected, found))
        .At(place_.Part(token.offset, token.length));
  }

  static ExpressionNode Node(Kind kind, const Token& token, std::vector<ExpressionNode> children) {
    ExpressionNode node;
    node.kind = kind;
    node.offset = token.offset;
    node.length = token.length;
    node.name = token.text;
    node.children = std::move(children);
    return node;
  }

  /// Evaluation goes down the tree with the stack, and "1+1+…" is as high as it is long.
  [[nodiscard]] Result<void> CheckHeight(const ExpressionNode& root) const {
    // Level by level, since a recursion would meet the depth that this is to refuse.
    std::vector<const ExpressionNode*> level = {&root};
    for (std::size_t height = 1; !level.empty(); ++height) {
      if (height > limits::kExpressionHeight) {
        return Error(ErrorCode::kInvalidInput, fmt::format("expression of more than {} operations in a chain",
                                                           limits::kExpressionHeight - 1))
            .At(place_.Part(level.front()->offset, level.front()->length));
      }
      std::vector<const ExpressionNode*> below;
      for (const ExpressionNode* node : level) {
        for (const ExpressionNode& child : node->children) below.push_back(&child);
      }
      level = std::move(below);
    }
    return Ok();
  }

  Result<ExpressionNode> ParseConditional() {
    // Everything nested passes through here, so this bounds the recursion of the parser.
    if (++depth_ > limits::kExpressionDepth) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("expression nested deeper than {} levels", limits::kExpressionDepth))
          .At(place_.Part(Peek().offset, Peek().length));
    }
    PTPKG_TRY(ExpressionNode node, ParseOr());
    while (Peek().IsWord("if")) {
      const Token word = Take();
      PTPKG_TRY(ExpressionNode condition, ParseOr());
      std::vector<ExpressionNode> children;
      children.push_back(std::move(node));
      children.push_back(std::move(condition));
      if (TakeWord("else")) {
        // To the right: "a if x else b if y else c" has the second choice in its `else`.
        PTPKG_TRY(ExpressionNode otherwise, ParseConditional());
        children.push_back(std::move(otherwise));
      }
      node = Node(Kind::kConditional, word, std::move(children));
    }
    --depth_;
    return node;
  }

  Result<ExpressionNode> ParseOr() {
    PTPKG_TRY(ExpressionNode left, ParseAnd());
    while (Peek().IsWord("or")) {
      const Token word = Take();
      PTPKG_TRY(ExpressionNode right, ParseAnd());
      left = Node(Kind::kOr, word, Pair(std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExpressionNode> ParseAnd() {
    PTPKG_TRY(ExpressionNode left, ParseNot());
    while (Peek().IsWord("and")) {
      const Token word = Take();
      PTPKG_TRY(ExpressionNode right, ParseNot());
      left = Node(Kind::kAnd, word, Pair(std::move(left), std::move(right)));
    }
    return left;
  }

  Result<ExpressionNode> ParseNot() {
    std::vector<Token> words;
    // A loop in place of recursion, here and for signs: "not not …" must not use the stack.
    while (Peek().IsWord("not")) words.push_back(Take());
    PTPKG_TRY(ExpressionNode node, ParseComparison());
    for (auto word = words.rbegin(); word != words.rend(); ++word)
      node = Wrap(Kind::kNot, *word, std::move(node));
    return node;
  }

  /// The operator at hand if it compares: "==", "in", "notin" …; "" if it does not.
  [[nodiscard]] std::string ComparisonOperator() const {
    static constexpr std::string_view kComparisons[] = {"==", "!=", "<=", ">=", "<", ">"};
    for (const std::string_view symbol : kComparisons) {
      if (Peek().Is(symbol)) return std::string(symbol);
    }
    if (Peek().IsWord("in")) return "in";
    return Peek().IsWord("not") && tokens_[pos_ + 1].IsWord("in") ? "notin" : "";
  }

  Result<ExpressionNode> ParseComparison() {
    PTPKG_TRY(ExpressionNode first, ParseSum());
    std::string op = ComparisonOperator();
    if (op.empty()) return first;
    ExpressionNode chain = Node(Kind::kComparisons, Peek(), {});
    chain.children.push_back(std::move(first));
    chain.keywords.emplace_back();
    for (; !op.empty(); op = ComparisonOperator()) {
      pos_ += op == "notin" ? 2U : 1U;
      PTPKG_TRY(ExpressionNode operand, ParseSum());
      chain.children.push_back(std::move(operand));
      chain.keywords.push_back(std::move(op));
    }
    return chain;
  }

  Result<ExpressionNode> ParseSum() { return ParseLeftToRight({"+", "-"}, &Parser::ParseConcatenation); }
  Result<ExpressionNode> ParseConcatenation() { return ParseLeftToRight({"~"}, &Parser::ParseProduct); }
  Result<ExpressionNode> ParseProduct() {
    return ParseLeftToRight({"*", "/", "//", "%"}, &Parser::ParsePower);
  }

  Result<ExpressionNode> ParseLeftToRight(std::initializer_list<std::string_view> symbols,
                                          ParseFunction operand) {
    PTPKG_TRY(ExpressionNode left, (this->*operand)());
    while (std::any_of(symbols.begin(), symbols.end(), [&](std::string_view s) { return Peek().Is(s); })) {
      const Token op = Take();
      PTPKG_TRY(ExpressionNode right, (this->*operand)());
      left = Node(Kind::kBinary, op, Pair(std::move(left), std::move(right)));
    }
    return left;
  }

  // Left to right too: that is what Jinja does with a chain of **.
  Result<ExpressionNode> ParsePower() { return ParseLeftToRight({"**"}, &Parser::ParseUnary); }

  Result<ExpressionNode> ParseUnary() {
    std::vector<Token> signs;
    while (Peek().Is("-") || Peek().Is("+")) signs.push_back(Take());
    PTPKG_TRY(ExpressionNode node, ParsePrimary());
    PTPKG_CHECK(ParsePostfix(node));
    for (auto sign = signs.rbegin(); sign != signs.rend(); ++sign) {
      if (sign->Is("-")) node = Wrap(Kind::kNegate, *sign, std::move(node));
    }
    while (Peek().Is("|") || Peek().IsWord("is")) {
      PTPKG_CHECK(Peek().Is("|") ? ParseFilter(node) : ParseTest(node));
    }
    return node;
  }

  Result<ExpressionNode> ParsePrimary() {
    switch (Peek().kind) {
      case Token::Kind::kInteger:
      case Token::Kind::kReal:
        return ParseNumber();
      case Token::Kind::kText: {
        const Token token = Take();
        ExpressionNode node = Node(Kind::kLiteral, token, {});
        node.value = Value(token.text);
        return node;
      }
      case Token::Kind::kName:
        return ParseNameOrLiteral();
      case Token::Kind::kSymbol:
        if (Peek().Is("[")) return ParseList();
        if (Peek().Is("(")) return ParseParentheses();
        if (Peek().Is("{")) return ParseMapping();
        break;
      case Token::Kind::kEnd:
        break;
    }
    return Unexpected("a value");
  }

  Result<ExpressionNode> ParseNumber() {
    const Token token = Take();
    ExpressionNode node = Node(Kind::kLiteral, token, {});
    if (token.kind == Token::Kind::kReal) {
      double real = 0;
      // Unlike strtod, from_chars doesn't depend on the locale.
      std::from_chars(token.text.data(), token.text.data() + token.text.size(), real);
      node.value = Value(real);
      return node;
    }
    const std::optional<std::int64_t> integer = ParseInteger(token.text);
    if (!integer) {
      return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is too large for a number", token.text))
          .At(place_.Part(token.offset, token.length));
    }
    node.value = Value(*integer);
    return node;
  }

  Result<ExpressionNode> ParseNameOrLiteral() {
    static constexpr std::string_view kReserved[] = {"and", "or", "not", "in", "if", "else", "is"};
    if (std::any_of(std::begin(kReserved), std::end(kReserved),
                    [&](auto word) { return Peek().IsWord(word); })) {
      return Unexpected("a value");
    }
    const Token token = Take();
    if (token.text == "true" || token.text == "True" || token.text == "false" || token.text == "False") {
      ExpressionNode node = Node(Kind::kLiteral, token, {});
      node.value = Value(token.text == "true" || token.text == "True");
      return node;
    }
    if (token.text == "none" || token.text == "None") return Node(Kind::kLiteral, token, {});
    if (Peek().Is("(")) return ParseCall(token);
    // env.get(…) and env.exists(…) are the only functions with a dot.
    if (token.text == "env" && Peek().Is(".")) {
      ++pos_;
      Token name = Take();
      name.text = "env." + name.text;
      name.length += name.offset - token.offset;
      name.offset = token.offset;
      if (!Peek().Is("(")) return Unexpected("'(' after '" + name.text + "'");
      return ParseCall(name);
    }
    return Node(Kind::kName, token, {});
  }

  Result<ExpressionNode> ParseList() {
    const Token open = Take();
    return ParseItems(open, {}, "]");
  }

  /// The rest of a list up to `close`, behind the items that were read.
  Result<ExpressionNode> ParseItems(const Token& open, std::vector<ExpressionNode> items,
                                    std::string_view close) {
    // A comma may follow the last item, as in Python.
    while (!Peek().Is(close)) {
      PTPKG_TRY(ExpressionNode item, ParseConditional());
      items.push_back(std::move(item));
      if (!TakeIf(",")) break;
    }
    if (!TakeIf(close)) return Unexpected(fmt::format("',' or '{}'", close));
    return Node(Kind::kList, open, std::move(items));
  }

  /// (a) is a; (), (a,) and (a, b) are lists.
  Result<ExpressionNode> ParseParentheses() {
    const Token open = Take();
    if (Peek().Is(")")) return ParseItems(open, {}, ")");
    PTPKG_TRY(ExpressionNode node, ParseConditional());
    if (TakeIf(")")) return node;
    if (!TakeIf(",")) return Unexpected("')'");
    std::vector<ExpressionNode> items;
    items.push_back(std::move(node));
    return ParseItems(open, std::move(items), ")");
  }

  Result<ExpressionNode> ParseMapping() {
    const Token open = Take();
    std::vector<ExpressionNode> children;
    while (!Peek().Is("}")) {
      PTPKG_TRY(ExpressionNode key, ParseConditional());
      if (!TakeIf(":")) return Unexpected("':' behind the key");
      PTPKG_TRY(ExpressionNode value, ParseConditional());
      children.push_back(std::move(key));
      children.push_back(std::move(value));
      if (!TakeIf(",")) break;
    }
    if (!TakeIf("}")) return Unexpected("',' or '}'");
    return Node(Kind::kMapping, open, std::move(children));
  }

  Result<ExpressionNode> ParseCall(const Token& name) {
    PTPKG_CHECK(CheckKnown("function", name, FunctionNames()));
    ExpressionNode node = Node(Kind::kCall, name, {});
    PTPKG_CHECK(ParseArguments(node));
    return node;
  }

  /// At '(': appends the arguments to `node`.
  Result<void> ParseArguments(ExpressionNode& node) {
    node.keywords.resize(node.children.size());
    ++pos_;
    while (!Peek().Is(")")) {
      std::string keyword;
      if (Peek().kind == Token::Kind::kName && tokens_[pos_ + 1].Is("=")) {
        keyword = Take().text;
        ++pos_;
      } else if (!node.keywords.empty() && !node.keywords.back().empty()) {
        return Unexpected("a named argument");
      }
      PTPKG_TRY(ExpressionNode argument, ParseConditional());
      node.children.push_back(std::move(argument));
      node.keywords.push_back(std::move(keyword));
      if (!TakeIf(",")) break;
    }
    if (!TakeIf(")")) return Unexpected("',' or ')'");
    return Ok();
  }

  Result<void> ParsePostfix(ExpressionNode& node) {
    while (true) {
      if (Peek().Is("[")) {
        PTPKG_TRY(node, ParseSubscript(std::move(node)));
      } else if (TakeIf(".")) {
        PTPKG_CHECK(ParseMethod(node));
      } else {
        return Ok();
      }
    }
  }

  /// At '[': object[index], or object[begin:end:step] with any part left out.
  Result<ExpressionNode> ParseSubscript(ExpressionNode object) {
    const Token open = Take();
    std::vector<ExpressionNode> children;
    children.push_back(std::move(object));
    bool slice = false;
    while (children.size() < 4 && !Peek().Is("]")) {
      if (Peek().Is(":")) {
        children.push_back(Node(Kind::kLiteral, open, {}));
      } else {
        PTPKG_TRY(ExpressionNode part, ParseConditional());
        children.push_back(std::move(part));
      }
      if (!TakeIf(":")) break;
      slice = true;
    }
    if (!TakeIf("]")) return Unexpected("']'");
    if (children.size() == 1) return Unexpected("an index");
    // Parts that are left out become none, so that a slice always has four children.
    while (slice && children.size() < 4) children.push_back(Node(Kind::kLiteral, open, {}));
    return Node(slice ? Kind::kSlice : Kind::kIndex, open, std::move(children));
  }

  /// At `is`: `value is [not] name`, with an argument in parentheses or, if it is one value, without.
  Result<void> ParseTest(ExpressionNode& node) {
    ++pos_;
    const Token negation = Peek();
    const bool negated = TakeWord("not");
    if (Peek().kind != Token::Kind::kName) return Unexpected("the name of a test");
    const Token name = Take();
    PTPKG_CHECK(CheckKnown("test", name, ValueTestNames()));
    node = Wrap(Kind::kTest, name, std::move(node));
    const std::size_t wanted = ValueTestArguments(name.text);
    if (Peek().Is("(")) {
      PTPKG_CHECK(ParseArguments(node));
    } else if (wanted > 0) {
      // As in Jinja, only one value: "x is eq 1 + 2" is "(x is eq 1) + 2".
      PTPKG_TRY(ExpressionNode argument, ParsePrimary());
      PTPKG_CHECK(ParsePostfix(argument));
      node.children.push_back(std::move(argument));
    }
    const bool named =
        std::ranges::any_of(node.keywords, [](const std::string& word) { return !word.empty(); });
    if (node.children.size() - 1 != wanted || named) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("'is {}' takes {}", name.text,
                               wanted == 0 ? "no argument" : "one argument without a name"))
          .At(place_.Part(name.offset, name.length));
    }
    if (negated) node = Wrap(Kind::kNot, negation, std::move(node));
    return Ok();
  }

  Result<void> ParseMethod(ExpressionNode& node) {
    if (Peek().kind != Token::Kind::kName) return Unexpected("a key or a method name");
    const Token name = Take();
    if (!Peek().Is("(")) {
      node = Wrap(Kind::kAttribute, name, std::move(node));
      return Ok();
    }
    const std::vector<std::string> methods = MethodNames();
    if (std::find(methods.begin(), methods.end(), name.text) == methods.end()) {
      return Error(ErrorCode::kInvalidInput, fmt::format("values have no '.{}()'", name.text))
          .At(place_.Part(name.offset, name.length))
          .WithHint(
              fmt::format("the methods are {}; everything else is a filter, as in ${{{{ name | lower }}}}",
                          Join(methods, ", ")));
    }
    node = Wrap(Kind::kMethod, name, std::move(node));
    return ParseArguments(node);
  }

  Result<void> ParseFilter(ExpressionNode& node) {
    ++pos_;
    if (Peek().kind != Token::Kind::kName) return Unexpected("a filter name");
    const Token name = Take();
    PTPKG_CHECK(CheckKnown("filter", name, FilterNames()));
    node = Wrap(Kind::kFilter, name, std::move(node));
    if (Peek().Is("(")) return ParseArguments(node);
    node.keywords.resize(node.children.size());
    return Ok();
  }

  [[nodiscard]] Result<void> CheckKnown(std::string_view what, const Token& name,
                                        const std::vector<std::string>& known) const {
    if (std::find(known.begin(), known.end(), name.text) != known.end()) return Ok();
    Error error = Error(ErrorCode::kInvalidInput, fmt::format("unknown {} '{}'", what, name.text))
                      .At(place_.Part(name.offset, name.length));
    if (const std::optional<std::string> nearest = NearestMatch(name.text, known)) {
      return std::move(error).WithHint(fmt::format("did you mean '{}'?", *nearest));
    }
    return std::move(error).WithHint(fmt::format("known are {}", Join(known, ", ")));
  }

  static std::vector<ExpressionNode> Pair(ExpressionNode left, ExpressionNode right) {
    std::vector<ExpressionNode> children;
    children.push_back(std::move(left));
    children.push_back(std::move(right));
    return children;
  }

  static ExpressionNode Wrap(Kind kind, const Token& token, ExpressionNode child) {
    std::vector<ExpressionNode> children;
    children.push_back(std::move(child));
    return Node(kind, token, std::move(children));
  }

  std::vector<Token> tokens_;
  const ExpressionPlace& place_;
  std::size_t pos_ = 0;
  std::size_t depth_ = 0;
};

}  // namespace

Result<ExpressionNode> ParseExpression(std::string_view text, const ExpressionPlace& place) {
  // A chain of operators becomes a tree as deep as the chain is long, so the length bounds the stack.
  if (text.size() > limits::kExpression) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("expression longer than {} bytes", limits::kExpression))
        .At(place.Part(0, 1))
        .WithHint("split it into names under 'context'");
  }
  PTPKG_TRY(std::vector<Token> tokens, Tokenize(text, place));
  return Parser(std::move(tokens), place).Run();
}

}  // namespace ptpkg::recipe
