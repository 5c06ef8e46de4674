# Everything that is found, and the one repair that is needed.
#
# Sets imported targets only:  Minigift::kokkos  MPI::MPI_CXX  Minigift::hdf5  Minigift::lapack  (Minigift::onednn)  fmt::fmt
#                              Minigift::toml  Minigift::json  Minigift::cli  ZLIB::ZLIB  GTest::gtest  benchmark::benchmark

find_package(Threads REQUIRED)

# --- Kokkos 3.4 ... 5.x ------------------------------------------------------------------------------------------
# Debian 12's libtrilinos-kokkos-dev (3.4.01, Serial) exports Kokkos::kokkos with an include folder that does not exist
# and without its core library's dependencies; both are repaired on a target of our own. Newer Kokkos needs nothing.
find_package(Kokkos REQUIRED)
add_library(Minigift::kokkos INTERFACE IMPORTED)
set(kokkos_include_exists TRUE)
if(TARGET Kokkos::kokkos)
  get_target_property(kokkos_include Kokkos::kokkos INTERFACE_INCLUDE_DIRECTORIES)
  foreach(folder IN LISTS kokkos_include)
    if(IS_ABSOLUTE "${folder}" AND NOT EXISTS "${folder}")
      set(kokkos_include_exists FALSE)
    endif()
  endforeach()
endif()
if(TARGET Kokkos::kokkos AND kokkos_include_exists)
  target_link_libraries(Minigift::kokkos INTERFACE Kokkos::kokkos)
else()
  find_path(MINIGIFT_KOKKOS_INCLUDE Kokkos_Core.hpp
    HINTS ${Kokkos_INCLUDE_DIRS} PATH_SUFFIXES trilinos REQUIRED)
  find_library(MINIGIFT_KOKKOS_CORE NAMES trilinos_kokkoscore kokkoscore REQUIRED)
  target_include_directories(Minigift::kokkos SYSTEM INTERFACE "${MINIGIFT_KOKKOS_INCLUDE}")
  target_link_libraries(Minigift::kokkos INTERFACE "${MINIGIFT_KOKKOS_CORE}" ${CMAKE_DL_LIBS} Threads::Threads)
endif()
message(STATUS "Kokkos ${Kokkos_VERSION} from ${Kokkos_DIR}")

find_package(MPI REQUIRED COMPONENTS CXX)

# --- HDF5 with MPI -----------------------------------------------------------------------------------------------
# All ranks write one trace; a serial HDF5 cannot. 1.10.2 is the first whose ranks may write compressed arrays together.
set(MINIGIFT_OLDEST_HDF5 1.10.2)
enable_language(C)  # FindHDF5 compiles a C program
set(HDF5_PREFER_PARALLEL ON)
find_package(HDF5 REQUIRED COMPONENTS C)
if(NOT HDF5_IS_PARALLEL)
  message(FATAL_ERROR "HDF5 ${HDF5_VERSION} (${HDF5_C_LIBRARIES}) was built without MPI, which traces need. Install a "
    "parallel one (Debian: libhdf5-openmpi-dev) or give its folder by -DHDF5_ROOT=...")
endif()
if(HDF5_VERSION VERSION_LESS MINIGIFT_OLDEST_HDF5)
  message(FATAL_ERROR "HDF5 ${HDF5_VERSION} is older than ${MINIGIFT_OLDEST_HDF5}")
endif()
add_library(Minigift::hdf5 INTERFACE IMPORTED)
target_include_directories(Minigift::hdf5 SYSTEM INTERFACE ${HDF5_C_INCLUDE_DIRS})
set(hdf5_libraries ${HDF5_C_LIBRARIES})
if("${hdf5_libraries}" MATCHES "libhdf5[^;]*[.]so")
  list(FILTER hdf5_libraries INCLUDE REGEX "libhdf5")  # a shared library brings its own dependencies
