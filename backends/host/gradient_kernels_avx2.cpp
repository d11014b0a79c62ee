// The kernels of gradients for AVX2 and F16C; CMakeLists.txt sets the options.
#include "gradient_codecs.inl"
#include "gradient_kernels.hpp"

namespace tutti::host {

constinit const GradientKernels kAvx2GradientKernels = make_gradient_table();

}  // namespace tutti::host
