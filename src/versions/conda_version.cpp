// Versions of conda (CEP 33). A version is an epoch, segments between dots, and a local part. Each segment is
// a list of numbers and words: "0rc1" is 0, "rc", 1. A segment that begins with a word gets a 0 in front, so
// that numbers meet numbers.
// The order of atoms is in Atom::Rank: dev below words, words below numbers, post above all. Missing segments
// and atoms compare as 0, which makes 1.0 and 1 equal.
// A single '_' at the end belongs to the last segment (OpenSSL's "1.0.1_"), and '-' and '_' in one version
// exclude each other.
// AnyText reads every text, because indexes hold versions that the rules forbid, and they must still be
// sorted.

#include "versions/conda_version.h"

#include <algorithm>
#include <fmt/core.h>
#include <iterator>
#include <limits>

#include "support/text/text.h"
#include "versions/conda_characters.h"

namespace ptpkg::versions {
namespace {

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

bool IsVersionCharacter(char c) {
  return IsDigit(c) || (c >= 'a' && c <= 'z') || c == '.' || c == '_' || c == '-' || c == '+' || c == '!';
}

std::string WithDots(std::string_view text) {
  std::string result(text);
  std::replace(result.begin(), result.end(), '_', '.');
  std::replace(result.begin(), result.end(), '-', '.');
  return result;
}

bool HasEmptySegment(std::string_view part) {
  const std::vector<std::string> segments = Split(WithDots(part), '.');
  return std::any_of(segments.begin(), segments.end(), [](const std::string& one) { return one.empty(); });
}

/// Reason why `lower` is not a version, "" if it is one.
std::string_view FaultOf(std::string_view lower) {
  if (lower.empty()) return "it is empty";
  if (!std::all_of(lower.begin(), lower.end(), IsVersionCharacter)) {
    return "only letters, digits and . _ - + ! are allowed";
  }
  if (lower.find('-') != std::string_view::npos && lower.find('_') != std::string_view::npos) {
    return "it contains both '-' and '_'";
  }
  if (const std::size_t mark = lower.find('!'); mark != std::string_view::npos) {
    const std::string_view epoch = lower.substr(0, mark);
    if (epoch.empty() || !std::all_of(epoch.begin(), epoch.end(), IsDigit) ||
        lower.find('!', mark + 1) != std::string_view::npos) {
      return "one number must precede a single '!'";
    }
    lower.remove_prefix(mark + 1);
  }
  const std::size_t plus = lower.find('+');
  if (plus != std::string_view::npos) {
    if (lower.find('+', plus + 1) != std::string_view::npos) return "it has two '+'";
    if (HasEmptySegment(lower.substr(plus + 1))) return "a segment between dots is empty";
  }
  std::string main(lower.substr(0, plus));
  // One '_' at the end belongs to the last segment, and may be all of it.
  if (main.size() > 1 && (main.back() == '_' || main.back() == '-')) main.back() = 'a';
  return HasEmptySegment(main) ? "a segment between dots is empty" : "";
}

}  // namespace

Version::Segment Version::ParseSegment(std::string_view text) {
  Segment segment;
  if (text.empty() || !IsDigit(text.front())) segment.push_back(Atom{});
  std::size_t begin = 0;
  while (begin < text.size()) {
    const bool digits = IsDigit(text[begin]);
    std::size_t end = begin;
    while (end < text.size() && IsDigit(text[end]) == digits) ++end;
    std::string run(text.substr(begin, end - begin));
    if (digits) {
      run.erase(0, std::min(run.find_first_not_of('0'), run.size()));
      segment.push_back({Atom::Rank::kNumber, std::move(run)});
    } else if (run == "dev" || run == "post") {
      segment.push_back({run == "dev" ? Atom::Rank::kDev : Atom::Rank::kPost});
    } else {
      segment.push_back({Atom::Rank::kWord, std::move(run)});
    }
    begin = end;
  }
  return segment;
}

Version::Part Version::ParsePart(std::string_view text) {
  // The last character is put aside before the others become dots, and returns as the end of the last
  // segment.
  const bool trailing = text.size() > 1 && (text.back() == '_' || text.back() == '-');
  std::string dotted = WithDots(trailing ? text.substr(0, text.size() - 1) : text);
  if (trailing) dotted += '_';
  Part part;
  for (const std::string& piece : Split(dotted, '.')) part.push_back(ParseSegment(piece));
  return part;
}

Version Version::AnyText(std::string_view text) {
  Version version{Unparsed{}};
  version.text_ = std::string(Trim(text));
  const std::string lower = ToLower(version.text_);
  std::string_view rest = lower;
  const std::size_t mark = rest.find('!');
  // The epoch is the first segment, so it decides before all others.
  version.main_.push_back(ParseSegment(mark == std::string_view::npos ? "0" : rest.substr(0, mark)));
  if (mark != std::string_view::npos) rest.remove_prefix(mark + 1);
  const std::size_t plus = rest.find('+');
  if (plus != std::string_view::npos) version.local_ = ParsePart(rest.substr(plus + 1));
  Part segments = ParsePart(rest.substr(0, plus));
  version.main_.insert(version.main_.end(), std::make_move_iterator(segments.begin()),
                       std::make_move_iterator(segments.end()));
  return version;
}

Result<Version> Version::Parse(std::string_view text) {
  if (const std::string_view fault = FaultOf(ToLower(Trim(text))); !fault.empty()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a version: {}", text, fault));
  }
  return AnyText(text);
}

std::strong_ordering Version::Compare(const Atom& left, const Atom& right) {
  if (left.rank != right.rank) return left.rank <=> right.rank;
  // Numbers have no leading zeros (ParseSegment), so the longer one is larger.
  if (left.rank == Atom::Rank::kNumber && left.text.size() != right.text.size()) {
    return left.text.size() <=> right.text.size();
  }
  return left.text.compare(right.text) <=> 0;
}

std::strong_ordering Version::Compare(const Segment& left, const Segment& right, std::size_t atoms) {
  static const Atom kZero;
  const std::size_t end = std::min(atoms, std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < end; ++i) {
    const auto order = Compare(i < left.size() ? left[i] : kZero, i < right.size() ? right[i] : kZero);
    if (order != std::strong_ordering::equal) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering Version::Compare(const Part& left, const Part& right, std::size_t segments) {
  static const Segment kEmpty;
  const std::size_t end = std::min(segments, std::max(left.size(), right.size()));
  for (std::size_t i = 0; i < end; ++i) {
    const auto order =
        Compare(i < left.size() ? left[i] : kEmpty, i < right.size() ? right[i] : kEmpty, kAll);
    if (order != std::strong_ordering::equal) return order;
  }
  return std::strong_ordering::equal;
}

std::strong_ordering operator<=>(const Version& left, const Version& right) {
  const auto order = Version::Compare(left.main_, right.main_, kAll);
  return order != std::strong_ordering::equal ? order : Version::Compare(left.local_, right.local_, kAll);
}

bool Version::StartsWith(const Version& prefix) const {
  // Everything before the last atom of `prefix` must be equal. The last atom itself can be the beginning of a
  // longer word.
  const bool local = !prefix.local_.empty();
  if (local && Compare(main_, prefix.main_, kAll) != std::strong_ordering::equal) return false;
  const Part& mine = local ? local_ : main_;
  const Part& theirs = local ? prefix.local_ : prefix.main_;
  const std::size_t last = theirs.size() - 1;
  if (Compare(mine, theirs, last) != std::strong_ordering::equal) return false;
  static const Segment kEmpty;
  const Segment& segment = last < mine.size() ? mine[last] : kEmpty;
  const std::size_t end = theirs[last].size() - 1;
  if (Compare(segment, theirs[last], end) != std::strong_ordering::equal) return false;
  const Atom atom = end < segment.size() ? segment[end] : Atom{};
  const Atom& wanted = theirs[last][end];
  if (wanted.rank == Atom::Rank::kWord) {
    return atom.rank == Atom::Rank::kWord && atom.text.starts_with(wanted.text);
  }
  return Compare(atom, wanted) == std::strong_ordering::equal;
}

std::strong_ordering CompareVersions(std::string_view left, std::string_view right) {
  return Version::AnyText(left) <=> Version::AnyText(right);
}

}  // namespace ptpkg::versions
