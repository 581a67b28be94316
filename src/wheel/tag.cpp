#include "wheel/tag.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/limits.h"
#include "support/text/text.h"

namespace ptpkg::wheel {
namespace {

bool IsTagSet(std::string_view set) {
  for (const std::string& word : Split(set, '.')) {
    if (word.empty()) return false;
    const auto legal = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!std::all_of(word.begin(), word.end(), legal)) return false;
  }
  return true;
}

std::vector<std::string> SortedWords(const std::string& set) {
  std::vector<std::string> words = Split(set, '.');
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

}  // namespace

Result<Tag> ParseTag(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '-');
  if (parts.size() != 3 || !std::all_of(parts.begin(), parts.end(), IsTagSet)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a compatibility tag", text))
        .WithHint("write it as python-abi-platform, for example cp311-cp311-linux_x86_64");
  }
  Tag tag{parts[0], parts[1], parts[2]};
  // A short name can stand for millions of tags: three sets multiply. The count comes before any expansion.
  if (CountTags(tag) > limits::kTags) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("a compatibility tag expands to more than {} tags", limits::kTags));
  }
  return tag;
}

std::size_t CountTags(const Tag& tag) {
  const auto words = [](const std::string& set) {
    return 1 + static_cast<std::size_t>(std::count(set.begin(), set.end(), '.'));
  };
  // No part has more words than a text has bytes, so two products fit.
  return std::min(words(tag.python) * words(tag.abi), limits::kTags + 1) * words(tag.platform);
}

Tag SortTag(const Tag& tag) {
  return {Join(SortedWords(tag.python), "."), Join(SortedWords(tag.abi), "."),
          Join(SortedWords(tag.platform), ".")};
}

std::vector<Tag> ExpandTag(const Tag& tag) {
  std::vector<Tag> tags;
  for (const std::string& python : SortedWords(tag.python)) {
    for (const std::string& abi : SortedWords(tag.abi)) {
      for (const std::string& platform : SortedWords(tag.platform)) tags.push_back({python, abi, platform});
    }
  }
  std::sort(tags.begin(), tags.end());
  return tags;
}

std::set<Tag> ExpandTags(const std::vector<Tag>& tags) {
  std::set<Tag> all;
  for (const Tag& tag : tags) {
    for (Tag& plain : ExpandTag(tag)) all.insert(std::move(plain));
  }
  return all;
}

std::string JoinTags(const std::set<Tag>& tags) {
  std::string joined;
  for (const Tag& tag : tags) joined += (joined.empty() ? "" : ", ") + tag.str();
  return joined;
}

}  // namespace ptpkg::wheel
