// Reads links of a simple index page the way pip reads them.
//
// pip uses Python's html.parser, whose security releases of 2025 changed where comments, end tags and text
// elements end. An index page must mean the same to both versions, so the page is read by both rules at
// once. Whenever the two disagree, the reader skips to the next place where both are between tokens. A link
// that only one version sees does not count.
//
// The same holds for attributes: character references and bytes that the versions treat differently make a
// tag doubtful. A doubtful anchor is skipped, and a doubtful <base> is an error, because it would move all
// links.

#include "publish/servers/html_links.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "support/text/text.h"

namespace ptpkg::publish {
namespace {

constexpr std::string_view kBlanks = "\t\n\r\f ";
constexpr std::size_t kNowhere = std::string_view::npos;

bool IsBlank(char c) { return kBlanks.find(c) != std::string_view::npos; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
/// White space to one version of html.parser and part of a name to another one.
bool IsDoubtful(char c) {
  return static_cast<unsigned char>(c) >= 0x80 || (c >= '\0' && c < ' ' && !IsBlank(c));
}

// Newer versions read their content as text up to the end tag, which all versions do for script and style.
constexpr std::array<std::string_view, 7> kNewTextElements = {"textarea", "title",    "xmp",      "iframe",
                                                              "noembed",  "noframes", "plaintext"};

bool IsOneOf(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The characters of ASCII that have names; links to files have no others.
std::optional<char> NamedCharacter(std::string_view name) {
  static const std::map<std::string_view, char> kNamed = {
      {"amp", '&'},    {"AMP", '&'},    {"lt", '<'},     {"LT", '<'},     {"gt", '>'},      {"GT", '>'},
      {"quot", '"'},   {"QUOT", '"'},   {"apos", '\''},  {"plus", '+'},   {"sol", '/'},     {"num", '#'},
      {"equals", '='}, {"period", '.'}, {"lowbar", '_'}, {"percnt", '%'}, {"quest", '?'},   {"colon", ':'},
      {"semi", ';'},   {"commat", '@'}, {"excl", '!'},   {"lpar", '('},   {"rpar", ')'},    {"comma", ','},
      {"ast", '*'},    {"dollar", '$'}, {"bsol", '\\'},  {"Tab", '\t'},   {"NewLine", '\n'}};
  const auto found = kNamed.find(name);
  return found == kNamed.end() ? std::nullopt : std::optional(found->second);
}

/// "#43;", "#x2b" or "plus;": the character and the length of its name. nullopt: versions differ, or it is
/// not of ASCII.
std::optional<std::pair<char, std::size_t>> Reference(std::string_view text) {
  const bool numbered = text.starts_with('#');
  if (!numbered) {
    const std::size_t end = text.find(';');
    const auto named = NamedCharacter(text.substr(0, end));
    return named && end != kNowhere ? std::optional(std::pair(*named, end + 1)) : std::nullopt;
  }
  const bool hex = text.size() > 1 && (text[1] == 'x' || text[1] == 'X');
  const std::string_view digits = text.substr(hex ? 2 : 1);
  unsigned number = 0;
  const auto [end, failed] =
      std::from_chars(digits.data(), digits.data() + digits.size(), number, hex ? 16 : 10);
  if (failed != std::errc() || number < ' ' || number > '~') return std::nullopt;
  auto used = static_cast<std::size_t>(end - text.data());
  if (used < text.size() && text[used] == ';') ++used;
  return std::pair(static_cast<char>(number), used);
}

/// Value of an attribute. nullopt: versions of html.parser differ.
std::optional<std::string> Unescaped(std::string_view text) {
  std::string value;
  while (true) {
    const std::size_t amp = text.find('&');
    value += text.substr(0, amp);
    if (amp == kNowhere) return value;
    text.remove_prefix(amp + 1);
    if (const auto reference = Reference(text)) {
      value += reference->first;
      text.remove_prefix(reference->second);
      continue;
    }
    // "&b=2" is text; "&lt=2" is to some of them.
    const std::size_t end = text.find_first_of(";&= ");
    const bool closed = end != kNowhere && text[end] == ';';
    for (const char* name : {"amp", "lt", "gt", "quot", "AMP", "LT", "GT", "QUOT", "#"}) {
      if (text.starts_with(name)) return std::nullopt;
    }
    if (closed && end > 0) return std::nullopt;
    value += '&';
  }
}

struct StartTag {
  std::string name = {};
  std::map<std::string, std::string> attributes = {};
  std::optional<std::string> first_href = {};
  bool is_closed = false;    ///< "<a/>"
  bool is_doubtful = false;  ///< Versions of html.parser read other attributes.
};

/// Reads as html.parser does, "old" before the security releases of 2025 and "new" since.
class LinkReader {
 public:
  explicit LinkReader(std::string_view page) : page_(page) {}

  Result<HtmlLinks> Run() {
    HtmlLinks links;
    std::size_t at = 0;
    while (at < page_.size()) {
      StartTag tag;
      if (IsStart(at) && ReadStart(at, tag) != kNowhere) PTPKG_CHECK(Take(std::move(tag), links));
      at = NextAgreed(at);
    }
    return links;
  }

 private:
  [[nodiscard]] bool IsStart(std::size_t at) const {
    return page_[at] == '<' && at + 1 < page_.size() && IsLetter(page_[at + 1]);
  }

  /// Next place where both versions are between two tokens. Links before it count for one of them at most.
  std::size_t NextAgreed(std::size_t at) {
    std::size_t old_at = Next(at, true);
    std::size_t new_at = Next(at, false);
    while (old_at != new_at && old_at < page_.size() && new_at < page_.size()) {
      const bool old_is_behind = old_at < new_at;
      std::size_t& behind = old_is_behind ? old_at : new_at;
      const std::size_t ahead = std::max(old_at, new_at);
      // Text ends anywhere.
      behind =
          page_[behind] == '<' ? Next(behind, old_is_behind) : std::min(Next(behind, old_is_behind), ahead);
    }
    return std::max(old_at, new_at);
  }

  /// The end of the token at `at`; the page's size where it has none.
  std::size_t Next(std::size_t at, bool is_old) {
    const std::string_view rest = page_.substr(at);
    if (!rest.starts_with('<')) return std::min(page_.find('<', at), page_.size());
    if (rest.size() < 2) return page_.size();
    if (IsStart(at)) return EndOfStart(at, is_old);
    if (rest.starts_with("<!--")) return EndOf(Comment(at, is_old));
    if (rest.starts_with("<![") && is_old) return EndOf(Section(at));
    if (rest.starts_with("</") && rest.size() > 2 && IsLetter(rest[2]) && !is_old)
      return EndOf(UnquotedEnd(at));
    const bool ends_by_bracket = rest[1] == '!' || rest[1] == '?' || rest[1] == '/';
    return ends_by_bracket ? EndOf(page_.find('>', at)) : at + 1;
  }

  [[nodiscard]] std::size_t EndOf(std::size_t bracket) const {
    return bracket == kNowhere ? page_.size() : bracket + 1;
  }

  /// The last byte of a comment: behind "--", older versions take white space, newer ones '!', and these take
  /// "<!-->" for a whole comment.
  [[nodiscard]] std::size_t Comment(std::size_t at, bool is_old) const {
    constexpr std::size_t kOpen = 4;
    if (!is_old) {
      for (const char* abrupt : {">", "->"}) {
        if (page_.substr(at + kOpen).starts_with(abrupt)) return page_.find('>', at);
      }
    }
    for (std::size_t dash = page_.find("--", at + kOpen); dash != kNowhere;
         dash = page_.find("--", dash + 1)) {
      std::size_t end = dash + 2;
      if (is_old) end = std::min(page_.find_first_not_of("\t\n\r\f\v ", end), page_.size());
      if (!is_old && page_.substr(end).starts_with('!')) ++end;
      if (page_.substr(end).starts_with('>')) return end;
    }
    return kNowhere;
  }

  /// The last byte of "<![CDATA[ … ]]>".
  [[nodiscard]] std::size_t Section(std::size_t at) const {
    const std::size_t end = page_.find("]]>", at);
    return end == kNowhere ? kNowhere : end + 2;
  }

  /// The first '>' outside of quotes, as newer versions end an end tag.
  [[nodiscard]] std::size_t UnquotedEnd(std::size_t at) const {
    while (at < page_.size() && page_[at] != '>') {
      if (page_[at] == '"' || page_[at] == '\'') at = page_.find(page_[at], at + 1);
      if (at == kNowhere) return kNowhere;
      ++at;
    }
    return at < page_.size() ? at : kNowhere;
  }

  std::size_t EndOfStart(std::size_t at, bool is_old) {
    StartTag tag;
    const std::size_t end = ReadStart(at, tag);
    if (end == kNowhere) return page_.size();
    if (tag.is_closed) return end;
    const bool is_new =
        std::find(kNewTextElements.begin(), kNewTextElements.end(), tag.name) != kNewTextElements.end();
    const bool is_text = IsOneOf(tag.name, {"script", "style"}) || (!is_old && is_new);
    if (!is_text) return end;
    return tag.name == "plaintext" ? page_.size() : EndTagOf(end, tag.name, is_old);
  }

  /// Start of the end tag of an element whose content is text. Older versions take "</ script >", newer
  /// ones "</script x>".
  [[nodiscard]] std::size_t EndTagOf(std::size_t at, const std::string& name, bool is_old) const {
    for (at = page_.find("</", at); at != kNowhere; at = page_.find("</", at + 1)) {
      std::size_t from = at + 2;
      if (is_old) from = std::min(page_.find_first_not_of("\t\n\r\f\v ", from), page_.size());
      if (ToLower(page_.substr(from, name.size())) != name) continue;
      const std::string_view behind = page_.substr(from + name.size());
      const std::size_t next = std::min(behind.find_first_not_of("\t\n\r\f\v "), behind.size());
      const bool ends = is_old ? behind.substr(next).starts_with('>')
                               : !behind.empty() && (IsBlank(behind.front()) || behind.front() == '/' ||
                                                     behind.front() == '>');
      if (ends) return at;
    }
    return page_.size();
  }

  /// The end of the start tag; kNowhere where the page ends first.
  std::size_t ReadStart(std::size_t at, StartTag& tag) {
    const auto until = [&](std::string_view ends) {
      const std::size_t begin = at;
      at = std::min(page_.find_first_of(ends, at), page_.size());
      const std::string_view found = page_.substr(begin, at - begin);
      tag.is_doubtful = tag.is_doubtful || std::any_of(found.begin(), found.end(), IsDoubtful);
      return found;
    };
    ++at;
    tag.name = ToLower(until("\t\n\r\f />"));
    while (true) {
      at = std::min(page_.find_first_not_of("\t\n\r\f /", at), page_.size());
      if (at == page_.size()) return kNowhere;
      if (page_[at] == '>') {
        tag.is_closed = page_[at - 1] == '/';
        return at + 1;
      }
      const std::size_t begin = at++;  // an attribute may begin with '='
      static_cast<void>(until("\t\n\r\f />="));
      std::string name = ToLower(page_.substr(begin, at - begin));
      const std::size_t sign = std::min(page_.find_first_not_of(kBlanks, at), page_.size());
      if (!page_.substr(sign).starts_with('=')) {
        Add(tag, std::move(name), std::nullopt);
        continue;
      }
      tag.is_doubtful = tag.is_doubtful || page_.substr(sign).starts_with("==") || IsDoubtful(page_[begin]);
      at = std::min(page_.find_first_not_of(kBlanks, sign + 1), page_.size());
      const bool quoted = at < page_.size() && (page_[at] == '"' || page_[at] == '\'');
      if (!quoted) {
        Add(tag, std::move(name), until("\t\n\r\f >"));
        continue;
      }
      const std::size_t end = page_.find(page_[at], at + 1);
      if (end == kNowhere) return kNowhere;
      Add(tag, std::move(name), page_.substr(at + 1, end - at - 1));
      at = end + 1;
    }
  }

  static void Add(StartTag& tag, std::string name, std::optional<std::string_view> text) {
    const auto value = Unescaped(text.value_or(""));
    if (name == "href" && !tag.first_href && text) tag.first_href = value.value_or("");
    tag.is_doubtful = tag.is_doubtful || (!value && IsOneOf(name, {"href", "content", "name"}));
    tag.attributes[std::move(name)] = value.value_or("");
  }

  static Result<void> Take(StartTag tag, HtmlLinks& links) {
    if (tag.name == "base" && tag.first_href && !links.base) {
      if (tag.is_doubtful)
        return Error(ErrorCode::kInvalidInput, "page of the index: its <base> is malformed HTML");
      links.base = tag.first_href;
    }
    if (tag.name == "meta" && ToLower(tag.attributes["name"]) == "pypi:repository-version" &&
        links.repository_version.empty())
      links.repository_version = tag.attributes["content"];
    if (tag.name == "a" && !tag.is_doubtful) links.anchors.push_back(std::move(tag.attributes));
    return Ok();
  }

  std::string_view page_;
};

}  // namespace

Result<HtmlLinks> ReadHtmlLinks(std::string_view page) { return LinkReader(page).Run(); }

}  // namespace ptpkg::publish
