/// @file
/// Messages that are sent and received at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::nccl_standin {

/// What a message belongs to, so that a collective of one rank never meets another of its peer.
enum class Purpose : std::uint64_t {
  pair,
  all_reduce,
  broadcast,
  reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  gather,
  scatter
};

struct Send {
  int peer = 0;
  Purpose purpose{};
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

struct Receive {
  int peer = 0;
  Purpose purpose{};
  std::byte* into = nullptr;
  std::size_t bytes = 0;
};

/// Messages between the same two ranks keep their order, all others go at the same time.
struct Stage {
  std::vector<Send> sends;
  std::vector<Receive> receives;
};

}  // namespace tutti::nccl_standin
