# The git commit of the sources, looked up at every build: a result must never carry the commit of an older build.
#
# minigift_add_version(target): gives `target` a source that defines build_git_commit() and build_git_dirty(). The file
# is rewritten, and recompiled, only when the commit or the dirty flag has changed.

function(minigift_add_version target)
  set(output "${CMAKE_CURRENT_BINARY_DIR}/version.cpp")
  find_package(Git QUIET)
  add_custom_target(${target}_version
    COMMAND ${CMAKE_COMMAND} "-DGIT=${GIT_EXECUTABLE}" "-DSOURCE=${PROJECT_SOURCE_DIR}" "-DOUTPUT=${output}"
      -P "${PROJECT_SOURCE_DIR}/cmake/MinigiftVersionScript.cmake"
    BYPRODUCTS "${output}"
    COMMENT ""
    VERBATIM)
  target_sources(${target} PRIVATE "${output}")
  add_dependencies(${target} ${target}_version)
endfunction()
