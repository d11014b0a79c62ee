// The reduction kernels for AVX-512; CMakeLists.txt sets the options.
#include "kernels.hpp"
#include "reductions.inl"

namespace tutti::host {

constinit const KernelTable kAvx512Kernels = make_table();

}  // namespace tutti::host
