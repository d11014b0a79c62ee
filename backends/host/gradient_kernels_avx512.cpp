// The kernels of gradients for AVX-512; CMakeLists.txt sets the options.
#include "gradient_codecs.inl"
#include "gradient_kernels.hpp"

namespace tutti::host {

constinit const GradientKernels kAvx512GradientKernels = make_gradient_table();

}  // namespace tutti::host
