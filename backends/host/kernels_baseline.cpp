// The reduction kernels for the architecture's common base.
#include "kernels.hpp"
#include "reductions.inl"

namespace tutti::host {

constinit const KernelTable kBaselineKernels = make_table();

}  // namespace tutti::host
