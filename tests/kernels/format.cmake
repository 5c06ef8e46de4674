foreach(part fp8 narrow philox stochastic scale quantize native_add hash boundary_counts block_elements block hadamard)
  minigift_add_test(format_${part}_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/format_${part}_test.cpp
    LINK minigift_kernels LABELS format)
endforeach()

# Host code in CUDA's own headers is the definition our codecs follow: compare with it where it is installed.
if(CUDAToolkit_FOUND)
  minigift_add_test(format_cuda_header_test SOURCES ${CMAKE_CURRENT_LIST_DIR}/format_cuda_header_test.cpp
    LINK minigift_kernels LABELS format)
  target_include_directories(format_cuda_header_test SYSTEM PRIVATE ${CUDAToolkit_INCLUDE_DIRS})
else()
  message(STATUS "cuda_fp8.h not found: format_cuda_header_test is left out")
endif()
