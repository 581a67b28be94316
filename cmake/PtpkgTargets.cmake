# Target functions: every target of ptpkg gets the same warnings and sanitizers from here.

# ptpkg_set_defaults(target): warnings as docs/decisions/0002 lists them, sanitizers, clang-tidy.
function(ptpkg_set_defaults target)
  target_compile_options(${target} PRIVATE
    -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wsign-conversion -Wold-style-cast
    -Wnon-virtual-dtor -Woverloaded-virtual -Wformat=2
    $<$<CXX_COMPILER_ID:GNU>:-Wuseless-cast -Wduplicated-cond -Wlogical-op>
    $<$<AND:$<CXX_COMPILER_ID:GNU>,$<VERSION_LESS:$<CXX_COMPILER_VERSION>,13>>:-Wno-restrict>
    $<$<BOOL:${PTPKG_WERROR}>:-Werror>)
  target_compile_definitions(${target} PRIVATE $<$<CONFIG:Debug>:_GLIBCXX_ASSERTIONS>)
  if(PTPKG_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${PTPKG_SANITIZE} -fno-sanitize-recover=all
                                             -fno-omit-frame-pointer)
    target_link_options(${target} PRIVATE -fsanitize=${PTPKG_SANITIZE})
  endif()
  if(PTPKG_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "clang-tidy;--quiet;--extra-arg=-Wno-unknown-warning-option")
  endif()
endfunction()

# ptpkg_precompile(target): with PTPKG_PCH, the headers that most sources include are parsed once. Off
# in dev, where a source that includes too little has to fail.
function(ptpkg_precompile target)
  if(NOT PTPKG_PCH)
    return()
  endif()
  if(NOT TARGET ptpkg_pch)
    file(WRITE ${CMAKE_BINARY_DIR}/pch.cpp "// Holds the precompiled headers.\n")
    add_library(ptpkg_pch OBJECT ${CMAKE_BINARY_DIR}/pch.cpp)
    target_precompile_headers(ptpkg_pch PRIVATE
      <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string>
      <string_view> <utility> <variant> <vector> <fmt/format.h> <nlohmann/json.hpp>)
    target_link_libraries(ptpkg_pch PRIVATE fmt::fmt nlohmann_json::nlohmann_json)
    ptpkg_set_defaults(ptpkg_pch)
  endif()
  target_precompile_headers(${target} REUSE_FROM ptpkg_pch)
endfunction()

# ptpkg_add_stage(name SOURCES a.cpp… [DEPENDS support…] [LIBRARIES Lib::Lib…] [PUBLIC_LIBRARIES …])
# The static library ptpkg_<name> of src/<name>. DEPENDS names other stages; LIBRARIES stay private.
function(ptpkg_add_stage name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LIBRARIES;PUBLIC_LIBRARIES" ${ARGN})
  add_library(ptpkg_${name} STATIC ${ARG_SOURCES})
  target_include_directories(ptpkg_${name} PUBLIC ${CMAKE_SOURCE_DIR}/src)
  list(TRANSFORM ARG_DEPENDS PREPEND ptpkg_)
  target_link_libraries(ptpkg_${name} PUBLIC ${ARG_DEPENDS} ${ARG_PUBLIC_LIBRARIES}
                                      PRIVATE ${ARG_LIBRARIES})
  ptpkg_set_defaults(ptpkg_${name})
  ptpkg_precompile(ptpkg_${name})
endfunction()

# ptpkg_add_test(name SOURCES a_test.cpp… DEPENDS elf… [LABELS unit] [LIBRARIES …])
# The GoogleTest program test_<name>; each TEST becomes a ctest of its own, labelled.
function(ptpkg_add_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPENDS;LABELS;LIBRARIES" ${ARGN})
  if(NOT ARG_LABELS)
    set(ARG_LABELS unit)
  endif()
  add_executable(test_${name} ${ARG_SOURCES})
  list(TRANSFORM ARG_DEPENDS PREPEND ptpkg_)
  target_link_libraries(test_${name} PRIVATE ${ARG_DEPENDS} ${ARG_LIBRARIES} ptpkg_test_support
                                             GTest::gmock GTest::gtest GTest::gtest_main)
  target_include_directories(test_${name} PRIVATE ${CMAKE_SOURCE_DIR}/tests)
  ptpkg_set_defaults(test_${name})
  gtest_discover_tests(test_${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
