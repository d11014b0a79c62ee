// Calls on streams if ranks see each other's memory.
#include <algorithm>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/stream_peers.hpp>

#include "collectives/streams/stream_memory.hpp"
#include "collectives/streams/streamed.hpp"

namespace tutti::v0::detail {
namespace {

/// A run of a program while it is enqueued, round by round. In a round, a rank announces all its
/// messages before it waits for any. It then reads the announced messages of others, and waits
/// until its own were read. So each send waits for its receive, as if no message were buffered.
class VisibleRun {
 public:
  VisibleRun(const Binding& binding, const Operator& op, const Program& program, RunBuffers buffers,
             StreamTransport& streams, Stream stream)
      : binding_{binding}, op_{op}, program_{program}, streams_{streams}, peers_{*streams.peers()},
        stream_{stream}, places_{program, buffers, streams, stream} {}

  void run() {
    const std::span all = std::span{program_.operations}.first(program_.size());
    for (std::size_t first = 0; first < all.size();) {
      std::size_t end = first;
      while (end < all.size() && all[end].round == all[first].round) ++end;
      run_round(all.subspan(first, end - first));
      first = end;
    }
  }

 private:
  using Round = std::span<const Operation>;
  template <class Act>
  static void for_each(Round round, OperationKind kind, Act act) {
    for (const Operation& operation : round)
      if (operation.kind == kind) act(operation);
  }

  void run_round(Round round) {
    for_each(round, OperationKind::send, [&](const Operation& send) { announce(send); });
    for_each(round, OperationKind::wait,
             [&](const Operation& wait) { peers_.await(wait.peer, stream_); });
    for_each(round, OperationKind::recv, [&](const Operation& recv) { fetch(recv); });
    for_each(round, OperationKind::combine, [&](const Operation& combine) {
      if (reads_peers(combine)) combine_all(combine);
    });
    for_each(round, OperationKind::signal,
             [&](const Operation& signal) { peers_.release(signal.peer, stream_); });
    for_each(round, OperationKind::send, [&](const Operation& send) {
      if (send.pieces > 0) peers_.await_release(send.peer, stream_);
    });
    // These may write where peers have read: all of them have released this rank's messages.
    for_each(round, OperationKind::combine, [&](const Operation& combine) {
      if (!reads_peers(combine)) combine_all(combine);
    });
    peers_.give_back();
  }

  void announce(const Operation& send) {
    const std::span<const PlacedPiece> pieces = program_.pieces_of(send);
    const std::size_t bytes = bytes_of(pieces);
    if (bytes == 0) return;
    const std::byte* data = places_.at(pieces.front().place);
    if (pieces.size() > 1 || !peers_.are_seen(data, bytes)) {
      std::byte* room = peers_.acquire(bytes);
      data = room;
      for (const PlacedPiece& piece : pieces) {
        streams_.copy(room, places_.at(piece.place), piece.bytes, stream_);
        room += piece.bytes;
      }
    }
    peers_.announce(send.peer, data, stream_);
  }

  void fetch(const Operation& recv) {
    const std::span<const PlacedPiece> pieces = program_.pieces_of(recv);
    if (bytes_of(pieces) == 0) return;
    peers_.await(recv.peer, stream_);
    std::size_t offset = 0;
    for (const PlacedPiece& piece : pieces) {
      const void* const none = nullptr;
      const PeerOperand there{.peer = recv.peer, .offset = offset};
      peers_.fold(
          {.destination = places_.at(piece.place), .operands = {&none, 1}, .count = piece.bytes},
          {&there, 1}, stream_);
      offset += piece.bytes;
    }
    peers_.release(recv.peer, stream_);
  }

  [[nodiscard]] bool reads_peers(const Operation& operation) const {
    const auto is_theirs = [](const Place& place) { return place.base == Base::message; };
    return std::ranges::any_of(program_.combinations_of(operation), [&](const Combination& each) {
      return std::ranges::any_of(program_.operands_of(each), is_theirs);
    });
  }

  void combine_all(const Operation& operation) {
    for (const Combination& combination : program_.combinations_of(operation)) {
      std::vector<const void*> operands;
      std::vector<PeerOperand> theirs;
      for (const Place& place : program_.operands_of(combination)) {
        if (place.base == Base::message)
          theirs.push_back({.operand = operands.size(),
                            .peer = program_.operations[program_.messages[place.message]].peer,
                            .offset = place.offset});
        operands.push_back(place.base == Base::message ? nullptr : places_.at(place));
      }
      std::vector<std::int8_t> exponents(binding_.is_scaled ? operands.size() : 0);
      if (binding_.is_scaled)
        set_exponents(combination, program_.operands_of(combination), exponents);
      Fold fold = fold_of(binding_, op_, combination);
      if (operands.size() == 1 && !combination.finish) fold.op = nullptr;
      fold.destination = places_.at(combination.destination);
      fold.operands = operands;
      fold.exponents = exponents;
      peers_.fold(fold, theirs, stream_);
    }
  }

  const Binding& binding_;
  const Operator& op_;
  const Program& program_;
  StreamTransport& streams_;
  StreamPeers& peers_;
  Stream stream_;
  StreamPlaces places_;
};

}  // namespace

void enqueue_visible(const Binding& binding, const Operator& op, RunBuffers buffers,
                     StreamTransport& streams, Stream stream) {
  const StreamInput input{binding, buffers, streams, stream};
  StreamPeers& peers = *streams.peers();
  peers.begin(stream);
  const Program& program = *binding.programs->find(0, input.is_shared()).program;
  VisibleRun{binding, op, program, {input.data(), buffers.out}, streams, stream}.run();
  peers.end(stream);
}

}  // namespace tutti::v0::detail
