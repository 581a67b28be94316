// The one place that knows yaml-cpp. Layer: support.
// yaml-cpp's event parser is used, not its Node: only events carry the mark and the quoting of every
// scalar, and duplicate keys are still two events.

#include "support/text/yaml.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>
#include <sstream>
#include <utility>
#include <yaml-cpp/anchor.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "support/assert.h"
#include "support/limits.h"
#include "support/text/text.h"
#include "support/text/utf8.h"

namespace ptpkg {
namespace {

/// Carries an Error through yaml-cpp's parser, which knows no other way to stop. Never leaves this file.
struct Stop {
  Error error;
};

/// The text cut into lines, and spans made from positions in it.
class Lines {
 public:
  Lines(std::string_view text, const std::string& file) : file_(file) {
    for (std::string& line : SplitLines(text)) lines_.emplace_back(std::move(line));
  }

  /// `line` and `column` count from 0, as yaml-cpp's marks do; out-of-range values are clamped, since
  /// a mark may lie one past the last line.
  [[nodiscard]] SourceSpan At(int line, int column, std::size_t length) const {
    SourceSpan span;
    span.file = file_;
    if (lines_.empty()) return span;
    const int last_line = static_cast<int>(lines_.size()) - 1;
    if (line > last_line) {
      line = last_line;
      column = static_cast<int>(lines_[static_cast<std::size_t>(last_line)].size());
    }
    span.line = std::max(line, 0) + 1;
    span.excerpt = lines_[static_cast<std::size_t>(span.line - 1)];
    const auto width = static_cast<int>(span.excerpt.size());
    const int start = std::clamp(column, 0, width);
    span.column = start + 1;
    // The bound keeps the conversion to int safe for scalars of any length.
    span.length = std::max(1, std::min(width - start, static_cast<int>(std::min<std::size_t>(length, 4096))));
    return span;
  }

  /// The rest of the mark's line, from the mark on.
  [[nodiscard]] std::string_view Rest(const YAML::Mark& mark) const {
    if (mark.line < 0 || static_cast<std::size_t>(mark.line) >= lines_.size()) return {};
    const std::string_view line = lines_[static_cast<std::size_t>(mark.line)].view();
    return line.substr(std::min(line.size(), static_cast<std::size_t>(std::max(mark.column, 0))));
  }

  /// False for a scalar that begins with a quote and has no closing one before the end of the text.
  /// yaml-cpp 0.7 takes that for a scalar that ends there.
  [[nodiscard]] bool QuotesClosed(const YAML::Mark& mark) const {
    std::string_view rest = Rest(mark);
    if (rest.empty() || (rest.front() != '"' && rest.front() != '\'')) return true;
    const char quote = rest.front();
    rest.remove_prefix(1);
    for (auto line = static_cast<std::size_t>(mark.line);;) {
      if (ClosingQuote(rest, quote) < rest.size()) return true;
      if (++line >= lines_.size()) return false;
      rest = lines_[line].view();
    }
  }

  /// The span of a scalar: to its closing quote, or of a plain one the part on the first line.
  [[nodiscard]] SourceSpan OfScalar(const YAML::Mark& mark, std::string_view value, bool plain) const {
    const std::string_view rest = Rest(mark);
    std::size_t length = 1;
    if (plain) {
      length = rest.starts_with(value) ? value.size() : Trim(rest.substr(0, rest.find(" #"))).size();
    } else if (!rest.empty() && (rest.front() == '"' || rest.front() == '\'')) {
      length = std::min(rest.size(), ClosingQuote(rest.substr(1), rest.front()) + 2);
    }
    return At(mark.line, mark.column, length);
  }

 private:
  /// Index of the quote that closes a scalar in `text`, which begins behind the opening one; the size
  /// of `text` if it is not there.
  static std::size_t ClosingQuote(std::string_view text, char quote) {
    std::size_t i = 0;
    for (; i < text.size(); ++i) {
      if (quote == '"' && text[i] == '\\') {
        ++i;
      } else if (text[i] == quote) {
        if (quote != '\'' || i + 1 == text.size() || text[i + 1] != '\'') return i;
        ++i;  // '' inside single quotes is an escaped quote
      }
    }
    return text.size();
  }

