# Target functions: every target of ptpkg gets the same warnings and sanitizers from here.

# ptpkg_set_defaults(target): warnings as docs/decisions/0002 lists them, sanitizers, counters, clang-tidy.
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
  if(PTPKG_COVERAGE)
    target_compile_options(${target} PRIVATE --coverage -fprofile-update=atomic)
    target_link_options(${target} PRIVATE --coverage)
  endif()
  if(PTPKG_LIBFUZZER)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)  # libFuzzer sees the branches of the stages too
  endif()
  if(PTPKG_TIDY)
    set_target_properties(${target} PROPERTIES CXX_CLANG_TIDY "clang-tidy;--quiet;--extra-arg=-Wno-unknown-warning-option")
  endif()
endfunction()

# ptpkg_precompile(target name [OPTIONS …] [LIBRARIES …] HEADERS …): headers that many sources include, parsed once for all targets
# that name the same `name`, compiled with OPTIONS as those are. Does nothing without PTPKG_PCH, and with ccache, which cannot share objects between
# clones whose precompiled headers differ. A source that includes too little fails only without them: in builds with
# ccache, and in the nightly coverage.
function(ptpkg_precompile target name)
  if(NOT PTPKG_PCH OR "${CMAKE_CXX_COMPILER_LAUNCHER}" MATCHES "ccache")
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "OPTIONS;LIBRARIES;HEADERS" ${ARGN})
  if(NOT TARGET ptpkg_${name})
    file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/${name}.cpp CONTENT "// Holds precompiled headers.\n")
    add_library(ptpkg_${name} OBJECT ${CMAKE_BINARY_DIR}/${name}.cpp)
    target_precompile_headers(ptpkg_${name} PRIVATE ${ARG_HEADERS})
    target_link_libraries(ptpkg_${name} PRIVATE ${ARG_LIBRARIES})
    target_compile_options(ptpkg_${name} PRIVATE ${ARG_OPTIONS})
    ptpkg_set_defaults(ptpkg_${name})
  endif()
  target_precompile_headers(${target} REUSE_FROM ptpkg_${name})
  target_compile_options(${target} PRIVATE -fPIC)  # as those headers: the -fPIE of a program would refuse them
endfunction()

set(PTPKG_PCH_HEADERS
  <algorithm> <array> <chrono> <cstdint> <functional> <map> <memory> <optional> <set> <span> <string> <string_view>
  <utility> <variant> <vector> <fmt/core.h>)

# ptpkg_compile_together(target): with PTPKG_UNITY, several sources at a time; scripts/check_names keeps those of a folder fit
# for it.
function(ptpkg_compile_together target)
  if(NOT PTPKG_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 8)
  # What is said of two sources and true of none: a local variable named as what the other defines for itself; and of each
  # source that is not the main file, that a type in its anonymous namespace could differ elsewhere.
  target_compile_options(${target} PRIVATE -Wno-shadow)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# ptpkg_compile_stage_faster(target): does what PTPKG_PCH and PTPKG_UNITY ask for.
function(ptpkg_compile_stage_faster target)
  ptpkg_precompile(${target} pch LIBRARIES fmt::fmt nlohmann_json::nlohmann_json
                   HEADERS ${PTPKG_PCH_HEADERS} <nlohmann/json.hpp>)
  ptpkg_compile_together(${target})
endfunction()

set(PTPKG_TEST_OPTIONS $<$<CONFIG:Debug,Release>:-O0>)

# ptpkg_compile_test_faster(target): GoogleMock is half of what a test costs.
function(ptpkg_compile_test_faster target)
  ptpkg_precompile(${target} test_pch OPTIONS ${PTPKG_TEST_OPTIONS}
                   LIBRARIES fmt::fmt nlohmann_json::nlohmann_json GTest::gmock GTest::gtest
                   HEADERS ${PTPKG_PCH_HEADERS} <gmock/gmock.h> <gtest/gtest.h> <nlohmann/json.hpp>)
  ptpkg_compile_together(${target})
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
  ptpkg_compile_stage_faster(ptpkg_${name})
endfunction()

# ptpkg_set_test_defaults(target): as ptpkg_set_defaults, for what only tests run: not optimised, since nobody waits for it.
function(ptpkg_set_test_defaults target)
  target_compile_options(${target} PRIVATE ${PTPKG_TEST_OPTIONS})
  ptpkg_set_defaults(${target})
  ptpkg_compile_test_faster(${target})
endfunction()

# ptpkg_add_python_test(name script.py [PYTHON command…] [ARGS …])
# The ctest `name` runs that script, which finds the modules of tests/harness. Exit 77 is a skip.
function(ptpkg_add_python_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "" "PYTHON;ARGS")
  if(NOT ARG_PYTHON)
    set(ARG_PYTHON python3)
  endif()
  add_test(NAME ${name} COMMAND ${ARG_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${script} ${ARG_ARGS})
  set_tests_properties(${name} PROPERTIES SKIP_RETURN_CODE 77
                       ENVIRONMENT_MODIFICATION "PYTHONPATH=path_list_prepend:${CMAKE_SOURCE_DIR}/tests/harness")
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
  ptpkg_set_test_defaults(test_${name})
  # NO_PRETTY_VALUES: a name that holds the bytes of a parameter, with addresses, is another one in each run.
  gtest_discover_tests(test_${name} NO_PRETTY_VALUES DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60
                       PROPERTIES LABELS "${ARG_LABELS}")
endfunction()
