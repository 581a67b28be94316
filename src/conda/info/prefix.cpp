// Placeholder detection and replacement. Layer: conda.
//
// Follows conda's core/portability.py:
// - A text file is replaced as a whole, since its length can change.
// - In a binary file nothing may move. Each string that holds the placeholder is replaced and padded with
//   NULs to its old length. The room of the placeholder therefore limits the length of an install prefix.
//
// conda's pattern needs a NUL at the end of such a string, so a string up to the end of the file stays.

#include "conda/info/prefix.h"

#include <algorithm>
#include <fmt/core.h>

#include "conda/byte_search.h"
#include "support/text/text.h"

namespace ptpkg::conda {
namespace {

constexpr std::uint64_t kMaxText = 256U << 20U;
constexpr std::size_t kReadAhead = 4096;

/// The end of the interpreter's path in a "#!" line: the first blank that no backslash escapes.
/// conda's SHEBANG_REGEX reads the line in the same way.
std::size_t InterpreterEnd(std::string_view line, std::size_t begin) {
  for (std::size_t i = begin; i < line.size(); ++i) {
    if (line[i] == '\\' && i + 1 < line.size() && line[i + 1] == ' ') {
      ++i;
    } else if (line[i] == ' ' || line[i] == '\t' || line[i] == '\r') {
      return i;
    }
  }
  return line.size();
}

std::string WithShortShebang(std::string text) {
  if (!text.starts_with("#!")) return text;
  const std::size_t line_end = std::min(text.find('\n'), text.size());
  const std::string_view line = std::string_view(text).substr(0, line_end);
  const std::size_t begin = line.find_first_not_of(' ', 2);
  if (begin == std::string_view::npos || line[begin] != '/') return text;
  const std::size_t end = InterpreterEnd(line, begin);
  const std::string_view interpreter = line.substr(begin, end - begin);
  if (line.size() <= kMaxShebang && interpreter.find(' ') == std::string_view::npos) return text;
  const std::string_view name = interpreter.substr(interpreter.rfind('/') + 1);
  // env looks on PATH, which works in an activated environment only. conda accepts that, too.
  const std::string shorter = fmt::format("#!/usr/bin/env {}{}", name, line.substr(end));
  return text.replace(0, line_end, shorter);
}

struct FileRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

/// From `begin` to the next NUL; nothing when the file ends before one.
Result<std::optional<FileRange>> CStringAt(File& file, std::uint64_t begin) {
  std::vector<std::byte> buffer(kReadAhead);
  std::uint64_t at = begin;
  while (true) {
    PTPKG_TRY(const std::size_t count, file.ReadAt(at, buffer));
    if (count == 0) return std::optional<FileRange>();
    const auto used = Bytes(buffer).first(count);
    const auto nul = std::find(used.begin(), used.end(), std::byte{0});
    if (nul != used.end()) {
      const auto length = static_cast<std::uint64_t>(nul - used.begin());
      return std::optional<FileRange>(FileRange{begin, at + length});
    }
    at += count;
    if (at - begin > kMaxText) {
      return Error(ErrorCode::kInvalidInput, "a string that holds the prefix is longer than 256 MiB");
    }
  }
}

Result<void> ReplaceRange(File& file, const FileRange& range, std::string_view placeholder,
                          std::string_view prefix) {
  std::string text(range.end - range.begin, '\0');
  PTPKG_TRY(const std::size_t count,
            file.ReadAt(range.begin, std::as_writable_bytes(std::span(text.data(), text.size()))));
  if (count != text.size()) return Error(ErrorCode::kIo, "file became shorter while its prefix was replaced");
  PTPKG_TRY(const std::string replaced, ReplaceInCString(text, placeholder, prefix));
  return file.WriteAt(range.begin, AsBytes(replaced));
}

Result<void> ReplaceInBinaryFile(Fs& fs, const AbsPath& path, const std::string& placeholder,
                                 std::string_view prefix) {
  // All occurrences are found before the first write: the search must not read replaced bytes.
  std::vector<std::uint64_t> hits;
  PTPKG_CHECK(SearchFile(fs, path, {placeholder}, [&](const SearchHit& hit) {
    hits.push_back(hit.offset);
    return true;
  }));
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kReadWrite));
  std::uint64_t done = 0;
  for (const std::uint64_t hit : hits) {
    if (hit < done) continue;  // part of the string that was just rewritten
    PTPKG_TRY(const std::optional<FileRange> range, CStringAt(*file, hit));
    if (!range) break;
    PTPKG_CHECK(ReplaceRange(*file, *range, placeholder, prefix));
    done = range->end;
  }
  return file->Close();
}

