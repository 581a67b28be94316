// Chooses the reader by the first bytes. Layer: archive.

#include <array>

#include "archive/extract.h"

namespace ptpkg::archive {
namespace {

/// A zip begins with a local header, or with the end record if it has no members.
bool LooksLikeZip(std::string_view start) { return start == "PK\x03\x04" || start == "PK\x05\x06"; }

}  // namespace

Result<void> ExtractAny(Env& env, const AbsPath& archive, const AbsPath& destination,
                        const ExtractOptions& options) {
  PTPKG_TRY(const std::unique_ptr<File> file, env.fs.Open(archive, OpenMode::kRead));
  std::array<std::byte, 4> start{};
  PTPKG_TRY(const std::size_t got, file->ReadAt(0, start));
  if (LooksLikeZip(AsText(Bytes(start).first(got)))) return ExtractZip(env, archive, destination, options);
  PTPKG_TRY(const FileStat stat, file->Stat());
  FileSource source(*file);
  return ExtractTar(env, source, archive.str(), destination, options, stat.size_bytes);
}

}  // namespace ptpkg::archive
