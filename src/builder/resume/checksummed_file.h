#pragma once
// Reads and writes record files with a checksum. Layer: builder, private to it. Not JSON: names in sources
// need not be UTF-8.
//
//   <head><sha256 of the rest>\n<rest>

#include <charconv>
#include <string>
#include <string_view>

#include "support/files/fs.h"

namespace ptpkg::builder {

/// kCorrupt: "'FILE' is damaged".
Error DamagedFile(const AbsPath& file);

/// The rest. Errors: kNotFound, kIo; kCorrupt for another head or digest.
Result<std::string> ReadSealedFile(Fs& fs, const AbsPath& file, std::string_view head);
/// Replaces `file`, whole or not at all. Errors: kIo.
Result<void> WriteSealedFile(Fs& fs, const AbsPath& file, std::string_view head, const std::string& rest);

/// Returns true if the whole of `text` is a decimal number, and stores it in `number`.
template <class Number>
bool ReadNumber(std::string_view text, Number& number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc() && end == text.data() + text.size();
}

}  // namespace ptpkg::builder