  SharedText file_;
  std::vector<SharedText> lines_;  // the spans of all nodes share them
};

/// yaml-cpp reads 0x04 as the end of input and replaces what is not UTF-8, so both are refused before
/// it sees the text; other control characters are outside YAML's printable set (YAML 1.2, 5.1).
Result<void> CheckCharacters(std::string_view text, const Lines& lines) {
  int line = 0;
  std::size_t line_start = 0;
  for (std::size_t pos = 0; pos < text.size();) {
    const auto byte = static_cast<unsigned char>(text[pos]);
    const auto here = [&] { return lines.At(line, static_cast<int>(pos - line_start), 1); };
    if (byte == '\n') {
      ++line;
      line_start = pos + 1;
    } else if ((byte < 0x20 && byte != '\t' && byte != '\r') || byte == 0x7F) {
      return Error(ErrorCode::kInvalidInput, fmt::format("control character 0x{:02x} in YAML text", byte))
          .At(here())
          .WithHint("write it as an escape inside double quotes, or remove it");
    }
    const std::size_t length = Utf8Length(text.substr(pos));
    if (length == 0) {
      return Error(ErrorCode::kInvalidInput, fmt::format("byte 0x{:02x} is not part of UTF-8 text", byte))
          .At(here())
          .WithHint("save the file as UTF-8");
    }
    pos += length;
  }
  return Ok();
}

/// Builds the tree from events. Throws Stop for what ParseYaml refuses.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(const Lines& lines) : lines_(lines) {}

  YamlNode TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (documents_++ == 0) return;
    const bool marker = mark.line > 0;
    throw Stop{Error(ErrorCode::kInvalidInput, "text after the end of the YAML document")
                   .At(lines_.At(mark.line, mark.column, 1))
                   .WithHint(marker ? "keep one document per file, and check indentation and quotes above"
                                    : "check the quotes of this line")};
  }
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    const std::string_view rest = lines_.Rest(mark);
    // yaml-cpp reports a null without its text, and readers of variant files need it.
    const bool written = rest.starts_with('~') || ToLower(rest.substr(0, 4)) == "null";
    if (ExpectsKey()) {
      throw Stop{Error(ErrorCode::kInvalidInput, "a mapping key must be text")
                     .At(lines_.At(mark.line, mark.column, written && rest.front() != '~' ? 4 : 1))
                     .WithHint("put the key in quotes")};
    }
    YamlNode node;
    node.kind = YamlNode::Kind::kNull;
    if (written) node.scalar = rest.substr(0, rest.front() == '~' ? 1 : 4);
    // The mark of a value that is not there is the next token, often another line: point at the key.
    if (!written && !open_.empty() && open_.back().key) {
      node.span = open_.back().key->second;
    } else {
      node.span = lines_.At(mark.line, mark.column, written && rest.front() != '~' ? 4 : 1);
    }
    Place(std::move(node));
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { RefuseAnchor(mark); }
  void OnAnchor(const YAML::Mark& mark, const std::string& /*name*/) override { RefuseAnchor(mark); }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    CheckTag(mark, tag);
    const bool plain = tag == "?";
    if (!plain && !lines_.QuotesClosed(mark)) {
      throw Stop{Error(ErrorCode::kInvalidInput, "text without its closing quote")
                     .At(lines_.OfScalar(mark, value, plain))};
    }
    SourceSpan span = lines_.OfScalar(mark, value, plain);
    if (ExpectsKey()) {
      BeginEntry(value, std::move(span));
      return;
    }
    YamlNode node;
    node.kind = YamlNode::Kind::kScalar;
    node.span = std::move(span);
    node.scalar = value;
    node.plain = plain;
    Place(std::move(node));
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, YamlNode::Kind::kSequence);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    Open(mark, tag, YamlNode::Kind::kMapping);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    YamlNode node;
    std::optional<std::pair<std::string, SourceSpan>> key = {};  ///< kMapping: its value comes next.
    std::map<std::string, int, std::less<>> lines_of_keys = {};  ///< kMapping: of the keys so far.
  };

  [[nodiscard]] bool ExpectsKey() const {
    return !open_.empty() && open_.back().node.kind == YamlNode::Kind::kMapping && !open_.back().key;
  }

  [[noreturn]] void RefuseAnchor(const YAML::Mark& mark) const {
    throw Stop{Error(ErrorCode::kUnsupported, "YAML anchors and aliases are not supported")
                   .At(lines_.At(mark.line, mark.column, 1))
                   .WithHint("write the value out, or put it under 'context'")};
  }

  void CheckTag(const YAML::Mark& mark, const std::string& tag) const {
    // "?" is a plain scalar or an untagged collection, "!" a quoted scalar (YAML 1.2, 6.9.1).
    if (tag.empty() || tag == "?" || tag == "!") return;
    throw Stop{Error(ErrorCode::kUnsupported, "YAML tags are not supported")
                   .At(lines_.At(mark.line, mark.column, 1))
                   .WithHint("remove the tag; quote a value to make it text")};
  }

  /// Counts a node or key that begins at `span`.
  void Count(const SourceSpan& span) {
    if (++count_ <= limits::kYamlNodes) return;
    throw Stop{
        Error(ErrorCode::kInvalidInput, fmt::format("YAML with more than {} values", limits::kYamlNodes))
            .At(span)};
  }

  void BeginEntry(const std::string& key, SourceSpan span) {
    Count(span);
    const auto [known, is_new] = open_.back().lines_of_keys.emplace(key, span.line);
    if (!is_new) {
      throw Stop{Error(ErrorCode::kInvalidInput, fmt::format("key '{}' is given twice", key))
                     .At(std::move(span))
                     .WithHint(fmt::format("the first one is on line {}", known->second))};
    }
    open_.back().key.emplace(key, std::move(span));
  }

  void Open(const YAML::Mark& mark, const std::string& tag, YamlNode::Kind kind) {
    CheckTag(mark, tag);
    SourceSpan span = lines_.At(mark.line, mark.column, 1);
    if (ExpectsKey()) {
      throw Stop{Error(ErrorCode::kInvalidInput, "a mapping key must be text")
                     .At(span)
                     .WithHint(span.excerpt.view().find("{{") != std::string_view::npos
                                   ? "an expression begins with a dollar sign: write '${{ … }}'"
                                   : "quote values that begin with '{' or '['")};
    }
    // This also bounds yaml-cpp's recursion, since Stop unwinds its parser.
    if (open_.size() >= limits::kYamlDepth) {
      throw Stop{Error(ErrorCode::kInvalidInput,
                       fmt::format("YAML nested deeper than {} levels", limits::kYamlDepth))
                     .At(std::move(span))};
    }
    OpenNode& open = open_.emplace_back();
    open.node.kind = kind;
    open.node.span = std::move(span);
  }

  void Close() {
    PTPKG_ASSERT(!open_.empty());
    YamlNode node = std::move(open_.back().node);
    open_.pop_back();
    Place(std::move(node));
  }

  void Place(YamlNode node) {
    Count(node.span);
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node.kind == YamlNode::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
      return;
    }
    PTPKG_ASSERT(parent.key.has_value());
    parent.node.entries.push_back(
        {std::move(parent.key->first), std::move(parent.key->second), std::move(node)});
    parent.key.reset();
  }

  const Lines& lines_;
  int documents_ = 0;
  std::size_t count_ = 0;
  std::vector<OpenNode> open_;
  YamlNode root_;
};

