/// @file
/// As much of the CUDA runtime as <tutti/cuda_operator.cuh> needs, in its place: kernels run on the
/// host, one thread of theirs after another.
#pragma once

#include <cstddef>
#include <utility>

#define __global__
#define __device__

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
inline dim3 gridDim, blockDim, blockIdx, threadIdx;

enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorNoDevice = 100 };
struct cudaFuncAttributes {};
using cudaStream_t = struct CUstream_st*;

namespace tutti::standin {

/// The calls to the runtime so far, and their results.
struct Runtime {
  int loaded = 0;
  int launched = 0;
  cudaError_t load = cudaSuccess;
  cudaError_t launch = cudaSuccess;
  cudaError_t last = cudaSuccess;  ///< The last error, until somebody takes it.
};
inline Runtime runtime;

inline cudaError_t note(cudaError_t error) {
  if (error != cudaSuccess) runtime.last = error;
  return error;
}

}  // namespace tutti::standin

inline cudaError_t cudaPeekAtLastError() {
  return tutti::standin::runtime.last;
}
inline cudaError_t cudaGetLastError() {
  return std::exchange(tutti::standin::runtime.last, cudaSuccess);
}
inline const char* cudaGetErrorString(cudaError_t error) {
  return error == cudaErrorNoDevice ? "no CUDA-capable device is detected" : "invalid argument";
}

template <class... Arguments>
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes*, void (*)(Arguments...)) {
  ++tutti::standin::runtime.loaded;
  return tutti::standin::note(tutti::standin::runtime.load);
}

template <class... Arguments>
cudaError_t cudaLaunchKernel(void (*kernel)(Arguments...), dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t) {
  ++tutti::standin::runtime.launched;
  if (tutti::standin::runtime.launch != cudaSuccess)
    return tutti::standin::note(tutti::standin::runtime.launch);
  gridDim = grid;
  blockDim = block;
  const auto run = [&]<std::size_t... I>(std::index_sequence<I...>) {
    kernel(*static_cast<Arguments*>(arguments[I])...);
  };
  for (blockIdx.x = 0; blockIdx.x < grid.x; ++blockIdx.x)
    for (threadIdx.x = 0; threadIdx.x < block.x; ++threadIdx.x)
      run(std::index_sequence_for<Arguments...>{});
  return cudaSuccess;
}
