#include "execution.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/fingerprint.hpp>

namespace tutti::inline v0::detail {
namespace {

/// Scratch that is not given back after a run, since lending it would cost as much as the run.
constexpr std::size_t kKeptScratch = 4096;

}  // namespace

Execution::Execution(Outbox& outbox, Scratch& scratch, std::shared_ptr<const Binding> binding,
                     int lanes)
    : outbox_{outbox}, transport_{outbox.transport()}, scratch_{scratch}, memory_{scratch.memory()},
      binding_{std::move(binding)},
      lanes_(std::clamp<std::size_t>(binding_->segments, 1,
                                     std::min(static_cast<std::uint32_t>(lanes), kLanes))),
      footprint_{sizeof(Execution) + lanes_.capacity() * sizeof(Lane)} {
  for (Lane& lane : lanes_) lane.owner = this;
  // A sink may be called by another thread, which a user's function need not expect.
  may_fuse_ = transport_.capabilities().sinks && binding_->op.kind() != OperatorKind::user;
  may_lend_ = transport_.capabilities().loans && binding_->op.kind() != OperatorKind::user;
}

Execution::~Execution() {
  give_back(block_);
  give_back(input_copy_);
}

void Execution::rest() noexcept {
  if (watch_ != nullptr) set_watch(nullptr);
  if (block_.bytes > kKeptScratch) give_back(block_);
  give_back(input_copy_);
}

void Execution::give_back(Block& block) noexcept {
  if (block.data != nullptr) scratch_.take_back(std::exchange(block, {}));
}

void Execution::write_off() noexcept {
  for (Block* const block : {&block_, &input_copy_}) {
    if (block->data != nullptr) scratch_.write_off();
    *block = {};
  }
}

std::byte* Execution::at(const Lane& lane, const Place& place) const noexcept {
  switch (place.base) {
    // Nothing writes through a pointer into the input: bind() gives it to sends and operands only.
    case Base::in: return const_cast<std::byte*>(input_) + place.offset;
    case Base::out: return static_cast<std::byte*>(buffers_.out) + place.offset;
    case Base::held: return lane.memory + place.offset;
    case Base::staging: return lane.memory + lane.resolved.held_bytes + place.offset;
  }
  return nullptr;
}

void Execution::start(Buffers buffers, Turn turn, Duration timeout) {
  const bool moved = !ran_on(buffers.in, buffers.out);
  buffers_ = buffers;
  turn_ = turn;
  timeout_ = timeout;
  if (!std::exchange(is_held_, false)) since_ = Duration{-1};
  if (moved || !is_ready_) prepare(moved);
  for (Lane& lane : lanes_) begin_segment(lane);
  active_lanes_ = lanes_.size();
  for (Lane& lane : lanes_) advance(lane);
}

/// Makes the first segments ready. Where those are all, and their scratch is kept, they stay so.
void Execution::prepare(bool moved) {
  has_run_ = true;
  if (moved) in_place_ = is_in_place();
  take_input();
  for (std::size_t index = 0; index < lanes_.size(); ++index) {
    Lane& lane = lanes_[index];
    if (moved) lane.is_placed = false;
    if (lane.segment != index) lane.is_resolved = false;
    lane.segment = index;
    if (!lane.is_resolved) resolve_segment(lane);
  }
  borrow();
  is_ready_ = block_.bytes <= kKeptScratch && input_copy_.data == nullptr &&
              binding_->segments <= lanes_.size();
}

/// In place, a result of an all_to_all stands where an input of another round does, whatever the
/// schedule: so all of the input is copied first.
void Execution::take_input() {
  const Layout& layout = binding_->layout;
  const auto* const caller = static_cast<const std::byte*>(buffers_.in);
  const std::byte* const before = std::exchange(input_, caller);
  if (in_place_ && layout.contract().collective == Collective::all_to_all) {
    const std::size_t bytes = layout.in_total() * binding_->element_bytes;
    if (input_copy_.data == nullptr) input_copy_ = scratch_.lend(bytes);
    memory_.copy(input_copy_.data, caller, bytes);
    input_ = input_copy_.data;
  }
  if (input_ != before)
    for (Lane& lane : lanes_) lane.is_placed = false;
}

void Execution::resolve_segment(Lane& lane) {
  resolve(binding_->program, binding_->layout, {lane.segment, binding_->segments},
          binding_->element_bytes, lane.resolved);
  lane.is_resolved = true;
  lane.is_placed = false;
}

/// Takes scratch for all lanes. The first segment of all is the largest.
void Execution::borrow() {
  if (block_.data == nullptr) {
    const Resolved& largest = lanes_.front().resolved;
    lane_bytes_ = largest.held_bytes + largest.staging_bytes;
    if (lane_bytes_ == 0) return;
    lane_bytes_ += (kScratchAlignment - lane_bytes_ % kScratchAlignment) % kScratchAlignment;
    block_ = scratch_.lend(lanes_.size() * lane_bytes_);
    if (block_.bytes <= kKeptScratch) footprint_ += block_.bytes;
  }
  std::byte* memory = block_.data;
  for (Lane& lane : lanes_) {
    if (lane.memory != memory) lane.is_placed = false;
    lane.memory = memory;
    memory += lane_bytes_;
  }
}

void Execution::begin_segment(Lane& lane) {
  lane.round = 0;
  expects(lane.resolved.held_bytes + lane.resolved.staging_bytes <= lane_bytes_,
          "no segment needs more scratch than the first one");
  if (!lane.is_placed) place_pieces(lane);
  lane.is_placed = true;
  const std::uint32_t tag = turn_.tag + static_cast<std::uint32_t>(&lane - lanes_.data());
  const std::uint64_t fingerprint = binding_->is_collective
                                        ? make_fingerprint(binding_->fingerprint, turn_.sequence)
                                        : binding_->fingerprint;
  for (Transfer& transfer : lane.transfers) {
    transfer.tag = tag;
    transfer.fingerprint = fingerprint;
  }
}

void Execution::place_pieces(Lane& lane) {
  const Resolved& resolved = lane.resolved;
  lane.pieces.clear();
  for (const ResolvedPiece& piece : resolved.pieces)
    lane.pieces.push_back({at(lane, piece.place), piece.bytes});
  lane.transfers.clear();
  const bool reduces = binding_->is_collective && binding_->layout.contract().reduces();
  for (const ResolvedMessage& message : resolved.messages)
    lane.transfers.push_back(
        {.kind = message.is_send ? Transfer::Kind::send : Transfer::Kind::recv,
         .peer = message.peer,
         .pieces = std::span{lane.pieces}.subspan(message.first_piece, message.pieces),
         .reduced = reduces});
  lane.pending.assign(lane.transfers.size(), {.lane = &lane});
  for (std::size_t i = 0; i < lane.transfers.size(); ++i) {
    lane.transfers[i].cookie = reinterpret_cast<std::uint64_t>(&lane.pending[i]);
    lane.transfers[i].done = &lane.pending[i].is_done;
  }
  if (may_fuse_) place_sinks(lane);
  if (may_lend_) {
    place_shortcuts(lane);
    if (watch_ != nullptr) place_watched(lane);
    operands_.resize(2);
    copies_.reserve(1);
  }
  const std::size_t before = lane.footprint;
  lane.footprint = resolved.footprint() + lane.pieces.capacity() * sizeof(Piece) +
                   lane.transfers.capacity() * sizeof(Transfer) +
                   lane.pending.capacity() * sizeof(Pending) + lane.folding_count * sizeof(Folding);
  footprint_ += lane.footprint - before;
}

void Execution::place_sinks(Lane& lane) {
  const std::vector<ResolvedMessage>& messages = lane.resolved.messages;
  if (lane.folding_count < messages.size()) {
    lane.foldings = std::make_unique<Folding[]>(messages.size());
    lane.folding_count = messages.size();
  }
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (!fuses(messages[i])) continue;
    lane.foldings[i].lane = &lane;
    lane.foldings[i].message = static_cast<std::uint32_t>(i);
    lane.transfers[i].sink = &lane.foldings[i];
    lane.transfers[i].grain = static_cast<std::uint32_t>(binding_->element_bytes);
  }
}

