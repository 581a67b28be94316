// Classifies files by name alone, for listings without contents. Metadata comes first, because a .json
// below .dist-info is metadata and not text. A name with a version after ".so" is a library, and a name
// such as "libx.so.md" is not. Content corrects the class later: ELF files are recognised by their first
// bytes.

#include "inspect/file_class.h"

#include <algorithm>
#include <array>
#include <span>

namespace ptpkg::inspect {
namespace {

constexpr std::array<std::string_view, 4> kPythonNames = {".py", ".pyi", ".pyx", ".pxd"};
constexpr std::array<std::string_view, 8> kHeaderNames = {".h",   ".hh",  ".hpp", ".hxx",
                                                          ".cuh", ".inl", ".inc", ".ipp"};
constexpr std::array<std::string_view, 9> kArchiveNames = {".zip", ".whl", ".egg", ".jar", ".gz",
                                                           ".bz2", ".xz",  ".zst", ".tar"};
constexpr std::array<std::string_view, 15> kTextNames = {".txt", ".md",   ".rst", ".json", ".yaml",
                                                         ".yml", ".toml", ".cfg", ".ini",  ".cmake",
                                                         ".pc",  ".html", ".css", ".js",   ".csv"};

bool EndsWithAny(std::string_view name, std::span<const std::string_view> endings) {
  return std::any_of(endings.begin(), endings.end(),
                     [&](std::string_view ending) { return name.ends_with(ending); });
}

/// "libx.so", "libx.so.1.2".
bool IsSharedLibraryName(std::string_view name) {
  const std::size_t mark = name.rfind(".so");
  if (mark == std::string_view::npos || mark == 0) return false;
  const std::string_view rest = name.substr(mark + 3);
  return rest.empty() ||
         (rest.front() == '.' && rest.find_first_not_of(".0123456789") == std::string_view::npos);
}

bool IsMetadataPath(std::string_view path) {
  const std::string_view top = path.substr(0, path.find('/'));
  if (top.size() == path.size()) return false;
  return top == "info" || top.ends_with(".dist-info") || top.ends_with(".egg-info");
}

}  // namespace

std::string_view FileClassName(FileClass file_class) {
  static constexpr std::array<std::string_view, 9> kNames = {
      "elf", "static archive", "archive", "python", "header", "metadata", "text", "symlink", "data"};
  return kNames.at(static_cast<std::size_t>(file_class));
}

FileClass ClassOfName(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (IsMetadataPath(path)) return FileClass::kMetadata;
  if (IsSharedLibraryName(name) || name.ends_with(".o")) return FileClass::kElf;
  if (name.ends_with(".a")) return FileClass::kStaticArchive;
  if (EndsWithAny(name, kPythonNames)) return FileClass::kPython;
  if (EndsWithAny(name, kHeaderNames)) return FileClass::kHeader;
  if (EndsWithAny(name, kArchiveNames)) return FileClass::kArchive;
  if (EndsWithAny(name, kTextNames)) return FileClass::kText;
  return FileClass::kData;
}

}  // namespace ptpkg::inspect