endif()
target_link_libraries(Minigift::hdf5 INTERFACE ${hdf5_libraries} MPI::MPI_CXX)
message(STATUS "HDF5 ${HDF5_VERSION} with MPI from ${hdf5_libraries}")

# --- CBLAS and LAPACKE -------------------------------------------------------------------------------------------
find_path(MINIGIFT_CBLAS_INCLUDE cblas.h
  PATH_SUFFIXES openblas openblas-pthread openblas-openmp
  HINTS /usr/include/x86_64-linux-gnu /usr/include/aarch64-linux-gnu REQUIRED)
find_path(MINIGIFT_LAPACKE_INCLUDE lapacke.h PATH_SUFFIXES openblas lapacke REQUIRED)
find_library(MINIGIFT_OPENBLAS NAMES openblas)
if(MINIGIFT_OPENBLAS)
  set(MINIGIFT_BLAS_LIBRARIES "${MINIGIFT_OPENBLAS}")
else()
  find_package(BLAS REQUIRED)
  find_package(LAPACK REQUIRED)
  set(MINIGIFT_BLAS_LIBRARIES ${LAPACK_LIBRARIES} ${BLAS_LIBRARIES})
endif()
find_library(MINIGIFT_LAPACKE NAMES lapacke)
add_library(Minigift::lapack INTERFACE IMPORTED)
target_include_directories(Minigift::lapack SYSTEM INTERFACE
  "${MINIGIFT_CBLAS_INCLUDE}" "${MINIGIFT_LAPACKE_INCLUDE}")
if(MINIGIFT_LAPACKE)
  target_link_libraries(Minigift::lapack INTERFACE "${MINIGIFT_LAPACKE}")
endif()
target_link_libraries(Minigift::lapack INTERFACE ${MINIGIFT_BLAS_LIBRARIES})

# --- oneDNN, where found -----------------------------------------------------------------------------------------
# By header and library: Debian's package configuration demands OpenCL's development files, which the CPU engine that we
# use does not need.
set(MINIGIFT_HAVE_ONEDNN OFF)
if(MINIGIFT_ENABLE_ONEDNN)
  find_path(MINIGIFT_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp)
  find_library(MINIGIFT_ONEDNN_LIBRARY NAMES dnnl)
  if(MINIGIFT_ONEDNN_INCLUDE AND MINIGIFT_ONEDNN_LIBRARY)
    set(MINIGIFT_HAVE_ONEDNN ON)
    add_library(Minigift::onednn INTERFACE IMPORTED)
    target_include_directories(Minigift::onednn SYSTEM INTERFACE "${MINIGIFT_ONEDNN_INCLUDE}")
    target_link_libraries(Minigift::onednn INTERFACE "${MINIGIFT_ONEDNN_LIBRARY}")
  endif()
endif()
message(STATUS "oneDNN: ${MINIGIFT_HAVE_ONEDNN}")

# --- Small libraries ---------------------------------------------------------------------------------------------
find_package(fmt REQUIRED)
find_package(ZLIB REQUIRED)

find_path(MINIGIFT_TOML_INCLUDE toml++/toml.h REQUIRED)
add_library(Minigift::toml INTERFACE IMPORTED)
target_include_directories(Minigift::toml SYSTEM INTERFACE "${MINIGIFT_TOML_INCLUDE}")

find_path(MINIGIFT_JSON_INCLUDE nlohmann/json.hpp REQUIRED)
add_library(Minigift::json INTERFACE IMPORTED)
target_include_directories(Minigift::json SYSTEM INTERFACE "${MINIGIFT_JSON_INCLUDE}")

find_path(MINIGIFT_CLI_INCLUDE CLI/CLI.hpp REQUIRED)
add_library(Minigift::cli INTERFACE IMPORTED)
target_include_directories(Minigift::cli SYSTEM INTERFACE "${MINIGIFT_CLI_INCLUDE}")

if(MINIGIFT_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()
if(MINIGIFT_BUILD_BENCHMARKS)
  find_package(benchmark REQUIRED)
endif()
