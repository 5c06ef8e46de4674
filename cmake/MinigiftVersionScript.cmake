# Run at build time by MinigiftVersion.cmake: writes OUTPUT from the state of the git repository in SOURCE.
set(commit "unknown")
set(dirty "false")
if(GIT)
  execute_process(COMMAND "${GIT}" rev-parse HEAD WORKING_DIRECTORY "${SOURCE}"
    OUTPUT_VARIABLE head OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(NOT failed)
    set(commit "${head}")
    execute_process(COMMAND "${GIT}" --no-optional-locks status --porcelain --untracked-files=no WORKING_DIRECTORY "${SOURCE}"
      OUTPUT_VARIABLE changes ERROR_QUIET)
    if(changes)
      set(dirty "true")
    endif()
  endif()
endif()
set(text "// Written by MinigiftVersionScript.cmake.
#include \"miniapp/report/environment.hpp\"

namespace minigift {
std::string build_git_commit() { return \"${commit}\"; }
bool build_git_dirty() { return ${dirty}; }
}  // namespace minigift
")
set(previous "")
if(EXISTS "${OUTPUT}")
  file(READ "${OUTPUT}" previous)
endif()
if(NOT previous STREQUAL text)
  file(WRITE "${OUTPUT}" "${text}")
endif()
