/// @file
/// A simulated cluster with all its transports, and short words for what tests do with it.
#pragma once

#include <array>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <tutti/testing.hpp>

namespace tutti::sim {

using std::chrono::microseconds;
using std::chrono::nanoseconds;

/// A cluster with all its transports, and short words for what the tests do.
struct Fixture {
  explicit Fixture(const ClusterOptions& options) : cluster{options} {
    for (Rank rank = 0; rank < options.size; ++rank) transports.push_back(cluster.transport(rank));
  }
  Transport& operator[](Rank rank) { return *transports[static_cast<std::size_t>(rank)]; }

  Cluster cluster;
  std::vector<std::unique_ptr<Transport>> transports{};
};

/// A buffer that is one piece.
struct Buffer {
  explicit Buffer(std::size_t size, std::uint8_t first = 0) : bytes(size) {
    std::uint8_t value = first;
    for (std::byte& byte : bytes) byte = std::byte{value++};
    piece = {bytes.data(), bytes.size()};
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  std::vector<std::byte> bytes;
  Piece piece{};
};

inline Transfer send_of(const Buffer& buffer, Rank peer, std::uint32_t tag = 0,
                        std::uint64_t cookie = 0) {
  return {Transfer::Kind::send, peer, tag, 7, cookie, std::span{&buffer.piece, 1}};
}
inline Transfer receive_of(const Buffer& buffer, Rank peer, std::uint32_t tag = 0,
                           std::uint64_t cookie = 0) {
  return {Transfer::Kind::recv, peer, tag, 7, cookie, std::span{&buffer.piece, 1}};
}
inline void post(Transport& transport, const Transfer& transfer) {
  transport.post(std::span{&transfer, 1});
}

inline std::vector<std::uint64_t> cookies(Transport& transport) {
  std::array<Completion, 64> completions{};
  const std::size_t count = transport.poll(completions);
  std::vector<std::uint64_t> result{};
  for (std::size_t i = 0; i < count; ++i) result.push_back(completions[i].cookie);
  return result;
}

inline Error error_of_poll(Transport& transport) {
  try {
    static_cast<void>(cookies(transport));
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "poll did not throw";
  return {ErrorCode::bug, "poll did not throw"};
}

inline bool contains(const Error& error, const std::string& text) {
  return std::string{error.what()}.find(text) != std::string::npos;
}

}  // namespace tutti::sim
