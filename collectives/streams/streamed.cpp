#include "streamed.hpp"

#include <algorithm>
#include <deque>
#include <iterator>
#include <optional>
#include <vector>

#include <tutti/error.hpp>

#include "stream_memory.hpp"

namespace tutti::v0::detail {
namespace {

/// Bytes for the tokens of a barrier: half for its own, half for those that it receives.
constexpr std::size_t kTokenBytes = 128;

/// A run of a program while it is enqueued.
class StreamRun {
 public:
  StreamRun(const Binding& binding, const Operator& op, const Program& program, RunBuffers buffers,
            StreamTransport& streams, Stream stream)
      : binding_{binding}, op_{op}, program_{program}, streams_{streams}, stream_{stream},
        places_{program, buffers, streams, stream}, is_captured_{streams.is_captured(stream)} {}

  /// @return the messages of the next round, which the caller exchanges before advance().
  [[nodiscard]] std::vector<StreamMessage> next_messages() {
    const std::span group = operations().subspan(next_, end_of_group() - next_);
    std::size_t packed = 0;
    for (const Operation& operation : group)
      if (is_packed(program_.pieces_of(operation)))
        packed += bytes_of(program_.pieces_of(operation));
    pack_.emplace(packed, streams_, stream_);
    std::byte* room = pack_->data();
    std::vector<StreamMessage> messages;
    for (const Operation& operation : group) add_message(operation, room, messages);
    return messages;
  }
  /// Continues after the messages of a round, up to those of the next round or the end. @return
  /// whether there is a next round.
  bool advance() {
    std::byte* room = pack_ ? pack_->data() : nullptr;
    for (const std::size_t end = end_of_group(); next_ < end; ++next_) {
      const std::span<const PlacedPiece> pieces = program_.pieces_of(operations()[next_]);
      if (!is_packed(pieces)) continue;
      if (operations()[next_].kind == OperationKind::recv) move(pieces, room, false);
      room += bytes_of(pieces);
    }
    pack_.reset();
    for (; next_ < operations().size() && !is_message(operations()[next_]); ++next_)
      combine(operations()[next_]);
    return next_ < operations().size();
  }
  void run() {
    do {
      const std::vector<StreamMessage> messages = next_messages();
      if (!messages.empty()) streams_.exchange(messages, stream_);
    } while (advance());
  }

 private:
  [[nodiscard]] static bool is_message(const Operation& operation) noexcept {
    return operation.kind == OperationKind::send || operation.kind == OperationKind::recv;
  }
  [[nodiscard]] std::span<const Operation> operations() const noexcept {
    return std::span{program_.operations}.first(program_.size());
  }
  /// @return the end of the messages of this round, which start together.
  [[nodiscard]] std::size_t end_of_group() const noexcept {
    std::size_t end = next_;
    while (end < operations().size() && is_message(operations()[end]) &&
           operations()[end].round == operations()[next_].round)
      ++end;
    return end;
  }
  [[nodiscard]] std::byte* at(const Place& place) const { return places_.at(place); }

  /// @return whether a message goes through memory that holds its pieces one after the other, since
  /// the other rank may cut the message differently. In a graph all messages lie in the library's
  /// memory: NCCL would register the program's memory itself, and may hang if the other rank's is
  /// not registered.
  [[nodiscard]] bool is_packed(std::span<const PlacedPiece> pieces) const noexcept {
    return pieces.size() > 1 ||
           (is_captured_ && pieces.size() == 1 && pieces.front().place.base != Base::held);
  }
  void add_message(const Operation& operation, std::byte*& room,
                   std::vector<StreamMessage>& messages) {
    const std::span<const PlacedPiece> pieces = program_.pieces_of(operation);
    const bool is_send = operation.kind == OperationKind::send;
    const std::size_t bytes = bytes_of(pieces);
    if (bytes == 0) return;
    std::byte* data = room;
    if (!is_packed(pieces)) data = at(pieces.front().place);
    else room += bytes;
    if (is_packed(pieces) && is_send) move(pieces, data, true);
    messages.push_back({.kind = is_send ? Transfer::Kind::send : Transfer::Kind::recv,
                        .peer = operation.peer,
                        .data = data,
                        .bytes = bytes});
  }
  void move(std::span<const PlacedPiece> pieces, std::byte* pack, bool packs) {
    for (const PlacedPiece& piece : pieces) {
      std::byte* const place = at(piece.place);
      streams_.copy(packs ? pack : place, packs ? place : pack, piece.bytes, stream_);
      pack += piece.bytes;
    }
  }

  void combine(const Operation& operation) {
    expects(operation.kind == OperationKind::combine,
            "no operation on a stream waits for a signal");
    for (const Combination& combination : program_.combinations_of(operation)) {
      const std::span<const Place> places = program_.operands_of(combination);
      std::byte* const destination = at(combination.destination);
      if (places.size() == 1 && !combination.finish) {
        streams_.copy(destination, at(places.front()), combination.count * binding_.element_bytes,
                      stream_);
        continue;
      }
      std::vector<const void*> operands;
      for (const Place& place : places) operands.push_back(at(place));
      std::vector<std::int8_t> exponents(binding_.is_scaled ? places.size() : 0);
      if (binding_.is_scaled) set_exponents(combination, places, exponents);
      Fold fold = fold_of(binding_, op_, combination);
      fold.destination = destination;
      fold.operands = operands;
      fold.exponents = exponents;
      streams_.fold(fold, stream_);
    }
  }

  const Binding& binding_;
  const Operator& op_;
  const Program& program_;
  StreamTransport& streams_;
  Stream stream_;
  StreamPlaces places_;
  bool is_captured_;
  std::optional<StreamMemory> pack_{};  // packed messages of this round
  std::size_t next_ = 0;                // next operation
};

}  // namespace

void enqueue(const Binding& binding, const Operator& op, RunBuffers buffers,
             StreamTransport& streams, Stream stream) {
  // The caller of a barrier has no memory for its tokens.
  const StreamMemory tokens{binding.is_barrier() ? kTokenBytes : 0, streams, stream};
  if (binding.is_barrier()) buffers = {tokens.data(), tokens.data() + kTokenBytes / 2};
  const StreamInput input{binding, buffers, streams, stream};
  auto* const out = static_cast<std::byte*>(buffers.out);
  for (std::size_t segment = 0; segment < binding.segments; ++segment) {
    const Programs::Found found = binding.programs->find(segment, input.is_shared());
    const RunBuffers shifted{input.data() + found.shift, out + found.shift};
    StreamRun{binding, op, *found.program, shifted, streams, stream}.run();
  }
}

void enqueue_together(std::span<const StreamedMessage> calls, StreamTransport& streams,
                      Stream stream) {
  std::deque<StreamInput> inputs;
  std::deque<StreamRun> runs;
  std::vector<StreamMessage> messages;
  for (const auto& [binding, buffers] : calls) {
    const StreamInput& input = inputs.emplace_back(binding, buffers, streams, stream);
    const Program& program = *binding.programs->find(0, input.is_shared()).program;
    const RunBuffers own{input.data(), buffers.out};
    std::ranges::copy(
        runs.emplace_back(binding, sum, program, own, streams, stream).next_messages(),
        std::back_inserter(messages));
  }
  if (!messages.empty()) streams.exchange(messages, stream);
  for (StreamRun& run : runs) {
    const bool has_more = run.advance();
    expects(!has_more, "messages of two ranks are one round");
  }
}

}  // namespace tutti::v0::detail
