// Splices of deflate streams for deflate_splice.py: one question a line on standard input, fields separated
// by tabs, one answer a line on standard output.
//   STREAM CONTENT OUT LEVEL OLD_SIZE OFFSET+LENGTH…
// STREAM, CONTENT and OUT are absolute paths: a raw stream of OLD_SIZE bytes of content; the content that it
// is to have, which differs in the named ranges and may be longer; where the new stream goes. The answer is
// "CRC32 KEPT_BLOCKS ENCODED_BLOCKS", or "error: …".

#include <charconv>
#include <fmt/core.h>
#include <iostream>

#include "archive/deflate/deflate_splice.h"
#include "support/test_env.h"
#include "support/text/text.h"

namespace ptpkg {
namespace {

Result<std::uint64_t> Number(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failure == std::errc() && end == text.data() + text.size()) return number;
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a number", text));
}

Result<archive::ContentEdits> EditsOf(const std::string& content, std::uint64_t old_size,
                                      const std::vector<std::string>& ranges) {
  archive::ContentEdits edits{.appended = content.substr(old_size)};
  for (const std::string& range : ranges) {
    const std::size_t plus = range.find('+');
    PTPKG_TRY(const std::uint64_t offset, Number(std::string_view(range).substr(0, plus)));
    PTPKG_TRY(const std::uint64_t length, Number(std::string_view(range).substr(plus + 1)));
    edits.replaced.push_back({.offset = offset, .bytes = content.substr(offset, length)});
  }
  return edits;
}

Result<std::string> SpliceAnswer(Env& env, const std::vector<std::string>& fields) {
  if (fields.size() < 5) return Error(ErrorCode::kInvalidInput, "a question has five fields or more");
  PTPKG_TRY(const AbsPath stream, AbsPath::Parse(fields[0]));
  PTPKG_TRY(const AbsPath target, AbsPath::Parse(fields[1]));
  PTPKG_TRY(const AbsPath out, AbsPath::Parse(fields[2]));
  PTPKG_TRY(const std::uint64_t level, Number(fields[3]));
  PTPKG_TRY(const std::uint64_t old_size, Number(fields[4]));
  PTPKG_TRY(const std::string content, ReadFile(env.fs, target));
  PTPKG_TRY(const archive::ContentEdits edits,
            EditsOf(content, old_size, {fields.begin() + 5, fields.end()}));
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(stream, OpenMode::kRead));
  PTPKG_TRY(const FileStat stat, file->Stat());
  StringSink sink;
  PTPKG_TRY(const archive::SplicedStream spliced,
            archive::SpliceDeflate(*file, {.stored_bytes = stat.size_bytes, .size_bytes = old_size}, edits,
                                   static_cast<int>(level), sink));
  PTPKG_CHECK(WriteFile(env.fs, out, sink.str()));
  return fmt::format("{} {} {}", spliced.crc32, spliced.kept_blocks, spliced.encoded_blocks);
}

}  // namespace
}  // namespace ptpkg

int main() {
  ptpkg::test::TestEnv env;
  std::string line;
  while (std::getline(std::cin, line)) {
    const auto answer = ptpkg::SpliceAnswer(env, ptpkg::Split(line, '\t'));
    std::cout << (answer ? *answer : "error: " + answer.error().message()) << '\n';
  }
  return 0;
}
