# Runs a command line and checks how it ended:
#   cmake -DPROGRAM="a;b;c" -DSTATUS=2 -DEXPECTED=regex [-DLINES=1] [-DFILES="f;g"] [-DREMOVE=folder] -P run_minigift.cmake
# STATUS is the exit status; EXPECTED must match the output; LINES is how many lines of the output begin with
# "minigift: " (one error, on one rank only); FILES must exist afterwards; REMOVE is deleted first.
if(REMOVE)
  file(REMOVE_RECURSE "${REMOVE}")
endif()
execute_process(COMMAND ${PROGRAM} OUTPUT_VARIABLE output ERROR_VARIABLE error RESULT_VARIABLE status TIMEOUT 100)
set(all "${output}${error}")
if(NOT status EQUAL STATUS)
  message(FATAL_ERROR "exit status ${status}, expected ${STATUS}\n${all}")
endif()
if(NOT all MATCHES "${EXPECTED}")
  message(FATAL_ERROR "the output does not match '${EXPECTED}':\n${all}")
endif()
if(DEFINED LINES)
  string(REGEX REPLACE "[][;]" " " flat "${all}")  # characters that would split or join list items
  string(REGEX MATCHALL "(^|\n)minigift: [^\n]*" lines "${flat}")
  list(LENGTH lines count)
  if(NOT count EQUAL LINES)
    message(FATAL_ERROR "${count} lines of error, expected ${LINES}:\n${all}")
  endif()
endif()
foreach(name IN LISTS FILES)
  if(NOT EXISTS "${name}")
    message(FATAL_ERROR "${name} was not written\n${all}")
  endif()
endforeach()
message("${all}")