Error SyntaxError(const YAML::Exception& exception, const Lines& lines) {
  const YAML::Mark& mark = exception.mark;
  Error error = Error(ErrorCode::kInvalidInput, fmt::format("invalid YAML: {}", exception.msg))
                    .At(lines.At(mark.line, mark.column, 1));
  const std::string_view line = error.span()->excerpt.view();
  const std::string_view indent = line.substr(0, line.find_first_not_of(" \t"));
  if (indent.find('\t') != std::string_view::npos)
    return std::move(error).WithHint("indent with spaces, not tabs");
  return std::move(error).WithHint("check indentation, quotes and brackets at this place and just above");
}

}  // namespace

const YamlNode* YamlNode::Find(std::string_view key) const {
  const auto entry =
      std::find_if(entries.begin(), entries.end(), [&](const YamlEntry& e) { return e.key == key; });
  return entry == entries.end() ? nullptr : &entry->value;
}

const char* YamlNode::KindName() const {
  switch (kind) {
    case Kind::kNull:
      return "nothing";
    case Kind::kScalar:
      return "text";
    case Kind::kSequence:
      return "a list";
    case Kind::kMapping:
      return "a mapping";
  }
  return "nothing";
}

Result<YamlNode> ParseYaml(std::string_view text, const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  if (text.starts_with(kByteOrderMark)) text.remove_prefix(kByteOrderMark.size());
  const Lines lines(text, file);
  PTPKG_CHECK(CheckCharacters(text, lines));
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(lines);
    // No document: the text is empty, or has only comments.
    if (!parser.HandleNextDocument(builder)) {
      YamlNode empty;
      empty.span = lines.At(0, 0, 1);
      return empty;
    }
    parser.HandleNextDocument(builder);  // Throws Stop if there is a second one.
    return builder.TakeRoot();
  } catch (Stop& stop) {
    return std::move(stop.error);
  } catch (const YAML::Exception& exception) {
    return SyntaxError(exception, lines);
  }
}

}  // namespace ptpkg
