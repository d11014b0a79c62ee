// The kernels: one for each datatype, with all its operators, and two over one array. nvcc compiles
// them to one image for all GPUs, which the driver loads at run time.
#include "array_body.hpp"
#include "fold_body.hpp"

namespace tutti::v0::cuda {
namespace {

__device__ std::size_t own_thread() { return std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; }
__device__ std::size_t all_threads() { return std::size_t{gridDim.x} * blockDim.x; }

/// Addresses in shared memory, since one thread of a block reads each that only the device knows.
/// @tparam T a type of kElementTypes.
template <class T>
__device__ void run(const KernelWork& work) {
  __shared__ std::byte* addresses[kPassedAddresses];
  for (unsigned i = threadIdx.x; i < work.operands + work.results; i += blockDim.x)
    addresses[i] = address_at(work, i);
  __syncthreads();
  fold<decltype(element_of<T>())>(work, addresses, own_thread(), all_threads());
}

}  // namespace

extern "C" {

__global__ void tutti_fold_i8(const __grid_constant__ KernelWork work) {
  run<std::int8_t>(work);
}
__global__ void tutti_fold_i16(const __grid_constant__ KernelWork work) {
  run<std::int16_t>(work);
}
__global__ void tutti_fold_i32(const __grid_constant__ KernelWork work) {
  run<std::int32_t>(work);
}
__global__ void tutti_fold_i64(const __grid_constant__ KernelWork work) {
  run<std::int64_t>(work);
}
__global__ void tutti_fold_u8(const __grid_constant__ KernelWork work) {
  run<std::uint8_t>(work);
}
__global__ void tutti_fold_u16(const __grid_constant__ KernelWork work) {
  run<std::uint16_t>(work);
}
__global__ void tutti_fold_u32(const __grid_constant__ KernelWork work) {
  run<std::uint32_t>(work);
}
__global__ void tutti_fold_u64(const __grid_constant__ KernelWork work) {
  run<std::uint64_t>(work);
}
__global__ void tutti_fold_f16(const __grid_constant__ KernelWork work) {
  run<Float16>(work);
}
__global__ void tutti_fold_bf16(const __grid_constant__ KernelWork work) {
  run<BFloat16>(work);
}
__global__ void tutti_fold_f32(const __grid_constant__ KernelWork work) {
  run<float>(work);
}
__global__ void tutti_fold_f64(const __grid_constant__ KernelWork work) {
  run<double>(work);
}
__global__ void tutti_fold_c32(const __grid_constant__ KernelWork work) {
  run<std::complex<float>>(work);
}
__global__ void tutti_fold_c64(const __grid_constant__ KernelWork work) {
  run<std::complex<double>>(work);
}
__global__ void tutti_fold_i32_index(const __grid_constant__ KernelWork work) {
  run<Indexed<std::int32_t>>(work);
}
__global__ void tutti_fold_i64_index(const __grid_constant__ KernelWork work) {
  run<Indexed<std::int64_t>>(work);
}
__global__ void tutti_fold_f32_index(const __grid_constant__ KernelWork work) {
  run<Indexed<float>>(work);
}
__global__ void tutti_fold_f64_index(const __grid_constant__ KernelWork work) {
  run<Indexed<double>>(work);
}
__global__ void tutti_convert(const __grid_constant__ Conversion work) {
  convert(work, own_thread(), all_threads());
}
__global__ void tutti_inspect(const __grid_constant__ Inspection work) {
  inspect(work, own_thread(), all_threads());
}

}  // extern "C"
}  // namespace tutti::v0::cuda