bool Execution::fuses(const ResolvedMessage& message) const noexcept {
  return message.fusing == Fusing::always || (message.fusing == Fusing::apart && !in_place_);
}

bool Execution::is_in_place() const noexcept {
  const auto in = reinterpret_cast<std::uintptr_t>(buffers_.in);
  const auto out = reinterpret_cast<std::uintptr_t>(buffers_.out);
  return in < out + binding_->layout.out_total() * binding_->element_bytes &&
         out < in + binding_->layout.in_total() * binding_->element_bytes;
}

void Execution::advance(Lane& lane) {
  while (true) {
    const Resolved& resolved = lane.resolved;
    if (lane.round == resolved.rounds.size()) {
      if (lane.round == 0) copy_results(lane);
      if (watch_ != nullptr) watch_->came(lane.segment);
      if (lane.segment + lanes_.size() >= binding_->segments) {
        --active_lanes_;
        return;
      }
      lane.segment += lanes_.size();
      resolve_segment(lane);
      begin_segment(lane);
      continue;
    }
    if (watch_ != nullptr && lane.round == 0 && !watch_->may_begin(lane.segment)) return;
    post_round(lane);
    if (lane.round == 0) copy_results(lane);
    if (lane.outstanding > 0) return;
    finish_round(lane);
  }
}

