# Run by `cmake --install`: what the program says of itself, for shells and man(1).
# Set before: ptpkg_program (to run), ptpkg_datadir, ptpkg_mandir (below the prefix, or absolute).

# place(variable folder): the folder as it is written to, DESTDIR before it.
function(ptpkg_place variable folder)
  if(NOT IS_ABSOLUTE ${folder})
    set(folder ${CMAKE_INSTALL_PREFIX}/${folder})
  endif()
  set(${variable} $ENV{DESTDIR}${folder} PARENT_SCOPE)
endfunction()

# write(file argument…): what the program prints when it is called so. No home and no cache are needed for that.
function(ptpkg_write file)
  get_filename_component(folder ${file} DIRECTORY)
  file(MAKE_DIRECTORY ${folder})
  execute_process(COMMAND ${ptpkg_program} --cache-dir /nonexistent ${ARGN} OUTPUT_FILE ${file} COMMAND_ERROR_IS_FATAL ANY)
  message(STATUS "Installed: ${file}")
endfunction()

ptpkg_place(data ${ptpkg_datadir})
ptpkg_place(man ${ptpkg_mandir})
ptpkg_write(${data}/bash-completion/completions/ptpkg completion bash)
ptpkg_write(${data}/zsh/site-functions/_ptpkg completion zsh)
ptpkg_write(${data}/fish/vendor_completions.d/ptpkg.fish completion fish)
ptpkg_write(${man}/man1/ptpkg.1 man)
execute_process(COMMAND ${ptpkg_program} --help OUTPUT_VARIABLE help COMMAND_ERROR_IS_FATAL ANY)
string(REGEX REPLACE ".*\nCommands:\n(.*)\n\nOptions.*" "\\1" verbs "${help}")
string(REGEX MATCHALL "(^|\n)  [a-z-]+" verbs "${verbs}")
foreach(verb IN LISTS verbs)
  string(STRIP "${verb}" verb)
  ptpkg_write(${man}/man1/ptpkg-${verb}.1 man ${verb})
endforeach()
