# The kernels in the form that a GPU runs, compiled again for the host: where they cut rows, tiles and blocks is then the same
# as there, though a team is one thread. On a GPU the other tests run this form.
if(NOT MINIGIFT_KOKKOS_CUDA)
  get_target_property(sources minigift_kernels SOURCES)
  list(FILTER sources INCLUDE REGEX "/kernels/(format|geometry|nn|optim)/")
  add_library(minigift_scalar_lanes OBJECT ${sources})
  target_link_libraries(minigift_scalar_lanes PUBLIC minigift_kernels)
  target_compile_definitions(minigift_scalar_lanes PUBLIC MINIGIFT_SCALAR_LANES)
  foreach(test format_quantize format_stochastic format_narrow format_native_add format_hash format_boundary_counts format_block format_hadamard
      nn_embedding nn_rms_norm nn_rope nn_swiglu nn_cross_entropy nn_attention nn_attention_gradient
      optim_adamw optim_muon geometry_sketch geometry_whitening geometry_spectrum)
    minigift_add_test(${test}_scalar_lanes_test SOURCES ${test}_test.cpp LINK minigift_scalar_lanes)
  endforeach()
endif()
