foreach(layer math embedding linear rms_norm rope swiglu cross_entropy attention attention_gradient)
  minigift_add_test(nn_${layer}_test SOURCES nn_${layer}_test.cpp LINK minigift_kernels)
endforeach()
