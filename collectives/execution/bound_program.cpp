#include "bound_program.hpp"

#include <array>

#include <tutti/spi/pieces.hpp>

namespace tutti::v0::detail {
namespace {

/// The address of a message that is not stored.
std::byte nowhere{};

Transfer::Kind kind_of(OperationKind kind) noexcept {
  if (kind == OperationKind::send) return Transfer::Kind::send;
  return kind == OperationKind::wait ? Transfer::Kind::wait : Transfer::Kind::recv;
}

}  // namespace

std::byte* BoundProgram::at(const Place& place) const noexcept {
  switch (place.base) {
    // Nothing writes through a pointer into the input: lowering gives it to sends and operands
    // only.
    case Base::in: return const_cast<std::byte*>(context_.in) + shift_ + place.offset;
    case Base::out: return context_.out + shift_ + place.offset;
    case Base::held: return scratch_ + place.offset;
    case Base::message: break;
    case Base::result: return waited_[place.message].result + place.offset;
  }
  return &nowhere;
}

const Program& BoundProgram::choose(std::size_t segment) {
  const Programs::Found found = context_.binding->programs->find(segment, context_.is_shared);
  if (found.program != program_ || found.shift != shift_) unbind();
  program_ = found.program;
  shift_ = found.shift;
  return *program_;
}

void BoundProgram::bind(SegmentRun& run) {
  const Program& program = *program_;
  const Binding& binding = *context_.binding;
  pieces_.clear();
  for (const PlacedPiece& piece : program.pieces) pieces_.push_back({at(piece.place), piece.bytes});
  transfers_.clear();
  pending_.assign(program.messages.size(), {&run});
  const bool reduces = binding.is_collective && binding.layout().contract().reduces();
  const std::size_t block = binding.layout().largest() * binding.element_bytes;
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const Operation& operation = program.operations[program.messages[i]];
    const std::span<const Piece> pieces =
        std::span{pieces_}.subspan(operation.first_piece, operation.pieces);
    transfers_.push_back({.kind = kind_of(operation.kind),
                          .peer = operation.peer,
                          .cookie = reinterpret_cast<std::uint64_t>(&pending_[i]),
                          .pieces = pieces,
                          .reduced = reduces,
                          .accepts_shorter = binding.accepts_shorter &&
                                             operation.kind == OperationKind::recv &&
                                             bytes_of(pieces) <= block,
                          .route = binding.route});
  }
  bind_combiners();
  if (!program.forwards.empty()) bind_results();
  if (context_.partitions != nullptr && context_.transport.capabilities().visible)
    bind_partitioned();
  is_bound_ = true;
}

std::size_t BoundProgram::footprint() const noexcept {
  return pieces_.capacity() * sizeof(Piece) + transfers_.capacity() * sizeof(Transfer) +
         pending_.capacity() * sizeof(PendingTransfer) + waited_.capacity() * sizeof(Waited) +
         combiner_count_ * sizeof(ArrivalCombiner);
}

void BoundProgram::bind_combiners() {
  const Program& program = *program_;
  constexpr std::size_t kLargestElement = 16;  // of built-in operators
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const std::uint32_t operation = program.messages[i];
    if (program.operations[operation].combinations == 0) continue;
    expects(element_bytes() <= kLargestElement, "an element in parts has room");
    if (combiner_count_ < program.messages.size()) {
      combiners_ = std::make_unique<ArrivalCombiner[]>(program.messages.size());
      combiner_count_ = program.messages.size();
    }
    combiners_[i].bind(*this, operation);
    transfers_[i].combiner = &combiners_[i];
  }
}

void BoundProgram::bind_results() {
  const std::vector<Forward>& forwards = program_->forwards;
  waited_.resize(forwards.size());
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    if (forwards[i].spared == kNoMessage) continue;
    const Piece& place = transfers_[forwards[i].spared].pieces.front();
    transfers_[i].result = {place.data, place.bytes, forwards[i].ordinal};
  }
}

