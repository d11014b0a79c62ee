/// @file
/// What the ranks tell about themselves before they are connected.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/spi/cores.hpp>

#include "authenticate.hpp"

namespace tutti::runtime {

/// What tells one host from another.
struct Host {
  std::string name;        ///< For people.
  std::string boot;        ///< The kernel's boot id: equal for all containers of a machine.
  std::string network;     ///< Which network namespace, on that kernel.
  std::uint32_t user = 0;  ///< Only processes of one user share memory.

  /// Equality of all members.
  friend bool operator==(const Host&, const Host&) = default;
};
/// @return the host this process runs on, as this user. Throws Error{transport} without /proc.
[[nodiscard]] Host this_host();
/// @return whether memory can be shared between them.
[[nodiscard]] bool share_memory(const Host& a, const Host& b);
/// @return whether they reach each other by the loopback address.
[[nodiscard]] bool share_loopback(const Host& a, const Host& b);

/// Options that must be equal on all ranks: what a user calls them, and their values as text.
using Agreed = std::vector<std::pair<std::string, std::string>>;

/// A rank's first info: who and where it is.
struct PeerInfo {
  Versions versions{};        ///< What it speaks.
  Host host{};                ///< Where it runs.
  bool has_memory = false;    ///< Whether it can share memory at all.
  bool wants_tls = false;     ///< Whether it encrypts what goes over a network; all must agree.
  Cores cores{};              ///< What it may use.
  Locality locality{};        ///< Where that is.
  Agreed agreed{};            ///< What must be equal on all ranks.
  std::string secret_mark{};  ///< mark_of the secret it was given; empty without.
  // What follows is rank 0's to say.
  std::uint64_t world = 0;  ///< A number that no other world has.
  std::string secret{};     ///< If it drew one: 32 bytes.
  std::string address{};    ///< Its network address and port 0; empty if it has none.
};
/// Throws Error{mismatch} that names an option which is not the same on two ranks; its culprit has
/// not what most have. @param infos of all ranks.
void check_agreed(const std::vector<PeerInfo>& infos);
/// Throws Error{mismatch} where ranks were given secrets that differ, and have to use them, as
/// check_agreed. @param infos of all ranks.
void check_secrets(const std::vector<PeerInfo>& infos);
/// @param secret any. @return what tells whether two ranks have the same, but not the secret.
[[nodiscard]] std::string mark_of(const Secret& secret);
/// @param infos of all ranks. @param self one of them. @return how many cores the ranks on its
/// machine share, as tutti::shared_cores counts them.
[[nodiscard]] int shared_cores(const std::vector<PeerInfo>& infos, Rank self);

/// @param infos of all ranks. @return the fewest cores that ranks of a machine share; 0 where each
/// rank of every machine has one.
[[nodiscard]] int fewest_shared_cores(const std::vector<PeerInfo>& infos);

/// @param infos of all ranks. @return the first rank that rank 0 reaches over no loopback, or -1.
[[nodiscard]] Rank first_far_from_rank_0(const std::vector<PeerInfo>& infos);

/// @param info to say. @return it as bytes.
[[nodiscard]] std::string pack(const PeerInfo& info);
/// @param bytes of pack(). @param rank that said them. @param own versions that this rank speaks.
/// @return the info. Throws Error{mismatch} that names both versions, Error{transport}.
[[nodiscard]] PeerInfo unpack(std::string_view bytes, Rank rank, const Versions& own);

}  // namespace tutti::runtime
