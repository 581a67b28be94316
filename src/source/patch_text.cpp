// A patch is untrusted text, and the program `patch` follows whatever names are in it. So ptpkg reads the
// whole patch before any program does. It finds each file that the patch would touch, and refuses forms that
// it cannot judge.
//
// The reader knows unified diffs and git's extended header. It counts the lines of each hunk by its header,
// because a hunk may contain lines that look like headers. Text outside hunks is prose and may begin with
// anything. Only the lines that directly follow "diff --git" are git's.
//
// A git header without hunks can be a change by itself: a rename, a mode, an empty or binary file. It
// therefore ends only when the next header, a file header or the end of the text comes (EndGitHeader).
//
// Invariant: every path is relative and stays in the tree, before and after stripping. Quoted names, context
// diffs and binary changes without data are refused. `needs_git` marks changes that only `git apply` carries
// out.

#include "source/patch_text.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <optional>

#include "support/text/text.h"

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

/// The names of "diff --git a/NAME b/NAME", which has one name where no other line tells it.
std::optional<PatchChange> GitHeaderNames(std::string_view line) {
  constexpr std::string_view kMark = "diff --git ";
  line.remove_prefix(kMark.size());
  for (std::size_t at = line.find(' '); at != std::string_view::npos; at = line.find(' ', at + 1)) {
    const std::string_view left = line.substr(0, at);
    const std::string_view right = line.substr(at + 1);
    const bool prefixed =
        left.starts_with("a/") && right.starts_with("b/") && left.substr(2) == right.substr(2);
    if (prefixed || left == right) {
      return PatchChange{.before = std::string(left), .after = std::string(right), .from_git = true};
    }
  }
  return std::nullopt;
}

class Reader {
 public:
  Reader(std::string_view text, std::string_view name) : lines_(SplitLines(text)), name_(name) {}

  Result<PatchText> Run() {
    while (at_ < lines_.size()) PTPKG_CHECK(Line());
    PTPKG_CHECK(EndGitHeader());
    if (patch_.changes.empty()) return Fail(ErrorCode::kInvalidInput, "it changes no file");
    patch_.has_prefixes =
        std::all_of(patch_.changes.begin(), patch_.changes.end(), [](const PatchChange& change) {
          const bool before = change.before.empty() || change.before.starts_with("a/");
          return change.bare_names || (before && (change.after.empty() || change.after.starts_with("b/")));
        });
    return std::move(patch_);
  }

 private:
  Result<void> Line() {
    const std::string_view line = lines_[at_];
    const std::string_view next =
        at_ + 1 < lines_.size() ? std::string_view(lines_[at_ + 1]) : std::string_view();
    if (line.starts_with("*** ") && next.starts_with("--- ")) {
      return Fail(ErrorCode::kUnsupported, "it is a context diff, not a unified one");
    }
    if (line.starts_with("Binary files ") && line.ends_with(" differ")) {
      return Fail(ErrorCode::kUnsupported,
                  "it holds a binary change without its data (git diff --binary writes it)");
    }
    // Only what git itself writes after "diff --git" counts; prose above a patch may begin with anything.
    if (line.starts_with("diff --git ")) {
      PTPKG_CHECK(EndGitHeader());
      in_git_header_ = true;
      header_ = GitHeaderNames(line).value_or(PatchChange{.before = "", .after = "", .from_git = true});
    } else if (in_git_header_) {
      PTPKG_CHECK(GitLine(line));
    }
    if (line.starts_with("--- ") && next.starts_with("+++ "))
      return FileHeader(line.substr(4), next.substr(4));
    ++at_;
    return Ok();
  }

  /// One line of git's extended header.
  Result<void> GitLine(std::string_view line) {
    const auto rest = [&](std::string_view word) { return std::string(line.substr(word.size())); };
    if (line == "GIT binary patch") {
      patch_.needs_git = true;
      says_something_ = true;
    }
    for (const std::string_view word : {"rename from ", "copy from "}) {
      if (line.starts_with(word)) bare_.before = rest(word);
    }
    for (const std::string_view word : {"rename to ", "copy to "}) {
      if (line.starts_with(word)) bare_.after = rest(word);
    }
    for (const std::string_view word : {"new file mode ", "deleted file mode ", "old mode ", "new mode "}) {
      if (!line.starts_with(word)) continue;
      says_something_ = true;
      if (word == "new file mode ") header_.before.clear();
      if (word == "deleted file mode ") header_.after.clear();
      if (rest(word) == "120000") patch_.has_symlinks = true;
    }
    if (line.starts_with("index ") && line.ends_with(" 120000")) patch_.has_symlinks = true;
    return Ok();
  }

