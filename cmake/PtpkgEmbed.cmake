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

# ptpkg_embed_pages(target HEADER FILE…): makes <HEADER> with the array kPages of {name, text}, a page for each FILE.
function(ptpkg_embed_pages target header)
  set(pages "")
  list(LENGTH ARGN count)
  foreach(file IN LISTS ARGN)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    get_filename_component(name ${file} NAME_WE)
    file(READ ${file} page)
    string(APPEND pages "  {\"${name}\", R\"__PTPKG__(${page})__PTPKG__\"},\n")
  endforeach()
  string(REPLACE "ptpkg_" "" stage ${target})
  file(CONFIGURE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/generated/${header} @ONLY CONTENT
"#pragma once
// Generated from pages of docs/.
#include <array>
#include <string_view>
// C++ promises 65,536 characters; gcc and clang take any number.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored \"-Woverlength-strings\"
namespace ptpkg::${stage} {
struct Page {
  std::string_view name;
  std::string_view text;
};
inline constexpr std::array<Page, ${count}> kPages = {{
@pages@}};
}  // namespace ptpkg::${stage}
#pragma GCC diagnostic pop
")
endfunction()
