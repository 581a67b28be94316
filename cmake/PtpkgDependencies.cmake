# Every third-party library, in one place: what it is for is said in docs/decisions/0004.
# All come from the system's packages (scripts/packages.txt, installed by scripts/bootstrap) but
# LIEF, which scripts/build_lief keeps in the user's cache.

find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(CURL REQUIRED)
find_package(TBB REQUIRED)
pkg_check_modules(YAMLCPP REQUIRED IMPORTED_TARGET yaml-cpp)
pkg_check_modules(LIBARCHIVE REQUIRED IMPORTED_TARGET libarchive)
pkg_check_modules(LIBZIP REQUIRED IMPORTED_TARGET libzip)
pkg_check_modules(LIBDEFLATE REQUIRED IMPORTED_TARGET libdeflate)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
find_package(BZip2 REQUIRED)

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

if(BUILD_TESTING)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()
