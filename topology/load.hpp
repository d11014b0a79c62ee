/// @file
/// Networks by the names that users give: a family, or a file.
#pragma once

#include <string>
#include <vector>

#include "read.hpp"

namespace tutti::v0 {

/// A network as text, which each rank parses: rank 0 finds the file, and all ranks read its text.
struct NetworkText {
  std::string origin{};  ///< The user's word: a family such as "torus:8x8", or a path.
  std::string content{};
  bool is_file = false;  ///< Whether names of hosts matter.
};

/// @param network a family with its parameters, or the path of a file, which contains a slash or
/// exists. @return it, with the file's content. Throws Error{invalid_argument} that starts with the
/// path if that cannot be read.
[[nodiscard]] NetworkText find_network(const std::string& network);

/// @return the networks in a text: one, unless it is a topology.conf with several trees. Throws
/// Error{invalid_argument} that starts with the path of a file.
[[nodiscard]] std::vector<NamedTopology> read_networks(const NetworkText& text);

/// @return the only network in a text. Throws as read_networks, and if there are several.
[[nodiscard]] NamedTopology read_network(const NetworkText& text);

}  // namespace tutti::v0
