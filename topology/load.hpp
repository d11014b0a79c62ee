/// @file
/// Networks as people name them: by a family, or by a file.
#pragma once

#include <string>
#include <vector>

#include "read.hpp"

namespace tutti::v0 {

/// A network in words, which is read where it is needed: rank 0 finds the file, and all read its
/// text.
struct NetworkText {
  std::string origin{};   ///< What somebody said: a family such as "torus:8x8", or a path.
  std::string content{};  ///< Of a file.
  bool is_file = false;   ///< Whether hosts have names that count.
};

/// @param network a family with its numbers, or the path of a file, which has a slash in it or is
/// there. @return it, with the file's content. Throws Error{invalid_argument} that begins with the
/// path where that cannot be read.
[[nodiscard]] NetworkText find_network(const std::string& network);

/// @param text as find_network gives it. @return the networks in it: one, except for a
/// topology.conf of several trees. Throws Error{invalid_argument} that begins with the path of a
/// file, and says what is wrong.
[[nodiscard]] std::vector<NamedTopology> read_networks(const NetworkText& text);

/// @param text as find_network gives it. @return the network. Throws like read_networks, and where
/// there are several networks, with a host of each of two.
[[nodiscard]] NamedTopology read_network(const NetworkText& text);

}  // namespace tutti::v0
