#include "archive/zip/zip_library.h"

#include "support/process/shared_library.h"

namespace ptpkg::archive::zip {
namespace {

Result<ZipLibrary> Load() {
  PTPKG_TRY(const SharedLibrary library, SharedLibrary::Load(PTPKG_LIBZIP_SONAME));
  ZipLibrary zip;
  PTPKG_CHECK(library.Find("zip_discard", zip.discard));
  PTPKG_CHECK(library.Find("zip_error_code_zip", zip.error_code_zip));
  PTPKG_CHECK(library.Find("zip_error_fini", zip.error_fini));
  PTPKG_CHECK(library.Find("zip_error_init", zip.error_init));
  PTPKG_CHECK(library.Find("zip_error_set", zip.error_set));
  PTPKG_CHECK(library.Find("zip_error_strerror", zip.error_strerror));
  PTPKG_CHECK(library.Find("zip_error_to_data", zip.error_to_data));
  PTPKG_CHECK(library.Find("zip_fclose", zip.fclose));
  PTPKG_CHECK(library.Find("zip_file_get_error", zip.file_get_error));
  PTPKG_CHECK(library.Find("zip_fopen_index", zip.fopen_index));
  PTPKG_CHECK(library.Find("zip_fread", zip.fread));
  PTPKG_CHECK(library.Find("zip_get_error", zip.get_error));
  PTPKG_CHECK(library.Find("zip_get_name", zip.get_name));
  PTPKG_CHECK(library.Find("zip_open_from_source", zip.open_from_source));
  PTPKG_CHECK(library.Find("zip_source_free", zip.source_free));
  PTPKG_CHECK(library.Find("zip_source_function_create", zip.source_function_create));
  PTPKG_CHECK(library.Find("zip_source_make_command_bitmap", zip.source_make_command_bitmap));
  PTPKG_CHECK(library.Find("zip_source_seek_compute_offset", zip.source_seek_compute_offset));
  PTPKG_CHECK(library.Find("zip_stat_init", zip.stat_init));
  return zip;
}

const Result<ZipLibrary>& Loaded() {
  static const Result<ZipLibrary> kLibrary = Load();
  return kLibrary;
}

}  // namespace

Result<void> LoadZip() {
  if (!Loaded()) return Loaded().error();
  return Ok();
}

const ZipLibrary& Zip() { return *Loaded(); }

}  // namespace ptpkg::archive::zip
