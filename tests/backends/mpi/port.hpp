/// @file
/// Posting and polling of a transport in a few words, with a deadline.
#pragma once

#include <mpi.h>
#include <sched.h>

#include <cstdint>
#include <deque>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <tutti/mpi.hpp>

#include "tests/support/patience.hpp"

namespace tutti::test {

/// Bytes that differ for each rank, message and index.
inline std::vector<std::byte> pattern(std::size_t bytes, int from, int to, int serial) {
  std::vector<std::byte> data(bytes);
  auto state = static_cast<std::uint32_t>(from * 1000003 + to * 7919 + serial * 104729 + 1);
  for (std::byte& byte : data) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<std::byte>(state >> 24);
  }
  return data;
}

/// A transport that a test drives by hand.
class Port {
 public:
  explicit Port(mpi::Options options = {}, MPI_Comm comm = MPI_COMM_WORLD) {
    options.timeout = kAmple;
    transport_ = mpi::make_transport(comm, options);
  }
  /// The properties of one message.
  struct Label {
    std::uint32_t tag = 0;
    std::uint64_t fingerprint = 7;
    Combiner* combiner = nullptr;
    bool reduced = false;
  };

  Rank self() const { return transport_->self(); }
  int size() const { return transport_->size(); }
  Rank right() const { return (self() + 1) % size(); }
  Rank left() const { return (self() + size() - 1) % size(); }
  Transport& transport() { return *transport_; }

  void send(Rank peer, std::vector<Piece> pieces, Label label) {
    post(Transfer::Kind::send, peer, std::move(pieces), label);
  }
  void receive(Rank peer, std::vector<Piece> pieces, Label label) {
    post(Transfer::Kind::recv, peer, std::move(pieces), label);
  }
  void send(Rank peer, std::vector<std::byte>& data, Label label) {
    send(peer, whole(data), label);
  }
  void receive(Rank peer, std::vector<std::byte>& data, Label label) {
    receive(peer, whole(data), label);
  }

  /// Polls once. @return transfers that completed.
  std::size_t poll() {
    std::array<Completion, 16> completions{};
    const std::size_t count = transport_->poll(completions);
    for (std::size_t i = 0; i < count; ++i) done_.at(completions[i].cookie) = true;
    pending_ -= count;
    if (count == 0) sched_yield();
    return count;
  }
  /// Polls until all transfers are done; throws what poll throws, and if it takes too long.
  void wait() {
    const Duration deadline = transport_->now() + kAmple;
    while (pending_ > 0) {
      poll();
      if (transport_->now() > deadline)
        throw std::runtime_error{std::to_string(pending_) + " transfers do not end"};
    }
  }
  /// Whether the k-th transfer posted here is done.
  bool done(std::size_t k) const { return done_.at(k); }
  std::size_t posted() const { return done_.size(); }

 private:
  static std::vector<Piece> whole(std::vector<std::byte>& data) {
    if (data.empty()) return {};
    return {{data.data(), data.size()}};
  }
  void post(Transfer::Kind kind, Rank peer, std::vector<Piece> pieces, Label label) {
    pieces_.push_back(std::move(pieces));
    const Transfer transfer{.kind = kind,
                            .peer = peer,
                            .tag = label.tag,
                            .fingerprint = label.fingerprint,
                            .cookie = done_.size(),
                            .pieces = pieces_.back(),
                            .combiner = label.combiner,
                            .reduced = label.reduced};
    done_.push_back(false);
    ++pending_;
    transport_->post({&transfer, 1});
  }

  std::deque<std::vector<Piece>> pieces_{};
  std::vector<bool> done_{};
  std::size_t pending_ = 0;
  std::unique_ptr<Transport> transport_{};
};

}  // namespace tutti::test
