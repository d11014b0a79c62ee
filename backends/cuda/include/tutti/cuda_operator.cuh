/// @file
/// User operators on GPUs, for source files that nvcc compiles.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include <tutti/error.hpp>
#include <tutti/operators.hpp>

namespace tutti::v0::cuda {

/// out[i] = apply(left[i], right[i]); `out` may be one of the others.
/// @tparam Apply a functor with `T operator()(T, T) const` of the device.
template <class T, class Apply>
__global__ void apply_to_all(const T* left, const T* right, T* out, std::size_t count, Apply apply) {
  const std::size_t threads = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += threads)
    out[i] = apply(left[i], right[i]);
}

/// Makes the argument of Operator::with_device of a functor, as in `Operator{host_function,
/// true}.with_device(cuda::device_function<float>(Functor{}))`. This loads the kernel on the
/// calling thread's current GPU: CUDA may then wait for all streams of the GPU, and so for other
/// ranks. A program with several GPUs makes one function on each, or sets
/// CUDA_MODULE_LOADING=EAGER.
/// @param apply a functor with `T operator()(T, T) const` of the device; copied.
/// @return the function; it throws Error{transport} if the kernel does not start.
template <class T, class Apply>
[[nodiscard]] DeviceFunction device_function(Apply apply) {
  const bool is_clean = cudaPeekAtLastError() == cudaSuccess;
  cudaFuncAttributes attributes{};
  const cudaError_t loaded = cudaFuncGetAttributes(&attributes, apply_to_all<T, Apply>);
  // Without a GPU the later call fails; an earlier error of the program stays.
  if (loaded != cudaSuccess && is_clean) static_cast<void>(cudaGetLastError());
  return [apply](const void* left, const void* right, void* out, std::size_t count, void* stream) {
    constexpr std::size_t kThreads = 256;
    constexpr std::size_t kMostBlocks = 1024;
    if (count == 0) return;
    const std::size_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
    const T* one = static_cast<const T*>(left);
    const T* other = static_cast<const T*>(right);
    T* to = static_cast<T*>(out);
    Apply passed = apply;
    std::array<void*, 5> arguments{&one, &other, &to, &count, &passed};
    const cudaError_t error =
        cudaLaunchKernel(apply_to_all<T, Apply>, dim3{static_cast<unsigned>(blocks)},
                         dim3{static_cast<unsigned>(kThreads)}, arguments.data(), 0,
                         static_cast<cudaStream_t>(stream));
    if (error == cudaSuccess) return;
    static_cast<void>(cudaGetLastError());  // reported by the exception
    throw Error{ErrorCode::transport,
                std::string{"cannot run a user's operator on a GPU: "} + cudaGetErrorString(error)};
  };
}

}  // namespace tutti::v0::cuda