/// If the program only receives one message, directly into the output, the message may stay at its
/// sender.
void BoundProgram::bind_partitioned() {
  if (program_->size() != 1 || transfers_.size() != 1) return;
  Transfer& only = transfers_.front();
  if (only.kind == Transfer::Kind::recv && only.pieces.size() == 1 &&
      program_->pieces.front().place.base == Base::out)
    only.kind = Transfer::Kind::wait;
}

void BoundProgram::note(std::uint32_t message, std::size_t segment, const Completion& completion) {
  if (context_.partitions != nullptr) return context_.partitions->stays(segment, completion);
  const Transfer& transfer = transfers_[message];
  if (completion.is_stored) pending_[program_->forwards[message].spared].is_spared = true;
  if (transfer.kind != Transfer::Kind::wait) return;
  Waited& waited = waited_[message];
  waited = {.access = completion.access, .data = completion.data};
  if (completion.access == kNoAccess) waited.data = transfer.pieces.front().data;
}

void BoundProgram::signal(const Operation& operation) {
  const Waited& waited = waited_[operation.message];
  if (waited.access == kNoAccess) return;
  const bool is_stored = waited.result != nullptr;
  if (is_stored) pending_[program_->forwards[operation.message].sent].is_spared = true;
  context_.transport.signal(waited.access, is_stored);
}

/// @return the address of an operand, which may lie in a peer's memory.
const std::byte* BoundProgram::operand_at(const Place& place) const noexcept {
  if (place.base == Base::message) return waited_[place.message].data + place.offset;
  return at(place);
}

void BoundProgram::combine(const Combination& combination) {
  const std::span<const Place> places = program_->operands_of(combination);
  std::byte* const destination = at(combination.destination);
  if (places.size() == 1 && !combination.finish)
    return context_.memory.copy(destination, at(places[0]), combination.count * element_bytes());
  std::vector<const void*>& operands = context_.operands;
  if (operands.size() < places.size()) operands.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) operands[i] = operand_at(places[i]);
  Fold fold = fold_of(*context_.binding, context_.op, combination);
  fold.destination = destination;
  fold.operands = std::span{operands}.first(places.size());
  if (context_.binding->is_scaled) {
    context_.exponents.resize(places.size());
    set_exponents(combination, places, context_.exponents);
    fold.exponents = context_.exponents;
  }
  if (combination.results > 0) {
    open_results(combination);
    fold.copies = context_.results;
  }
  context_.memory.fold(fold);
}

void BoundProgram::combine_part(const Combination& combination, std::size_t first,
                                std::span<const std::byte> incoming) const {
  const std::size_t offset = first * element_bytes();
  std::array<const void*, 2> operands{};
  const std::span<const Place> places = program_->operands_of(combination);
  for (std::size_t i = 0; i < operands.size(); ++i)
    operands[i] = places[i].base == Base::message ? incoming.data() : at(places[i]) + offset;
  Fold fold = fold_of(*context_.binding, context_.op, combination);
  fold.destination = at(combination.destination) + offset;
  fold.operands = operands;
  std::array<std::int8_t, 2> exponents{};
  if (context_.binding->is_scaled) {
    set_exponents(combination, places, exponents);
    fold.exponents = exponents;
  }
  fold.count = incoming.size() / element_bytes();
  context_.memory.fold(fold);
}

/// Finds the places of a combination's result in the memory of peers. If a peer has opened none,
/// the result is sent to it later.
void BoundProgram::open_results(const Combination& combination) {
  context_.results.clear();
  for (const Place& place : program_->results_of(combination)) {
    Waited& waited = waited_[place.message];
    const Forward& forward = program_->forwards[place.message];
    if (waited.access != kNoAccess && place.offset == 0)
      waited.result = context_.transport.open_result(waited.access, forward.ordinal,
                                                     transfers_[forward.sent].pieces.front().bytes);
    if (waited.result != nullptr) context_.results.push_back(at(place));
  }
}

}  // namespace tutti::v0::detail
