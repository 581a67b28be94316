#pragma once
// Parses compatibility tags. Layer: wheel. Source: PEP 425 (tags and compressed tag sets).

#include <compare>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "support/result.h"

namespace ptpkg::wheel {

/// "cp311-cp311-manylinux_2_28_x86_64"; each part may be a dot-joined, sorted set.
struct Tag {
  std::string python;
  std::string abi;
  std::string platform;

  [[nodiscard]] std::string str() const { return python + "-" + abi + "-" + platform; }
  auto operator<=>(const Tag&) const = default;
};

/// "python-abi-platform". Each part is a dot-joined set of words of [A-Za-z0-9_]; sets may be unsorted.
/// Errors: kInvalidInput naming the text, and for one that stands for more than limits::kTags.
Result<Tag> ParseTag(std::string_view text);

/// The tag with each part's set sorted and without repetitions, as in file names.
Tag SortTag(const Tag& tag);

/// Number of combinations in a tag, repetitions included; above limits::kTags only that it is above.
std::size_t CountTags(const Tag& tag);

/// One plain tag per combination, sorted: what the Tag fields of WHEEL hold.
std::vector<Tag> ExpandTag(const Tag& tag);
/// The plain tags of all `tags`, as a WHEEL file lists them.
std::set<Tag> ExpandTags(const std::vector<Tag>& tags);

/// "cp311-cp311-linux_x86_64, py3-none-any"
std::string JoinTags(const std::set<Tag>& tags);

}  // namespace ptpkg::wheel
