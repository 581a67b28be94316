#pragma once
// libzip, loaded by the first member that needs it (zip_content.h): linked to the program it and libcrypto,
// which it needs, took 2 MB of every run. Layer: archive, private to it.

#include <zip.h>

#include "support/result.h"

namespace ptpkg::archive::zip {

struct ZipLibrary {
  decltype(&zip_discard) discard = nullptr;
  decltype(&zip_error_code_zip) error_code_zip = nullptr;
  decltype(&zip_error_fini) error_fini = nullptr;
  decltype(&zip_error_init) error_init = nullptr;
  decltype(&zip_error_set) error_set = nullptr;
  decltype(&zip_error_strerror) error_strerror = nullptr;
  decltype(&zip_error_to_data) error_to_data = nullptr;
  decltype(&zip_fclose) fclose = nullptr;
  decltype(&zip_file_get_error) file_get_error = nullptr;
  decltype(&zip_fopen_index) fopen_index = nullptr;
  decltype(&zip_fread) fread = nullptr;
  decltype(&zip_get_error) get_error = nullptr;
  decltype(&zip_get_name) get_name = nullptr;
  decltype(&zip_open_from_source) open_from_source = nullptr;
  decltype(&zip_source_free) source_free = nullptr;
  decltype(&zip_source_function_create) source_function_create = nullptr;
  decltype(&zip_source_make_command_bitmap) source_make_command_bitmap = nullptr;
  decltype(&zip_source_seek_compute_offset) source_seek_compute_offset = nullptr;
  decltype(&zip_stat_init) stat_init = nullptr;
};

/// Loads libzip; later calls return what the first one did. Never unloaded. Errors: kUnsupported.
Result<void> LoadZip();

/// REQUIRES: LoadZip() succeeded.
const ZipLibrary& Zip();

}  // namespace ptpkg::archive::zip
