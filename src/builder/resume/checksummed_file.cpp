#include "builder/resume/checksummed_file.h"

#include <fmt/core.h>

#include "support/digest/hash.h"

namespace ptpkg::builder {

Error DamagedFile(const AbsPath& file) {
  return {ErrorCode::kCorrupt, fmt::format("'{}' is damaged", file.str())};
}

Result<std::string> ReadSealedFile(Fs& fs, const AbsPath& file, std::string_view head) {
  PTPKG_TRY(const std::string text, ReadFile(fs, file));
  const std::size_t line = text.find('\n');
  if (!text.starts_with(head) || line == std::string::npos) return DamagedFile(file);
  std::string rest = text.substr(line + 1);
  if (text.substr(head.size(), line - head.size()) != HashText(rest).Hex()) return DamagedFile(file);
  return rest;
}

Result<void> WriteSealedFile(Fs& fs, const AbsPath& file, std::string_view head, const std::string& rest) {
  return WriteFile(fs, file, fmt::format("{}{}\n", head, HashText(rest).Hex()) + rest);
}

}  // namespace ptpkg::builder
