#include "launch.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace tutti::standin {
namespace {

// The addresses that a kernel is given, or null where the device cannot read them.
void* const* addresses_of(const cuda::KernelWork& work, std::size_t count, const Memory& memory,
                          int device) {
  if (work.table == nullptr) return count <= cuda::kPassedPlaces ? work.places : nullptr;
  const auto* const table =
      memory.reach_from(device, address_of(work.table), count * sizeof(void*));
  return reinterpret_cast<void* const*>(table);
}

}  // namespace

CUresult run_kernel(const Function& function, cuda::KernelWork work, std::size_t threads,
                    const Memory& memory, int device) {
  const std::size_t count = std::size_t{work.operands} + work.results;
  const std::size_t bytes = work.count * function.element_bytes;
  void* const* const addresses = addresses_of(work, count, memory, device);
  if (addresses == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;

  std::vector<void*> reached(addresses, addresses + count);
  std::vector<std::byte*> cells(count);  // of operands whose addresses stand in memory
  for (std::size_t i = 0; i < count && bytes > 0; ++i) {
    const bool is_peers = i < cuda::kPeerPlaces && (work.peers >> i & 1U) != 0;
    CUdeviceptr place = address_of(reached[i]);
    if (is_peers) {
      const std::byte* const cell = memory.reach_from(device, place, sizeof(CUdeviceptr));
      if (cell == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
      CUdeviceptr found = 0;
      std::memcpy(&found, cell, sizeof(found));
      place = memory.remote_writes().seen(place, found) + work.offsets[i];
    }
    reached[i] = memory.reach_from(device, place, bytes);
    if (reached[i] == nullptr) return CUDA_ERROR_ILLEGAL_ADDRESS;
    if (!is_peers) continue;
    cells[i] = static_cast<std::byte*>(reached[i]) - work.offsets[i];
    reached[i] = &cells[i];
  }
  if (work.table == nullptr) std::copy(reached.begin(), reached.end(), work.places);
  else work.table = reached.data();

  for (std::size_t thread = 0; thread < threads; ++thread) function.body(work, thread, threads);
  return CUDA_SUCCESS;
}

}  // namespace tutti::standin
