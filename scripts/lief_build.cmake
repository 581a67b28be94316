# Included by LIEF's own project() call when scripts/build_lief configures it: 60 instead of 326 CPU seconds, and an
# archive of 4 instead of 25 MB. The sources are unchanged.
# - They are compiled a dozen at a time. Left alone: C (mbedtls repeats names of static functions) and the three files
#   that include an unguarded Object.tcc.
# - Nearly every source instantiates the header-only spdlog for messages that ptpkg switches off: lief_quiet.h takes the
#   place of LIEF's logging.hpp, lief_quiet.cpp that of its logging.cpp.
# - TLS is not used by LIEF itself.
set(lief_quiet ${CMAKE_CURRENT_LIST_DIR}/lief_quiet)
cmake_language(DEFER CALL set_target_properties LIB_LIEF PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 12)
cmake_language(DEFER CALL target_compile_options LIB_LIEF PRIVATE
  "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include ${lief_quiet}.h>")
cmake_language(DEFER CALL target_sources LIB_LIEF PRIVATE ${lief_quiet}.cpp)
cmake_language(DEFER CALL set_source_files_properties
  "${CMAKE_CURRENT_SOURCE_DIR}/src/logging.cpp" ${mbedtls_src_tls} PROPERTIES HEADER_FILE_ONLY ON)
cmake_language(DEFER CALL set_source_files_properties
  ${mbedtls_src_crypto} ${mbedtls_src_x509}
  "${CMAKE_CURRENT_SOURCE_DIR}/src/ELF/Binary.cpp"
  "${CMAKE_CURRENT_SOURCE_DIR}/src/ELF/Builder.cpp"
  "${CMAKE_CURRENT_SOURCE_DIR}/src/ELF/Parser.cpp"
  PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