std::span<Transfer> Execution::messages_of(Lane& lane, std::uint32_t round) const {
  const Resolved& resolved = lane.resolved;
  if (round == resolved.rounds.size()) return {};
  const std::uint32_t begin = round == 0 ? 0 : resolved.rounds[round - 1].messages;
  return std::span{lane.transfers}.subspan(begin, resolved.rounds[round].messages - begin);
}

/// Posts the messages of a round but those that stand at their receivers already.
void Execution::post_round(Lane& lane) {
  const std::uint32_t begin = lane.round == 0 ? 0 : lane.resolved.rounds[lane.round - 1].messages;
  const std::uint32_t end = lane.resolved.rounds[lane.round].messages;
  for (std::uint32_t i = begin; i < end; ++i)
    lane.pending[i].is_done = std::exchange(lane.pending[i].is_replied, false);
  for (std::uint32_t i = begin; i < end;) {
    std::uint32_t next = i;
    while (next < end && !lane.pending[next].is_done) ++next;
    if (next > i) outbox_.post({lane.transfers.data() + i, next - i});
    i = next + 1;
  }
  lane.outstanding = 0;
  for (std::uint32_t i = begin; i < end; ++i) lane.outstanding += lane.pending[i].is_done ? 0 : 1;
}

/// While the first messages travel, and what is copied may still be in the cache.
void Execution::copy_results(const Lane& lane) {
  const Resolved& resolved = lane.resolved;
  const std::size_t first = resolved.rounds.empty() ? 0 : resolved.rounds.back().folds;
  for (std::size_t i = first; i < resolved.folds.size(); ++i) fold(lane, resolved.folds[i]);
}

void Execution::complete(const Completion& completion) {
  auto* pending = reinterpret_cast<Pending*>(completion.cookie);
  Lane& lane = *pending->lane;
  pending->is_done = true;
  if (completion.loan != kNoLoan)
    lane.owner->use_loan(lane, static_cast<std::uint32_t>(pending - lane.pending.data()),
                         completion);
  if (--lane.outstanding > 0) return;
  lane.owner->finish_round(lane);
  lane.owner->advance(lane);
}

void Execution::finish_round(Lane& lane) {
  const Resolved& resolved = lane.resolved;
  const std::uint32_t begin = lane.round == 0 ? 0 : resolved.rounds[lane.round - 1].folds;
  const std::uint32_t end = resolved.rounds[lane.round].folds;
  for (std::uint32_t i = begin; i < end; ++i) {
    const std::uint32_t message = resolved.folds[i].message;
    const bool is_done = message != kNoMessage && lane.transfers[message].sink != nullptr;
    if (!is_done) fold(lane, resolved.folds[i]);
  }
  ++lane.round;
}

