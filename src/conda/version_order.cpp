// CEP 33 ordering. Layer: conda.
#include "conda/version_order.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <vector>

#include "support/text.h"

namespace ptpkg::conda {
namespace {

/// A run of digits or of other characters. Numbers are kept as digits without leading zeros, so that no
/// length overflows.
struct Atom {
  bool number = true;
  std::string text;  // "" = 0
};

using Segment = std::vector<Atom>;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

Segment ParseSegment(std::string_view text) {
  Segment segment;
  if (text.empty() || !IsDigit(text.front())) segment.push_back(Atom{});
  std::size_t begin = 0;
  while (begin < text.size()) {
    const bool digits = IsDigit(text[begin]);
    std::size_t end = begin;
    while (end < text.size() && IsDigit(text[end]) == digits) ++end;
    std::string run(text.substr(begin, end - begin));
    if (digits) run.erase(0, std::min(run.find_first_not_of('0'), run.size()));
    segment.push_back(Atom{digits, std::move(run)});
    begin = end;
  }
  return segment;
}

std::vector<Segment> ParsePart(std::string_view part) {
  std::vector<Segment> segments;
  // A single trailing underscore belongs to the last run: 1.0.1_ sorts before 1.0.1a.
  std::string text(part);
  const bool trailing = text.size() > 1 && text.back() == '_';
  if (trailing) text.pop_back();
  std::replace(text.begin(), text.end(), '_', '.');
  std::replace(text.begin(), text.end(), '-', '.');
  if (trailing) text += '_';
  const std::vector<std::string> pieces = Split(text, '.');
  segments.reserve(pieces.size());
  for (const std::string& piece : pieces) segments.push_back(ParseSegment(piece));
  return segments;
}

/// dev < text < numbers < post.
int Rank(const Atom& atom) {
  if (atom.number) return 2;
  if (atom.text == "post") return 3;
  return atom.text == "dev" ? 0 : 1;
}

std::strong_ordering CompareAtoms(const Atom& left, const Atom& right) {
  if (Rank(left) != Rank(right)) return Rank(left) <=> Rank(right);
  if (left.number && left.text.size() != right.text.size()) return left.text.size() <=> right.text.size();
  return left.text.compare(right.text) <=> 0;
}

std::strong_ordering CompareParts(const std::vector<Segment>& left, const std::vector<Segment>& right) {
  static const Segment kZeroSegment{Atom{}};
  static const Atom kZero;
  for (std::size_t i = 0; i < std::max(left.size(), right.size()); ++i) {
    const Segment& a = i < left.size() ? left[i] : kZeroSegment;
    const Segment& b = i < right.size() ? right[i] : kZeroSegment;
    for (std::size_t k = 0; k < std::max(a.size(), b.size()); ++k) {
      const auto order = CompareAtoms(k < a.size() ? a[k] : kZero, k < b.size() ? b[k] : kZero);
      if (order != std::strong_ordering::equal) return order;
    }
  }
  return std::strong_ordering::equal;
}

struct Parsed {
  std::vector<Segment> main;  // the epoch first
  std::vector<Segment> local;
};

Parsed Parse(std::string_view text) {
  const std::string lower = ToLower(text);
  std::string_view rest = lower;
  Parsed parsed;
  const std::size_t mark = rest.find('!');
  parsed.main.push_back(ParseSegment(mark == std::string_view::npos ? "0" : rest.substr(0, mark)));
  if (mark != std::string_view::npos) rest.remove_prefix(mark + 1);
  const std::size_t plus = rest.find('+');
  if (plus != std::string_view::npos) parsed.local = ParsePart(rest.substr(plus + 1));
  std::vector<Segment> segments = ParsePart(rest.substr(0, plus));
  parsed.main.insert(parsed.main.end(), std::make_move_iterator(segments.begin()),
                     std::make_move_iterator(segments.end()));
  return parsed;
}

}  // namespace

std::strong_ordering CompareVersions(std::string_view left, std::string_view right) {
  const Parsed a = Parse(left);
  const Parsed b = Parse(right);
  const auto order = CompareParts(a.main, b.main);
  return order != std::strong_ordering::equal ? order : CompareParts(a.local, b.local);
}

}  // namespace ptpkg::conda
