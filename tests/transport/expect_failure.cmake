# Runs PROGRAM; succeeds if it ends with a status other than 0 and its output matches EXPECTED.
execute_process(COMMAND ${PROGRAM} RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE output TIMEOUT 50)
message("${output}")
if(NOT status MATCHES "^[1-9][0-9]*$")
  message(FATAL_ERROR "expected a failing exit status, got '${status}'")
endif()
if(NOT output MATCHES "${EXPECTED}")
  message(FATAL_ERROR "the output does not match '${EXPECTED}'")
endif()