void Execution::Folding::take(std::size_t offset, std::span<const std::byte> bytes) {
  const Resolved& resolved = lane->resolved;
  const std::size_t element_bytes = lane->owner->binding_->element_bytes;
  if (offset == 0) {
    fold_ = resolved.messages[message].first_fold;
    done_ = 0;
  }
  while (!bytes.empty()) {
    const ResolvedFold& fold = resolved.folds[fold_];
    const std::size_t part = std::min((fold.count - done_) * element_bytes, bytes.size());
    lane->owner->fold_part(*lane, fold, done_, bytes.first(part));
    bytes = bytes.subspan(part);
    done_ += part / element_bytes;
    if (done_ < fold.count) continue;
    ++fold_;
    done_ = 0;
  }
}

/// Where the result goes, if the operand of our own lies elsewhere.
std::byte* Execution::Folding::room() noexcept {
  const ResolvedMessage& received = lane->resolved.messages[message];
  if (received.folds != 1) return nullptr;
  const ResolvedFold& fold = lane->resolved.folds[received.first_fold];
  const std::size_t bytes = fold.count * lane->owner->binding_->element_bytes;
  std::byte* const destination = lane->owner->at(*lane, fold.destination);
  for (std::uint32_t i = 0; i < fold.operands; ++i) {
    const Place& place = lane->resolved.operands[fold.first_operand + i];
    if (place.base == Base::staging) continue;
    const std::byte* const own = lane->owner->at(*lane, place);
    constexpr std::less_equal<> is_at_or_before;
    if (!is_at_or_before(own + bytes, destination) && !is_at_or_before(destination + bytes, own))
      return nullptr;
  }
  return destination;
}

/// Of a fold with one incoming operand, some elements from `first` on. Called by any thread.
void Execution::fold_part(const Lane& lane, const ResolvedFold& fold, std::size_t first,
                          std::span<const std::byte> incoming) const {
  const std::size_t offset = first * binding_->element_bytes;
  std::array<const void*, 2> operands{};
  for (std::uint32_t i = 0; i < operands.size(); ++i) {
    const Place& place = lane.resolved.operands[fold.first_operand + i];
    operands[i] = place.base == Base::staging ? incoming.data() : at(lane, place) + offset;
  }
  memory_.fold({.type = binding_->type,
                .element_bytes = binding_->element_bytes,
                .op = &binding_->op,
                .destination = at(lane, fold.destination) + offset,
                .operands = operands,
                .count = incoming.size() / binding_->element_bytes,
                .divisor = divisor_of(fold)});
}

int Execution::divisor_of(const ResolvedFold& fold) const noexcept {
  const bool divides = fold.finish && binding_->op.kind() == OperatorKind::average;
  return divides ? binding_->layout.contract().size : 1;
}

void Execution::fold(const Lane& lane, const ResolvedFold& fold) {
  const int divisor = divisor_of(fold);
  std::byte* destination = at(lane, fold.destination);
  if (fold.operands == 1 && divisor == 1) {
    const std::byte* const source = at(lane, lane.resolved.operands[fold.first_operand]);
    if (source != destination)
      memory_.copy(destination, source, fold.count * binding_->element_bytes);
    return;
  }
  if (operands_.size() < fold.operands) operands_.resize(fold.operands);
  for (std::uint32_t i = 0; i < fold.operands; ++i)
    operands_[i] = at(lane, lane.resolved.operands[fold.first_operand + i]);
  memory_.fold({.type = binding_->type,
                .element_bytes = binding_->element_bytes,
                .op = &binding_->op,
                .destination = destination,
                .operands = std::span{operands_}.first(fold.operands),
                .count = fold.count,
                .divisor = divisor});
}

}  // namespace tutti::inline v0::detail
