/// @file
/// Networks that are built everywhere, by their numbers.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gpus.hpp"
#include "topology.hpp"

namespace tutti::v0 {

/// All of these throw Error{invalid_argument} where a number is out of range, or the network would
/// be too large. Hosts are numbered switch by switch.

/// So many hosts of a router make the routers hosts themselves, as in a torus of compute nodes:
/// then a host has several links, and passes on what others send through it.
inline constexpr int kDirect = 0;

/// All hosts at one switch. @param hosts at least 1. @param speed of all links. @return it.
[[nodiscard]] Topology single_switch(int hosts, const LinkSpeed& speed = {});

/// An extended generalised fat tree (Oehring, Ibel, Das, Kumar 1995): a vertex of level i + 1 has
/// down[i] children, and one of level i has up[i] parents. The hosts are level 0. A tree of full
/// bisection has up[i + 1] = down[i]; fewer are a taper. @param down at least one level.
/// @param up as many; the first is 1, or more if hosts have several links. @param speed likewise.
/// @return it.
[[nodiscard]] Topology fat_tree(std::span<const int> down, std::span<const int> up,
                                const LinkSpeed& speed = {});

/// A dragonfly (Kim, Dally, Scott, Abts 2008): in each group all routers are linked with each
/// other, and each two groups by as many links as come out even. @param hosts of a router.
/// @param routers of a group. @param global links of a router to other groups. @param groups at
/// most routers * global + 1. @param speed likewise. @return it.
[[nodiscard]] Topology dragonfly(int hosts, int routers, int global, int groups,
                                 const LinkSpeed& speed = {});

/// What closes at its ends.
enum class Ends : std::uint8_t {
  joined,  ///< A torus: the last router of a row is next to the first.
  open     ///< A mesh: it is not.
};

/// A torus or a mesh of any dimension, one router each; the last coordinate runs fastest.
/// @param sides lengths of the sides. @param ends see Ends. @param hosts of a router,
/// or kDirect. @param speed likewise. @return it.
[[nodiscard]] Topology torus(std::span<const int> sides, Ends ends, int hosts = 1,
                             const LinkSpeed& speed = {});

/// Routers whose numbers differ in one bit. @param dimensions at least 0. @param hosts of a router,
/// or kDirect. @param speed likewise. @return it.
[[nodiscard]] Topology hypercube(int dimensions, int hosts = 1, const LinkSpeed& speed = {});

/// A Slim Fly (Besta, Hoefler 2014): the MMS graph of q, any prime power from 3 on.
/// @param q see there. @param hosts of a router, or kDirect. @param speed likewise. @return it.
[[nodiscard]] Topology slim_fly(int q, int hosts = 1, const LinkSpeed& speed = {});

/// Islands of devices that a fast switch joins; device i of each island is linked to rail i, a
/// switch of its own. @param islands how many. @param devices of an island. @param speed of the
/// links to rails. @param inside of those to the island's switch. @return it.
[[nodiscard]] Topology rails(int islands, int devices, const LinkSpeed& speed = {},
                             const LinkSpeed& inside = {.latency = 300'000'000, .per_byte = 2'222});

/// Hosts with GPUs, each on a rail of its own: see gpu_network. @param gpus of a host. @param hosts
/// how many. @param islands of a host: NVLink joins those of each; they divide the GPUs evenly.
/// @param rail the speed of links to rails; the others are those of gpu_speeds. @return it: GPU k
/// of host h is its host h * gpus + k.
[[nodiscard]] Topology gpu_hosts(int gpus, int hosts, int islands = 1,
                                 const LinkSpeed& rail = gpu_speeds().rail);

/// Reads a network: a family and its numbers, then what else is to be said, such as `switch:64`,
/// `fat_tree:16x8:up=1x8`, `dragonfly:4x8x4:groups=33`, `torus:8x8x8:hosts=2`, `mesh:4x4`,
/// `hypercube:10`, `slim_fly:5:hosts=4`, `rails:4x8`, `gpus:8x4:islands=2`; in torus, mesh,
/// hypercube and Slim Fly `direct` stands in place of hosts=2 where the routers are the hosts; with
/// `latency=500ns` and `bandwidth=200G` (bits in a second) of every link, but for those inside
/// islands or hosts. Throws Error{invalid_argument} that names the offender, and what would be
/// right. @param text as above. @return the network.
[[nodiscard]] Topology parse_topology(std::string_view text);

/// @param word any. @return whether parse_topology knows a family of that name.
[[nodiscard]] bool is_family(std::string_view word);

/// @return what parse_topology knows, for a person: an example of each family, with commas between.
[[nodiscard]] std::string family_names();

}  // namespace tutti::v0
