#include "streamed.hpp"

#include <algorithm>
#include <vector>

#include <tutti/error.hpp>

namespace tutti::inline v0::detail {
namespace {

/// For those that a rank has, and those that it gets.
constexpr std::size_t kTokenBytes = 128;

/// Device memory from here in the stream until where this ends.
class StreamMemory {
 public:
  StreamMemory(std::size_t bytes, StreamTransport& streams, Stream stream)
      : streams_{streams}, stream_{stream}, data_{bytes == 0 ? nullptr
                                                             : streams.allocate(bytes, stream)} {}
  StreamMemory(const StreamMemory&) = delete;
  StreamMemory& operator=(const StreamMemory&) = delete;
  ~StreamMemory() {
    if (data_ != nullptr) streams_.deallocate(data_, stream_);
  }
  [[nodiscard]] std::byte* data() const noexcept { return data_; }

 private:
  StreamTransport& streams_;
  Stream stream_;
  std::byte* data_;
};

std::size_t bytes_of(std::span<const PlacedPiece> pieces) noexcept {
  std::size_t bytes = 0;
  for (const PlacedPiece& piece : pieces) bytes += piece.bytes;
  return bytes;
}

/// A run of a program while it is enqueued.
class StreamRun {
 public:
  StreamRun(const Binding& binding, StreamTransport& streams, Stream stream)
      : binding_{binding}, streams_{streams}, stream_{stream} {}

  void enqueue(const Program& program, const std::byte* in, std::byte* out) {
    const StreamMemory held{program.held_bytes, streams_, stream_};
    in_ = in;
    out_ = out;
    held_ = held.data();
    const std::span operations = std::span{program.operations}.first(program.size());
    for (std::size_t i = 0; i < operations.size();) {
      const std::size_t end = end_of_group(operations, i);
      if (end > i) exchange(program, operations.subspan(i, end - i));
      else combine(program, operations[i]);
      i = std::max(end, i + 1);
    }
  }

 private:
  [[nodiscard]] static bool is_message(const Operation& operation) noexcept {
    return operation.verb == Verb::send || operation.verb == Verb::recv;
  }
  /// The messages of one round, which start at once.
  [[nodiscard]] static std::size_t end_of_group(std::span<const Operation> operations,
                                                std::size_t first) noexcept {
    std::size_t end = first;
    while (end < operations.size() && is_message(operations[end]) &&
           operations[end].round == operations[first].round)
      ++end;
    return end;
  }
  [[nodiscard]] std::byte* at(const Place& place) const {
    switch (place.base) {
      // Nothing writes through a pointer into the input.
      case Base::in: return const_cast<std::byte*>(in_) + place.offset;
      case Base::out: return out_ + place.offset;
      case Base::held: return held_ + place.offset;
      case Base::message:
      case Base::result: break;
    }
    expects(false, "what is enqueued on a stream knows no place in a message");
    return nullptr;
  }

  /// A message of several pieces goes through memory where they lie one after the other, since the
  /// pieces of the other side may be cut in other places.
  void exchange(const Program& program, std::span<const Operation> group) {
    std::size_t packed = 0;
    for (const Operation& operation : group)
      if (operation.pieces > 1) packed += bytes_of(program.pieces_of(operation));
    const StreamMemory pack{packed, streams_, stream_};
    std::byte* next = pack.data();
    std::vector<StreamMessage> messages;
    for (const Operation& operation : group) {
      const std::span<const PlacedPiece> pieces = program.pieces_of(operation);
      const bool is_send = operation.verb == Verb::send;
      const std::size_t bytes = bytes_of(pieces);
      std::byte* data = next;
      if (pieces.size() == 1) data = at(pieces.front().place);
      else next += bytes;
      if (pieces.size() > 1 && is_send) move(pieces, data, true);
      if (bytes == 0) continue;
      messages.push_back({.kind = is_send ? Transfer::Kind::send : Transfer::Kind::recv,
                          .peer = operation.peer,
                          .data = data,
                          .bytes = bytes});
    }
    if (!messages.empty()) streams_.exchange(messages, stream_);
    next = pack.data();
    for (const Operation& operation : group) {
      const std::span<const PlacedPiece> pieces = program.pieces_of(operation);
      if (pieces.size() < 2) continue;
      if (operation.verb == Verb::recv) move(pieces, next, false);
      next += bytes_of(pieces);
    }
  }
  void move(std::span<const PlacedPiece> pieces, std::byte* pack, bool packs) {
    for (const PlacedPiece& piece : pieces) {
      std::byte* const place = at(piece.place);
      streams_.copy(packs ? pack : place, packs ? place : pack, piece.bytes, stream_);
      pack += piece.bytes;
    }
  }

  void combine(const Program& program, const Operation& operation) {
    expects(operation.verb == Verb::combine, "on a stream nobody waits for a signal");
    for (const Combination& combination : program.combinations_of(operation)) {
      const std::span<const Place> places = program.operands_of(combination);
      std::byte* const destination = at(combination.destination);
      if (places.size() == 1 && !combination.finish) {
        streams_.copy(destination, at(places.front()), combination.count * binding_.element_bytes,
                      stream_);
        continue;
      }
      std::vector<const void*> operands;
      for (const Place& place : places) operands.push_back(at(place));
      streams_.fold({.type = binding_.type,
                     .element_bytes = binding_.element_bytes,
                     .op = &binding_.op,
                     .destination = destination,
                     .operands = operands,
                     .count = combination.count,
                     .divisor = combination.finish ? binding_.layout().contract().size : 1},
                    stream_);
    }
  }

  const Binding& binding_;
  StreamTransport& streams_;
  Stream stream_;
  const std::byte* in_ = nullptr;
  std::byte* out_ = nullptr;
  std::byte* held_ = nullptr;
};

}  // namespace

void enqueue(const Binding& binding, Execution::Buffers buffers, StreamTransport& streams,
             Stream stream) {
  const Collective collective = binding.layout().contract().collective;
  // The tokens of a barrier are nobody's.
  const bool is_barrier = binding.is_collective && collective == Collective::barrier;
  const StreamMemory tokens{is_barrier ? kTokenBytes : 0, streams, stream};
  if (is_barrier) buffers = {tokens.data(), tokens.data() + kTokenBytes / 2};
  const auto* in = static_cast<const std::byte*>(buffers.in);
  auto* const out = static_cast<std::byte*>(buffers.out);
  const std::size_t in_bytes = binding.layout().in_total() * binding.element_bytes;
  const bool in_place = is_in_place(binding, buffers);
  // In place, a result of an all_to_all may stand where an input of another round does.
  const bool copies = in_place && binding.is_collective && collective == Collective::all_to_all;
  const StreamMemory copy{copies ? in_bytes : 0, streams, stream};
  if (copies) {
    streams.copy(copy.data(), in, in_bytes, stream);
    in = copy.data();
  }
  for (std::size_t segment = 0; segment < binding.segments; ++segment) {
    const Programs::Found found = binding.programs->find(segment, in_place && !copies);
    StreamRun{binding, streams, stream}.enqueue(*found.program, in + found.shift,
                                                out + found.shift);
  }
}

}  // namespace tutti::inline v0::detail
