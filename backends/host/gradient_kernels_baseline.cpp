// The kernels of gradients for the architecture's common base.
#include "gradient_codecs.inl"
#include "gradient_kernels.hpp"

namespace tutti::host {

constinit const GradientKernels kBaselineGradientKernels = make_gradient_table();

}  // namespace tutti::host
