/// @file
/// Messages that are sent and received at the same time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tutti::nccl_standin {

/// The purpose of a message, so that a collective of one rank never meets another of its peer.
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

/// How a rank's communicator knows the buffers of a call. Where ranks differ in it, NCCL's
/// behaviour is undefined: it hangs, or gives wrong data.
struct Registered {
  static constexpr std::uint64_t kAnywhere = ~std::uint64_t{0};

  bool is_registered = false;
  std::uint64_t in = kAnywhere;   ///< Offset of the input in its window, where ranks need the same.
  std::uint64_t out = kAnywhere;  ///< Offset of the output.
};

/// Throws Failure if two ranks of one call differ.
void require_same(const Registered& sender, const Registered& receiver);

struct Send {
  int peer = 0;
  Purpose purpose{};
  Registered registered{};
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

struct Receive {
  int peer = 0;
  Purpose purpose{};
  Registered registered{};
  std::byte* into = nullptr;
  std::size_t bytes = 0;
};

/// Messages between the same two ranks keep their order, all others go at the same time.
struct Stage {
  std::vector<Send> sends;
  std::vector<Receive> receives;
};

}  // namespace tutti::nccl_standin