  /// A header that no hunks follow may be a change by itself.
  Result<void> EndGitHeader() {
    if (in_git_header_ && !bare_.after.empty()) {
      bare_.bare_names = true;
      bare_.from_git = true;
      PTPKG_CHECK(Add(bare_));
    } else if (in_git_header_ && says_something_) {
      if (header_.before.empty() && header_.after.empty()) {
        return Fail(ErrorCode::kUnsupported, "the line 'diff --git' is malformed");
      }
      PTPKG_CHECK(Add(header_));
    }
    in_git_header_ = false;
    says_something_ = false;
    bare_ = {};
    return Ok();
  }

  Result<void> FileHeader(std::string_view before, std::string_view after) {
    const auto path = [](std::string_view text) {
      text = text.substr(0, text.find('\t'));
      return std::string(text == "/dev/null" ? "" : text);
    };
    PatchChange change{.before = path(before), .after = path(after), .from_git = in_git_header_};
    in_git_header_ = in_git_header_ && !bare_.after.empty();  // a rename counts, too
    PTPKG_CHECK(EndGitHeader());
    if (change.before.empty() && change.after.empty())
      return Fail(ErrorCode::kInvalidInput, "it changes no file");
    at_ += 2;
    // Without lines before, there was no file, whatever its name is.
    const auto size = at_ < lines_.size() ? ParseHunkHeader(lines_[at_]) : std::nullopt;
    if (size && size->old_lines == 0 && lines_[at_].starts_with("@@ -0,")) change.before.clear();
    at_ -= 2;
    PTPKG_CHECK(Add(change));
    at_ += 2;
    return Hunks();
  }

  Result<void> Hunks() {
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
        return Fail(ErrorCode::kInvalidInput, "the hunk is truncated");
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

  Result<void> Add(const PatchChange& change) {
    for (const std::string& path : {change.before, change.after}) {
      if (path.empty()) continue;
      if (path.starts_with('"'))
        return Fail(ErrorCode::kUnsupported, fmt::format("the path {} is quoted", path));
      if (path.starts_with('/')) {
        return Fail(ErrorCode::kInvalidInput, fmt::format("the path '{}' is absolute", path));
      }
      if (RelPath::Parse(path)) continue;
      return Fail(ErrorCode::kInvalidInput, fmt::format("the path '{}' leaves the source tree", path));
    }
    // git doesn't quote blanks in names, and only git reads such names back.
    const bool blank = (change.before + change.after).find(' ') != std::string::npos;
    if (change.from_git && blank) patch_.needs_git = true;
    patch_.changes.push_back(change);
    return Ok();
  }

  Error Fail(ErrorCode code, const std::string& reason) const {
    const std::size_t line = std::min(at_, lines_.empty() ? 0 : lines_.size() - 1);
    const std::string excerpt = lines_.empty() ? std::string() : lines_[line];
    return Error(code, fmt::format("unsafe patch '{}': {}", name_, reason))
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
  bool says_something_ = false;  // of the header: a change even without hunks
  PatchChange header_;           // by the line "diff --git"
  PatchChange bare_;             // by lines "rename from" and so on
  PatchText patch_;
};

}  // namespace

Result<PatchText> ReadPatch(std::string_view text, std::string_view name) { return Reader(text, name).Run(); }

std::string StripComponents(std::string_view path, std::size_t strip, bool bare_name) {
  if (bare_name && strip > 0) --strip;
  for (; strip > 0; --strip) {
    const std::size_t slash = path.find('/');
    if (slash == std::string_view::npos) return "";
    path.remove_prefix(slash + 1);
  }
  return std::string(path);
}

}  // namespace ptpkg::source
