# ptpkg_embed_text(target FILE SYMBOL HEADER [FILE…]): makes <HEADER> with the text of FILE, and of the others behind it,
# as the constant SYMBOL in the namespace of the stage, so that the program needs no data files beside it.
function(ptpkg_embed_text target file symbol header)
  set(text "")
  foreach(one IN LISTS file ARGN)
    set(input ${CMAKE_CURRENT_SOURCE_DIR}/${one})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${input})
    file(READ ${input} one_text)
    string(APPEND text "${one_text}")
  endforeach()
  string(REPLACE "ptpkg_" "" stage ${target})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/${header} @ONLY CONTENT
"#pragma once
// Generated from ${file}.
#include <string_view>
// C++ promises 65,536 characters; gcc and clang take any number.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
namespace ptpkg::${stage} {
inline constexpr std::string_view ${symbol} = R\"__PTPKG__(@text@)__PTPKG__\";
}  // namespace ptpkg::${stage}
#pragma GCC diagnostic pop
")
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/generated)
endfunction()
