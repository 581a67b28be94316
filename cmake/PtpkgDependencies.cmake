# Every third-party library, in one place: what it is for is said in docs/decisions/0004.
# All come from the system's packages (scripts/packages.txt, installed by scripts/bootstrap) but
# LIEF, which scripts/build_lief keeps in the user's cache.

# recipes/ptpkg: static archives of Debian, and of the three libraries that Debian has only as shared ones.
if(PTPKG_SELF_CONTAINED)
  set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
  set(OPENSSL_USE_STATIC_LIBS ON)
  add_compile_options(-ffunction-sections -fdata-sections)
  add_link_options(-static-libstdc++ -s -Wl,--gc-sections -Wl,--as-needed -Wl,--exclude-libs,ALL)
endif()

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(tomlplusplus 3 REQUIRED)  # for its version: the headers alone are used (src/cli/configuration.cpp)
find_package(OpenSSL 3 REQUIRED)
find_package(CURL REQUIRED)
find_package(pugixml 1.13 REQUIRED)
pkg_check_modules(YAMLCPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(LIBARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(UTF8PROC REQUIRED IMPORTED_TARGET libutf8proc)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZLIB REQUIRED IMPORTED_TARGET zlib)  # answers of servers; a fuzzer's second judge of deflate streams
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
find_package(BZip2 REQUIRED)
set(PTPKG_PUGIXML pugixml::pugixml)
if(PTPKG_SELF_CONTAINED)
  set(PTPKG_PUGIXML pugixml::static)
  find_library(PTPKG_STATIC_lzma lzma REQUIRED)
  target_link_libraries(PkgConfig::LIBZIP INTERFACE BZip2::BZip2 ${PTPKG_STATIC_lzma} PkgConfig::ZLIB)
endif()

# The shared libarchive draws in libxml2, ICU and others for formats that are not read here: 1.6 MB and 0.5 ms of every
# start of the program. From the static one the linker takes what is used, where that links without the rest.
# --gc-sections drops the ciphers of zip and 7z. They alone call nettle (LGPL), so self-contained programs link without it.
# Shared libraries such as libcurl load nettle anyway, and ld then wants it on the command line.
include(CheckCXXSourceCompiles)
find_library(PTPKG_LIBARCHIVE_A libarchive.a)
set(archive_needs BZip2::BZip2 PkgConfig::ZSTD)
set(archive_libraries lzma z)
if(NOT PTPKG_SELF_CONTAINED)
  list(PREPEND archive_libraries nettle)
endif()
foreach(name IN LISTS archive_libraries)
  find_library(PTPKG_STATIC_${name} ${name})
  list(APPEND archive_needs ${PTPKG_STATIC_${name}})
endforeach()
set(CMAKE_REQUIRED_LIBRARIES ${PTPKG_LIBARCHIVE_A} ${archive_needs})
set(CMAKE_REQUIRED_LINK_OPTIONS -Wl,--gc-sections)
check_cxx_source_compiles("
  #include <archive.h>
  int main() {
    archive* in = archive_read_new();
    archive* out = archive_write_new();
    return archive_read_support_format_tar(in) + archive_read_support_format_empty(in) +
           archive_read_support_format_raw(in) + archive_read_support_filter_bzip2(in) +
           archive_read_support_filter_gzip(in) + archive_read_support_filter_xz(in) +
           archive_read_support_filter_zstd(in) + archive_read_set_options(in, nullptr) +
           archive_write_set_format_ustar(out) + archive_write_set_format_pax_restricted(out) +
           archive_write_set_options(out, nullptr);
  }" PTPKG_LIBARCHIVE_LINKS_STATICALLY)
unset(CMAKE_REQUIRED_LIBRARIES)
unset(CMAKE_REQUIRED_LINK_OPTIONS)
if(PTPKG_LIBARCHIVE_LINKS_STATICALLY)
  # Imported, so that CMake puts what the archive needs behind it.
  add_library(ptpkg_libarchive STATIC IMPORTED)
  set_target_properties(ptpkg_libarchive PROPERTIES
    IMPORTED_LOCATION ${PTPKG_LIBARCHIVE_A}
    INTERFACE_LINK_LIBRARIES "${archive_needs}"
    INTERFACE_LINK_OPTIONS -Wl,--gc-sections
    INTERFACE_INCLUDE_DIRECTORIES "${LIBARCHIVE_INCLUDE_DIRS}")
else()
  add_library(ptpkg_libarchive INTERFACE)
  target_link_libraries(ptpkg_libarchive INTERFACE PkgConfig::LIBARCHIVE)
endif()

# LIEF::LIEF: an installed LIEF of at least 0.12.3 (LIEF_DIR or CMAKE_PREFIX_PATH), else the cached one.
find_package(LIEF 0.12.3 QUIET)
if(NOT LIEF_FOUND)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  execute_process(COMMAND ${Python3_EXECUTABLE} ${CMAKE_SOURCE_DIR}/scripts/build_lief --print-prefix
                  OUTPUT_VARIABLE PTPKG_LIEF_PREFIX OUTPUT_STRIP_TRAILING_WHITESPACE
                  RESULT_VARIABLE lief_status)
  if(NOT lief_status EQUAL 0 OR NOT EXISTS ${PTPKG_LIEF_PREFIX})
    message(FATAL_ERROR "LIEF is not built yet; run: scripts/bootstrap")
  endif()
  find_package(LIEF 0.12.3 REQUIRED PATHS ${PTPKG_LIEF_PREFIX} NO_DEFAULT_PATH)
endif()
# It says what is the default anyway, and the compiler then leaves the precompiled header aside.
get_target_property(lief_definitions LIEF::LIEF INTERFACE_COMPILE_DEFINITIONS)
if(lief_definitions)
  list(REMOVE_ITEM lief_definitions _GLIBCXX_USE_CXX11_ABI=1)
  set_property(TARGET LIEF::LIEF PROPERTY INTERFACE_COMPILE_DEFINITIONS ${lief_definitions})
endif()

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
