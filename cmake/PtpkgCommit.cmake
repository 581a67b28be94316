# cmake -DSOURCE=… -DOUTPUT=… -DCOMMIT=… -P: writes the commit of the source tree to a header, which stays as it is while
# the commit does. Run by every build, so that the program never names an older commit than it was built from.
# COMMIT, if not empty, is the commit of sources without a repository.
set(commit unknown)
find_program(git git)
if(COMMIT)
  string(SUBSTRING ${COMMIT} 0 12 commit)
elseif(git AND EXISTS ${SOURCE}/.git)  # a copy of the sources may lie in another repository
  execute_process(COMMAND ${git} -C ${SOURCE} describe --always --abbrev=12 --exclude=* --dirty=+changes
                  OUTPUT_VARIABLE told OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE status)
  if(status EQUAL 0)
    set(commit ${told})
  endif()
endif()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "#define PTPKG_COMMIT \"${commit}\"\n")
