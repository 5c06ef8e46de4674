# How targets of this project are made. One place for warnings, instruction set and sanitizers.

add_library(minigift_options INTERFACE)
target_compile_features(minigift_options INTERFACE cxx_std_20)
target_include_directories(minigift_options INTERFACE "${PROJECT_SOURCE_DIR}")
# The host compiler's options are for C++ sources; nvcc has its own names for the same (.cu files).
target_compile_options(minigift_options INTERFACE
  "$<$<COMPILE_LANGUAGE:CXX>:-Wall;-Wextra;-Wconversion;-fno-math-errno;-fno-trapping-math>"
  "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>")
# OpenMP's simd directives, without its run-time library: the compiler may then vectorise the reductions we name.
target_compile_options(minigift_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-fopenmp-simd>")
if(MINIGIFT_KOKKOS_CUDA)
  # {fmt} 9 takes nvcc for a compiler without constexpr, and then checks format strings at compile time by functions that
  # are not constexpr.
  target_compile_definitions(minigift_options INTERFACE FMT_USE_CONSTEXPR=1)
endif()
if(MINIGIFT_WERROR)
  target_compile_options(minigift_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-Werror>" "$<$<COMPILE_LANGUAGE:CUDA>:-Werror=all-warnings>")
endif()
if(MINIGIFT_NATIVE)
  target_compile_options(minigift_options INTERFACE "$<$<COMPILE_LANGUAGE:CXX>:-march=native>")
endif()
if(MINIGIFT_SANITIZE)
  target_compile_options(minigift_options INTERFACE
    "$<$<COMPILE_LANGUAGE:CXX>:-fsanitize=address,undefined;-fno-sanitize-recover=undefined;-fno-omit-frame-pointer>")
  target_link_options(minigift_options INTERFACE -fsanitize=address,undefined)
endif()

# minigift_add_library(name SOURCES a.cpp ... LINK lib ...)
function(minigift_add_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC minigift_options ${ARG_LINK})
endfunction()

# Environment of every test. Open MPI's switches for root and for more ranks than cores; threads as on a rank of its own.
set(MINIGIFT_TEST_ENVIRONMENT OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1)
set(MINIGIFT_MPI_TEST_ENVIRONMENT ${MINIGIFT_TEST_ENVIRONMENT} OMPI_ALLOW_RUN_AS_ROOT=1
  OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1)
if(MINIGIFT_SANITIZE)
  # MPI and its plugins keep memory to the end of the process; the serial tests do look for leaks.
  list(APPEND MINIGIFT_MPI_TEST_ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()

# minigift_add_test(name SOURCES a.cpp ... LINK lib ... [RANKS 1 2 4] [TIMEOUT s] [LABELS l ...])
# One executable. Without RANKS: a serial test "name". With RANKS: one ctest entry "name_ranks_N" for each N.
function(minigift_add_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LINK;RANKS;LABELS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE minigift_options GTest::gtest ${ARG_LINK})
  if(ARG_RANKS)
    target_link_libraries(${name} PRIVATE minigift_test_main_mpi)
    foreach(ranks IN LISTS ARG_RANKS)
      add_test(NAME ${name}_ranks_${ranks}
        COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} ${ranks} ${MPIEXEC_PREFLAGS} $<TARGET_FILE:${name}>)
      set_tests_properties(${name}_ranks_${ranks} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "mpi;${ARG_LABELS}"
        PROCESSORS ${ranks}
        ENVIRONMENT "${MINIGIFT_MPI_TEST_ENVIRONMENT}")
    endforeach()
  else()
    target_link_libraries(${name} PRIVATE minigift_test_main)
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} LABELS "unit;${ARG_LABELS}"
      ENVIRONMENT "${MINIGIFT_TEST_ENVIRONMENT}")
  endif()
endfunction()

# minigift_add_benchmark(name SOURCES a.cpp ... LINK lib ...)
function(minigift_add_benchmark name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE minigift_options benchmark::benchmark ${ARG_LINK})
endfunction()
