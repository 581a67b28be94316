#include "source/patch_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <optional>

#include "support/text.h"

namespace ptpkg::source {

namespace {

struct HunkSize {
  long old_lines = 1;
  long new_lines = 1;
};

/// Reads "12,3" or "12" from the front of `text`; returns the count, 1 if it is not given.
std::optional<long> TakeRange(std::string_view& text) {
  const auto number = [&](long& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || value < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
  };
  long start = 0;
  long count = 1;
  if (!number(start)) return std::nullopt;
  if (text.starts_with(",")) {
    text.remove_prefix(1);
    if (!number(count)) return std::nullopt;
  }
  return count;
}

/// "@@ -a,b +c,d @@ …"
std::optional<HunkSize> ParseHunkHeader(std::string_view line) {
  HunkSize size;
  if (!line.starts_with("@@ -")) return std::nullopt;
  line.remove_prefix(4);
  const auto old_lines = TakeRange(line);
  if (!old_lines || !line.starts_with(" +")) return std::nullopt;
  line.remove_prefix(2);
  const auto new_lines = TakeRange(line);
  if (!new_lines || !line.starts_with(" @@")) return std::nullopt;
  size.old_lines = *old_lines;
  size.new_lines = *new_lines;
  return size;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : lines_(SplitLines(text)), name_(name) {}

  Result<std::vector<RelPath>> Run() {
    while (at_ < lines_.size()) PTPKG_CHECK(Line());
    if (files_.empty()) return Fail(ErrorCode::kInvalidInput, "it changes no file");
    return std::move(files_);
  }

 private:
  Result<void> Line() {
    const std::string_view line = lines_[at_];
    const std::string_view next =
        at_ + 1 < lines_.size() ? std::string_view(lines_[at_ + 1]) : std::string_view();
    if (line.starts_with("*** ") && next.starts_with("--- ")) {
      return Fail(ErrorCode::kUnsupported, "it is a context diff, not a unified one");
    }
    if (line == "GIT binary patch" || (line.starts_with("Binary files ") && line.ends_with(" differ"))) {
      return Fail(ErrorCode::kUnsupported, "it holds a binary change, which patch cannot apply");
    }
    // Only what git itself writes after "diff --git" counts; prose above a patch may begin with anything.
    if (line.starts_with("diff --git ")) in_git_header_ = true;
    for (const std::string_view word : {"rename from ", "rename to ", "copy from ", "copy to "}) {
      if (in_git_header_ && line.starts_with(word)) PTPKG_CHECK(AddPath(line.substr(word.size()), false));
    }
    if (line.starts_with("--- ") && next.starts_with("+++ ")) {
      PTPKG_CHECK(AddPath(line.substr(4), true));
      ++at_;
      PTPKG_CHECK(AddPath(next.substr(4), true));
      ++at_;
      return Hunks();
    }
    ++at_;
    return Ok();
  }

  Result<void> Hunks() {
    in_git_header_ = false;
    int count = 0;
    while (at_ < lines_.size()) {
      const auto size = ParseHunkHeader(lines_[at_]);
      if (!size) break;
      ++count;
      PTPKG_CHECK(SkipHunk(*size));
    }
    if (count == 0) return Fail(ErrorCode::kInvalidInput, "a file header without a hunk below it");
    return Ok();
  }

  Result<void> SkipHunk(HunkSize size) {
    const std::size_t header = at_++;
    while (size.old_lines > 0 || size.new_lines > 0) {
      if (at_ >= lines_.size()) {
        at_ = header;
        return Fail(ErrorCode::kInvalidInput, "the hunk is cut short");
      }
      // Mail programs strip the blank of an empty context line; patch accepts that.
      const char kind = lines_[at_].empty() ? ' ' : lines_[at_].front();
      if (kind != ' ' && kind != '-' && kind != '+' && kind != '\\') {
        at_ = header;
        return Fail(ErrorCode::kInvalidInput, "the hunk is shorter than its header says");
      }
      if (kind == ' ' || kind == '-') --size.old_lines;
      if (kind == ' ' || kind == '+') --size.new_lines;
      ++at_;
    }
    if (at_ < lines_.size() && lines_[at_].starts_with("\\")) ++at_;
    return Ok();
  }

  /// `has_prefix`: the path begins with a folder that -p1 strips ("a/", "b/").
  Result<void> AddPath(std::string_view text, bool has_prefix) {
    std::string path(text.substr(0, text.find('\t')));
    if (path == "/dev/null") return Ok();
    if (path.starts_with("\"")) {
      return Fail(ErrorCode::kUnsupported, fmt::format("the path {} is quoted", path));
    }
    const std::string shown = path;
    if (path.starts_with("/")) {
      return Fail(ErrorCode::kInvalidInput, fmt::format("the path '{}' is absolute", shown));
    }
    if (has_prefix) {
      const std::size_t slash = path.find('/');
      if (slash == std::string::npos) {
        return Fail(ErrorCode::kInvalidInput,
                    fmt::format("the path '{}' has no leading folder to strip, as -p1 asks for", shown));
      }
      path = path.substr(slash + 1);
    }
    auto parsed = RelPath::Parse(path);
    if (!parsed) {
      return Fail(ErrorCode::kInvalidInput,
                  fmt::format("the path '{}' does not stay inside the source tree", shown));
    }
    if (std::find(files_.begin(), files_.end(), *parsed) == files_.end())
      files_.push_back(*std::move(parsed));
    return Ok();
  }

  Error Fail(ErrorCode code, const std::string& reason) const {
    const std::size_t line = std::min(at_, lines_.empty() ? 0 : lines_.size() - 1);
    const std::string excerpt = lines_.empty() ? std::string() : lines_[line];
    return Error(code, fmt::format("patch '{}' is refused: {}", name_, reason))
        .At(SourceSpan{.file = std::string(name_),
                       .line = static_cast<int>(line) + 1,
                       .column = 1,
                       .length = std::max(1, static_cast<int>(excerpt.size())),
                       .excerpt = excerpt});
  }

  std::vector<std::string> lines_;
  std::string_view name_;
  std::size_t at_ = 0;
  bool in_git_header_ = false;
  std::vector<RelPath> files_;
};

}  // namespace

Result<std::vector<RelPath>> PatchedFiles(std::string_view text, std::string_view name) {
  return Reader(text, name).Run();
}

}  // namespace ptpkg::source
