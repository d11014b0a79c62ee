/// @file
/// Networks in files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology.hpp"

namespace tutti::v0 {

/// A network with names of its vertices.
struct NamedTopology {
  Topology topology;
  std::vector<std::string> names{};  ///< Names of hosts, then of switches.
};

/// Reads a network from JSON: arrays of names `hosts` and `switches`, and `links`, an array of
/// objects with the names `from` and `to`, and optionally `count` (the number of parallel links),
/// `latency_ns`, `per_message_ns` and `gbit_per_s`; the last three may also be given beside `hosts`
/// for all links, as may `name`. `levels` describes which hosts are near each other, such as GPUs
/// of one host, innermost first: objects with `name` and `parts`, an array of arrays of names of
/// hosts, in which each host occurs once. `message_ns` is the time in which a host sends a message,
/// `reduce_gb_per_s` the speed of its reductions, and `assumed` a text that lists assumed values.
/// Throws Error{invalid_argument} that contains what is wrong.
[[nodiscard]] NamedTopology read_json_topology(std::string_view text);

/// Reads networks from SLURM's topology.conf, by the rules of Slurm's own parser: a line per switch
/// with SwitchName, and Nodes or Switches, lists such as `node[01-16,20],login`; blanks may
/// surround `=`, quotes a value, and blanks or commas separate names of a list. The text after a #
/// is a comment, a \ before a character makes it an ordinary one, and a \ at the end of a line
/// continues it in the next. Such a file has no speeds, and may have several trees without a link
/// between them. Throws Error{invalid_argument} that contains the line and what is wrong there.
/// @param speed of all links. @return a network for each tree with hosts, in the order of their
/// first hosts.
[[nodiscard]] std::vector<NamedTopology> read_slurm_topology(std::string_view text,
                                                             const LinkSpeed& speed = {});

}  // namespace tutti::v0
