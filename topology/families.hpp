/// @file
/// Families of networks, built from their parameters.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "gpus.hpp"
#include "topology.hpp"

namespace tutti::v0 {

/// All functions throw Error{invalid_argument} if a number is out of range, or the network would be
/// too large. Hosts are numbered switch by switch.

/// The value of `hosts` for networks whose routers are the hosts, such as a torus of compute nodes.
/// Such a host has several links, and forwards messages of others.
inline constexpr int kDirect = 0;

/// All hosts at one switch. @param hosts at least 1. @param speed of all links, here and below.
[[nodiscard]] Topology single_switch(int hosts, const LinkSpeed& speed = {});

/// An extended generalised fat tree (Oehring, Ibel, Das, Kumar 1995): a vertex of level i + 1 has
/// down[i] children, and one of level i has up[i] parents. The hosts are level 0. A tree of full
/// bisection has up[i + 1] = down[i]; a smaller up[i + 1] is a taper. @param down at least one
/// level. @param up of the same length; the first is 1, or more if hosts have several links.
[[nodiscard]] Topology fat_tree(std::span<const int> down, std::span<const int> up,
                                const LinkSpeed& speed = {});

/// A dragonfly (Kim, Dally, Scott, Abts 2008): all routers of a group are linked to each other, and
/// each two groups by equally many links. @param hosts of a router. @param routers of a group.
/// @param global links of a router to other groups. @param groups at most routers * global + 1.
[[nodiscard]] Topology dragonfly(int hosts, int routers, int global, int groups,
                                 const LinkSpeed& speed = {});

/// Whether the rows of a grid are rings.
enum class Ends : std::uint8_t {
  joined,  ///< A torus: the last router of a row is next to the first.
  open     ///< A mesh: it is not.
};

/// A torus or a mesh of any dimension, with one router at each point; the last coordinate runs
/// fastest. @param hosts of a router, or kDirect.
[[nodiscard]] Topology torus(std::span<const int> sides, Ends ends, int hosts = 1,
                             const LinkSpeed& speed = {});

/// A hypercube: routers are linked if their numbers differ in one bit. @param dimensions at least
/// 0. @param hosts of a router, or kDirect.
[[nodiscard]] Topology hypercube(int dimensions, int hosts = 1, const LinkSpeed& speed = {});

/// A Slim Fly (Besta, Hoefler 2014): the MMS graph of q, any prime power from 3 on. @param hosts of
/// a router, or kDirect.
[[nodiscard]] Topology slim_fly(int q, int hosts = 1, const LinkSpeed& speed = {});

/// Islands of devices at a fast switch; device i of each island is linked to rail i, a switch of
/// its own. @param islands their number. @param devices of an island. @param speed of the links to
/// rails. @param inside speed of the links to the island's switch.
[[nodiscard]] Topology rails(int islands, int devices, const LinkSpeed& speed = {},
                             const LinkSpeed& inside = {.latency = 300'000'000, .per_byte = 2'222});

/// Hosts with GPUs, each on a rail of its own: see gpu_network. @param gpus of a host. @param hosts
/// their number. @param islands of a host, each joined by NVLink; they divide the GPUs evenly.
/// @param rail the speed of links to rails; the other speeds are those of gpu_speeds. @return GPU k
/// of host h is host h * gpus + k of the network.
[[nodiscard]] Topology gpu_hosts(int gpus, int hosts, int islands = 1,
                                 const LinkSpeed& rail = gpu_speeds().rail);

/// Parses a network: a family, its parameters and options, such as `switch:64`,
/// `fat_tree:16x8:up=1x8`, `dragonfly:4x8x4:groups=33`, `torus:8x8x8:hosts=2`, `mesh:4x4`,
/// `hypercube:10`, `slim_fly:5:hosts=4`, `rails:4x8`, `gpus:8x4:islands=2`. For torus, mesh,
/// hypercube and Slim Fly, `direct` instead of hosts=2 means that the routers are the hosts.
/// `latency=500ns` and `bandwidth=200G` (bits per second) apply to every link except those inside
/// islands or hosts. Throws Error{invalid_argument} that contains the wrong word and the right
/// notation.
[[nodiscard]] Topology parse_topology(std::string_view text);

/// @return whether parse_topology supports a family.
[[nodiscard]] bool is_family(std::string_view word);

/// @return an example of each family, separated by commas, for a person.
[[nodiscard]] std::string family_names();

}  // namespace tutti::v0
