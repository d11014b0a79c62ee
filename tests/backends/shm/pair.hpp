/// @file
/// Two ranks of one host, in one process, without anything between them but shared memory.
#pragma once

#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include "backends/shm/domain.hpp"

namespace tutti::shm {

/// Bytes of addresses of a segment here.
inline constexpr std::size_t kSegmentSize = std::size_t{256} << 20;
/// The ranks of a pair.
inline constexpr std::array<Rank, 2> kBoth{0, 1};

/// @param seed of a message. @param bytes of it. @return its bytes, no two runs of which are alike.
inline std::vector<std::byte> message_of(std::uint32_t seed, std::size_t bytes) {
  std::vector<std::byte> message(bytes);
  for (std::byte& byte : message) {
    seed = seed * 1664525 + 1013904223;
    byte = static_cast<std::byte>(seed >> 24);
  }
  return message;
}

/// Domains of a number of ranks.
struct Host {
  /// @param size number of ranks. @param transports options of their transports.
  explicit Host(int size, const Options& transports = {}) : options{transports} {
    for (int i = 0; i < size; ++i) segments.push_back(make_segment(kSegmentSize));
    for (Rank rank = 0; rank < size; ++rank) {
      std::vector<Neighbour> neighbours;
      for (Rank other = 0; other < size; ++other)
        if (other != rank) neighbours.push_back({other, segment(other).descriptor()});
      domains.push_back(
          std::make_shared<Domain>(rank, segments[static_cast<std::size_t>(rank)], neighbours));
    }
  }
  [[nodiscard]] Segment& segment(Rank rank) { return *segments[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Domain& domain(Rank rank) { return *domains[static_cast<std::size_t>(rank)]; }
  /// @param rank any. @param communicator of all. @return its transport.
  [[nodiscard]] std::unique_ptr<Transport> transport(Rank rank, std::uint64_t communicator = 1) {
    std::vector<Rank> all(domains.size());
    std::iota(all.begin(), all.end(), 0);
    return domain(rank).transport(communicator, all, failure_signal, options);
  }

  Options options;
  std::vector<std::shared_ptr<Segment>> segments{};
  std::vector<std::shared_ptr<Domain>> domains{};
  std::shared_ptr<FailureSignal> failure_signal = std::make_shared<FailureSignal>();
};

/// @param host where. @param rank whose. @param block of its communicator 1. @param member of it.
/// @return the queue to the member, with all its memory.
inline QueueMemory whole_queue(Host& host, Rank rank, std::uint64_t block, std::size_t member) {
  const Mapping& mapping = host.segment(rank).mapping();
  const QueueMemory queue = queue_of(mapping, block, member);
  for (const QueuePart part : {QueuePart::slots, QueuePart::bytes})
    set_queue_part(
        mapping, block, member, part,
        host.domain(rank).extend(1, bytes_of(Sizes{queue.slot_count, queue.byte_count}, part)));
  return queue_of(mapping, block, member);
}

/// @param transport to poll a number of times. @return how much it completed.
inline std::size_t completed(Transport& transport, int polls = 100) {
  std::array<Completion, 4> completions{};
  std::size_t count = 0;
  for (int i = 0; i < polls; ++i) count += transport.poll(completions);
  return count;
}

/// Posts one transfer. @param transport whose. @param kind which. @param pieces of the message.
inline void post(Transport& transport, Transfer::Kind kind, std::span<const Piece> pieces) {
  const Transfer transfer{.kind = kind, .peer = 1 - transport.self(), .pieces = pieces};
  transport.post({&transfer, 1});
}

}  // namespace tutti::shm
