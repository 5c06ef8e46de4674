foreach(layer math embedding linear rms_norm rope swiglu cross_entropy attention attention_gradient)
  minigift_add_test(nn_${layer}_test SOURCES nn_${layer}_test.cpp LINK minigift_kernels)
endforeach()

# The same attention as a GPU computes it, one scalar to a thread: other blocks and tiles, so other edges. The sources are
# compiled again, apart from the library.
if("CUDA" IN_LIST Kokkos_DEVICES)
  set(MINIGIFT_STREAMS cuda)
else()
  set(MINIGIFT_STREAMS single)
endif()
foreach(pass attention attention_gradient)
  minigift_add_test(nn_${pass}_scalar_lanes_test SOURCES nn_${pass}_test.cpp
    ${PROJECT_SOURCE_DIR}/kernels/nn/attention_forward.cpp ${PROJECT_SOURCE_DIR}/kernels/nn/attention_backward.cpp
    ${PROJECT_SOURCE_DIR}/kernels/device/stream.cpp ${PROJECT_SOURCE_DIR}/kernels/device/stream_${MINIGIFT_STREAMS}.cpp
    LINK Minigift::kokkos fmt::fmt)
  target_compile_definitions(nn_${pass}_scalar_lanes_test PRIVATE MINIGIFT_SCALAR_LANES)
endforeach()
