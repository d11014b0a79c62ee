#include "launch.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include <tutti/types.hpp>

namespace tutti::standin {
namespace {

// A place as the host reaches it.
template <class T>
bool reach(T*& place, std::size_t bytes, const Memory& memory, int device) {
  place = reinterpret_cast<T*>(memory.reach_from(device, address_of(place), bytes));
  return place != nullptr;
}

CUresult run_fold(cuda::Body body, std::size_t element_bytes, cuda::KernelWork work,
                  std::size_t threads, const Memory& memory, int device) {
  const std::size_t count = std::size_t{work.operands} + work.results;
  const std::size_t bytes = work.count * element_bytes;
  if (count > cuda::kPassedAddresses) return CUDA_ERROR_ILLEGAL_ADDRESS;

  std::vector<std::byte*> cells(count);  // of operands whose addresses stand in memory
  for (std::size_t i = 0; i < count && bytes > 0; ++i) {
    const bool is_peers = i < cuda::kPeerOperands && (work.peers >> i & 1U) != 0;
    CUdeviceptr place = address_of(work.addresses[i]);
    if (is_peers) {
      const std::byte* const cell = memory.reach_from(device, place, sizeof(CUdeviceptr));
      if (cell == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
      CUdeviceptr found = 0;
      std::memcpy(&found, cell, sizeof(found));
      place = memory.remote_writes().seen(place, found) + work.offsets[i];
    }
    std::byte* const reached = memory.reach_from(device, place, bytes);
    if (reached == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (is_peers) cells[i] = reached - work.offsets[i];
    work.addresses[i] = is_peers ? static_cast<void*>(&cells[i]) : reached;
  }
  if ((work.carried_in != nullptr && !reach(work.carried_in, bytes, memory, device)) ||
      (work.carried_out != nullptr && !reach(work.carried_out, bytes, memory, device)))
    return CUDA_ERROR_ILLEGAL_ADDRESS;

  for (std::size_t thread = 0; thread < threads; ++thread) body(work, thread, threads);
  return CUDA_SUCCESS;
}

CUresult run_conversion(Conversion work, std::size_t threads, const Memory& memory, int device) {
  if (!reach(work.from, work.count * size_of(work.from_type), memory, device) ||
      !reach(work.to, work.count * size_of(work.to_type), memory, device))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (std::size_t thread = 0; thread < threads; ++thread)
    cuda::convert_body(work, thread, threads);
  return CUDA_SUCCESS;
}

CUresult run_inspection(Inspection work, std::size_t threads, const Memory& memory, int device) {
  if (!reach(work.data, work.count * size_of(work.type), memory, device) ||
      !reach(work.sums, threads * sizeof(Inspected), memory, device))
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  for (std::size_t thread = 0; thread < threads; ++thread)
    cuda::inspect_body(work, thread, threads);
  return CUDA_SUCCESS;
}

// A kernel of one argument.
template <class Work, class Run>
Function of_one(Run run) {
  return {[run](const void* argument) -> Function::Run {
    return [run, work = *static_cast<const Work*>(argument)](std::size_t threads,
                                                             const Memory& memory, int device) {
      return run(work, threads, memory, device);
    };
  }};
}

// Folds are named for what they fold, as tutti_fold_f32.
std::size_t element_bytes_of(std::string_view kernel) {
  constexpr std::string_view kPrefix = "tutti_fold_";
  if (!kernel.starts_with(kPrefix)) return 0;
  for (int i = 0; i < kDatatypes; ++i) {
    const auto type = static_cast<Datatype>(i);
    if (kernel.substr(kPrefix.size()) == name_of(type)) return size_of(type);
  }
  return 0;
}

}  // namespace

Function function_of(std::string_view name) {
  if (name == "tutti_convert") return of_one<Conversion>(run_conversion);
  if (name == "tutti_inspect") return of_one<Inspection>(run_inspection);
  const cuda::Body body = cuda::body_of(name);
  const std::size_t bytes = element_bytes_of(name);
  if (body == nullptr || bytes == 0) return {};
  return of_one<cuda::KernelWork>(
      [body, bytes](const cuda::KernelWork& work, std::size_t threads, const Memory& memory,
                    int device) { return run_fold(body, bytes, work, threads, memory, device); });
}

}  // namespace tutti::standin
