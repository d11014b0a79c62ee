/// @file
/// The placement of GPUs: their links within a host, and the hosts and islands of all ranks.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/spi/cores.hpp>
#include <tutti/spi/costs.hpp>

#include "device.hpp"

namespace tutti::v0::cuda {

/// The link of two GPUs of a host, slowest first.
enum class GpuLink : std::uint8_t {
  none,  ///< No peer access.
  p2p,   ///< Peer access over PCIe.
  nvlink
};

/// @param one and other are ordinals. @return their link; native atomics count as NVLink. Throws
/// Error{transport}.
[[nodiscard]] GpuLink link_of(const Driver& driver, int one, int other);

/// The location of one rank's GPU.
struct GpuLocation {
  std::array<std::uint8_t, 16> uuid{};    ///< Its UUID, equal in all processes that see it.
  std::array<std::uint8_t, 16> island{};  ///< The least uuid of its island's GPUs.
  std::uint64_t address = 0;              ///< Its address on the host's PCI buses.
  std::int32_t seen = 0;                  ///< The number of GPUs that the process sees.
};

/// Throws Error{transport}.
[[nodiscard]] GpuLocation location_of(const Device& device);

/// The GPUs of all ranks; equal on all of them.
struct GpuPlacement {
  std::vector<int> hosts{};            ///< As CommunicatorParts::hosts; may be empty.
  std::vector<Locality> localities{};  ///< As StreamTransport::localities.
};

/// GPUs of a host that NVLink connects, directly or through others, are an island; islands are
/// known if the host's processes see all GPUs of its ranks. The k-th GPU by PCI address counts as
/// on rail k. @param locations of all ranks. @param hosts of all ranks, as
/// CommunicatorParts::hosts.
[[nodiscard]] GpuPlacement placement_of(std::span<const GpuLocation> locations,
                                        std::vector<int> hosts);

/// Collective. @param part some of the ranks. @param whole placement of all ranks. @param self the
/// own rank in the whole. @return the placement of the part. Throws Error.
[[nodiscard]] GpuPlacement placement_in(Communicator& part, const GpuPlacement& whole, Rank self);

/// @return the assumed costs of messages by NCCL and of kernels.
[[nodiscard]] CostModel nccl_cost_model(const GpuPlacement& placement);

}  // namespace tutti::v0::cuda
