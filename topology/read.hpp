/// @file
/// Networks that are written down in files.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology.hpp"

namespace tutti::v0 {

/// A network whose vertices have names.
struct NamedTopology {
  Topology topology;
  std::vector<std::string> names{};  ///< Of hosts, then of switches.
};

/// Reads a network as JSON: `hosts` and `switches`, arrays of names, and `links`, an array of
/// objects with `from` and `to`, two of those names, and perhaps `count`, how many of them there
/// are, `latency_ns`, `per_message_ns` and `gbit_per_s`; the latter three may stand beside `hosts`
/// for all links, and `name`. What is near each other, such as GPUs of one host, is told by
/// `levels`, from the inmost: objects with `name` and `parts`, an array of arrays of names of
/// hosts, in which each host is once; what hosts take by `message_ns`, to hand one over, and
/// `reduce_gb_per_s`; and what of all that is assumed by `assumed`, a text. Throws
/// Error{invalid_argument} that names what is wrong. @param text of the file.
/// @return the network.
[[nodiscard]] NamedTopology read_json_topology(std::string_view text);

/// Reads networks as SLURM's topology.conf has them, by the rules of Slurm's own parser: a line per
/// switch with SwitchName, and Nodes or Switches, lists such as `node[01-16,20],login`; blanks may
/// stand around `=`, quotes around a value, and blanks or commas between names of a list. The text
/// behind a # is a comment, a \ before a character makes it an ordinary one, and a \ at the end of
/// a line continues it in the next. Such a file has no speeds, and may have several trees that no
/// link joins. Throws Error{invalid_argument} that names the line and what is wrong there. @param
/// text of the file. @param speed of all links. @return a network for each tree that has hosts, in
/// the order of their first hosts.
[[nodiscard]] std::vector<NamedTopology> read_slurm_topology(std::string_view text,
                                                             const LinkSpeed& speed = {});

}  // namespace tutti::v0
