/// @file
/// The facts that ranks exchange before they are connected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/cores.hpp>

#include "runtime/security/authenticate.hpp"

namespace tutti::runtime {

/// The identity of a host.
struct Host {
  std::string name;
  std::string boot;        ///< The kernel's boot id, equal in all containers of a machine.
  std::string network;     ///< The network namespace on that kernel.
  std::uint32_t user = 0;  ///< Only processes of one user can share memory.

  /// Equality of all members.
  friend bool operator==(const Host&, const Host&) = default;
};
/// @return the host and user of this process. Throws Error{transport} without /proc.
[[nodiscard]] Host this_host();
/// @return whether processes of the two can share memory.
[[nodiscard]] bool share_memory(const Host& a, const Host& b);
/// @return whether the two reach each other at the loopback address.
[[nodiscard]] bool share_loopback(const Host& a, const Host& b);

/// Options that must be equal on all ranks: their names for a user, and their values as text.
using Agreed = std::vector<std::pair<std::string, std::string>>;

/// The facts about a rank.
struct PeerInfo {
  Versions versions{};
  Host host{};
  bool has_memory = false;  ///< Whether it can share memory.
  bool wants_tls = false;   ///< Whether it encrypts connections over a network; equal on all ranks.
  Cores cores{};            ///< The cores that it may use.
  Locality locality{};      ///< The locality of the cores.
  Agreed agreed{};
  std::string secret_digest{};  ///< The digest of its secret; empty without one.
  // Set by rank 0 only.
  std::uint64_t world = 0;  ///< The id of the world.
  std::string secret{};     ///< 32 bytes if it generated one.
  std::string address{};    ///< Its network address with port 0; empty if it has none.
};
/// Throws Error{mismatch} that names an option with different values; its culprit is a rank without
/// the most frequent value. @param infos of all ranks.
void check_agreed(const std::vector<PeerInfo>& infos);
/// Throws Error{mismatch}, as check_agreed, if ranks need their secrets and these differ.
void check_secrets(const std::vector<PeerInfo>& infos);
/// @return a code that shows whether two secrets are equal, without revealing them.
[[nodiscard]] std::string secret_digest(const Secret& secret);
/// @return the number of cores that the ranks on the machine of `self` share, as
/// tutti::shared_cores.
[[nodiscard]] int shared_cores(const std::vector<PeerInfo>& infos, Rank self);

/// @return the fewest cores that ranks of one machine share; 0 if each rank of every machine has
/// its own.
[[nodiscard]] int fewest_shared_cores(const std::vector<PeerInfo>& infos);

/// @return the first rank without a common loopback with rank 0, or -1.
[[nodiscard]] Rank first_remote_rank(const std::vector<PeerInfo>& infos);

[[nodiscard]] std::string pack(const PeerInfo& info);
/// @param bytes of pack(). @param rank that sent them. @param own versions. Throws Error{mismatch}
/// that contains both versions, Error{transport}.
[[nodiscard]] PeerInfo unpack(std::string_view bytes, Rank rank, const Versions& own);

}  // namespace tutti::runtime