Result<void> ReplaceInTextFile(Fs& fs, const AbsPath& path, const std::string& placeholder,
                               std::string_view prefix) {
  PTPKG_TRY(std::string text, ReadFile(fs, path, kMaxText));
  const std::string replaced = ReplaceInText(text, placeholder, prefix);
  PTPKG_TRY(const std::unique_ptr<File> file, fs.Open(path, OpenMode::kReadWrite));
  PTPKG_CHECK(file->WriteAt(0, AsBytes(replaced)));
  PTPKG_CHECK(file->Truncate(replaced.size()));
  return file->Close();
}

}  // namespace

Result<std::optional<FileMode>> DetectPlaceholder(Fs& fs, const AbsPath& file,
                                                  const std::string& placeholder) {
  // A NUL anywhere makes the file binary, as in conda-build. rattler-build examines only the first 1024
  // bytes. A text head before binary data would then be replaced as text, and all bytes behind it would move.
  bool found = false;
  bool binary = false;
  PTPKG_CHECK(SearchFile(
      fs, file, {placeholder},
      [&](const SearchHit&) {
        found = true;
        return !binary;  // of a text file the rest is read too: a NUL may still come
      },
      // SearchFile passes each chunk to this function first, so `binary` covers all bytes up to a reported
      // hit.
      [&](Bytes chunk) {
        binary = binary || std::find(chunk.begin(), chunk.end(), std::byte{0}) != chunk.end();
        return !(found && binary);
      }));
  if (!found) return std::optional<FileMode>();
  return std::optional<FileMode>(binary ? FileMode::kBinary : FileMode::kText);
}

std::string ReplaceInText(std::string_view text, std::string_view placeholder, std::string_view prefix) {
  std::string replaced;
  // The blanks of a prefix would end the interpreter's path in a first line "#!". conda escapes them too, and
  // the line then becomes one of env's.
  const std::size_t path = text.starts_with("#!") ? text.find_first_not_of(' ', 2) : std::string_view::npos;
  if (path != std::string_view::npos && text.substr(path).starts_with(placeholder)) {
    replaced = fmt::format("{}{}", text.substr(0, path), ReplaceAll(prefix, " ", "\\ "));
    text.remove_prefix(path + placeholder.size());
  }
  return WithShortShebang(replaced + ReplaceAll(text, placeholder, prefix));
}

Result<std::string> ReplaceInCString(std::string_view text, std::string_view placeholder,
                                     std::string_view prefix) {
  if (prefix.size() > placeholder.size()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("prefix '{}' is longer than the package's placeholder of {} characters", prefix,
                             placeholder.size()))
        .WithHint("install into a shorter path");
  }
  std::string replaced = ReplaceAll(text, placeholder, prefix);
  replaced.resize(text.size(), '\0');
  return replaced;
}

Result<void> ReplacePrefix(Fs& fs, const AbsPath& file, const PathsEntry& entry, std::string_view prefix) {
  if (entry.placeholder.empty()) return Ok();
  const std::string frame = fmt::format("while replacing the prefix in '{}'", entry.path);
  if (entry.mode == FileMode::kText) {
    PTPKG_CHECK(ReplaceInTextFile(fs, file, entry.placeholder, prefix), frame);
  } else {
    PTPKG_CHECK(ReplaceInBinaryFile(fs, file, entry.placeholder, prefix), frame);
  }
  return Ok();
}

}  // namespace ptpkg::conda
