// The reduction kernels for AVX2 and F16C; CMakeLists.txt sets the options.
#include "kernels.hpp"
#include "reductions.inl"

namespace tutti::host {

constinit const KernelTable kAvx2Kernels = make_table();

}  // namespace tutti::host
