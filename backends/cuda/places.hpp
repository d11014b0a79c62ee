/// @file
/// Where GPUs are: what joins those of a host, and what ranks know of all of theirs.
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

/// What joins two GPUs of a host, from the slowest.
enum class Joint : std::uint8_t {
  none,  ///< Neither reads memory of the other.
  p2p,   ///< They do, over PCIe.
  nvlink
};

/// @param driver of this machine. @param one a GPU, as an ordinal. @param other another one.
/// @return what joins them; NVLink is taken for that which has native atomics. Throws
/// Error{transport}.
[[nodiscard]] Joint joint_of(const Driver& driver, int one, int other);

/// What a rank tells of where its GPU is.
struct Place {
  std::array<std::uint8_t, 16> uuid{};    ///< Of its GPU, equal in all processes that see it.
  std::array<std::uint8_t, 16> island{};  ///< The least one of those that NVLink joins with it.
  std::uint64_t address = 0;              ///< On the host's PCI buses.
  std::int32_t seen = 0;                  ///< How many GPUs the process sees.
};

/// @param device of this rank. @return what to tell of it. Throws Error{transport}.
[[nodiscard]] Place place_of(const Device& device);

/// Where the GPUs of all ranks are; equal on all of them.
struct Places {
  std::vector<int> hosts{};            ///< As CommunicatorParts::hosts; may be empty.
  std::vector<Locality> localities{};  ///< As StreamTransport::localities.
};

/// Of each host the GPUs that NVLink joins, through others too, are an island; which these are is
/// known where its processes see all of its ranks' GPUs. The k-th one by its PCI address is taken
/// to be on rail k.
/// @param places of all ranks. @param hosts of them, as CommunicatorParts::hosts. @return where
/// GPUs are.
[[nodiscard]] Places places_of(std::span<const Place> places, std::vector<int> hosts);

/// Collective. @param part of the ranks. @param whole of all of them. @param self the own rank in
/// the whole. @return the same of the part. Throws Error.
[[nodiscard]] Places places_in(Communicator& part, const Places& whole, Rank self);

/// @param places of the ranks. @return what messages of NCCL and kernels are assumed to cost.
[[nodiscard]] CostModel nccl_cost_model(const Places& places);

}  // namespace tutti::v0::cuda
