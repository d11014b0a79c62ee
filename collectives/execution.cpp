#include "execution.hpp"

#include <algorithm>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/fingerprint.hpp>

namespace tutti::v0::detail {
namespace {

/// Scratch that is not given back after a run, since lending it would cost as much as the run.
constexpr std::size_t kKeptScratch = 4096;

/// Where a message lies that is not stored.
std::byte nowhere{};

Transfer::Kind kind_of(Verb verb) noexcept {
  if (verb == Verb::send) return Transfer::Kind::send;
  return verb == Verb::wait ? Transfer::Kind::wait : Transfer::Kind::recv;
}

}  // namespace

Execution::Execution(Outbox& outbox, Scratch& scratch, std::shared_ptr<const Binding> binding,
                     int instances)
    : outbox_{outbox}, transport_{outbox.transport()}, scratch_{scratch}, memory_{scratch.memory()},
      binding_{std::move(binding)},
      instances_(std::clamp<std::size_t>(
          binding_->segments, 1, std::min(static_cast<std::uint32_t>(instances), kInstances))),
      footprint_{sizeof(Execution) + instances_.capacity() * sizeof(Instance)} {
  for (Instance& instance : instances_) instance.owner = this;
}

Execution::~Execution() {
  give_back(block_);
  give_back(input_copy_);
}

void Execution::rest() noexcept {
  if (partitioned_ != nullptr) set_partitioned(nullptr);
  if (block_.bytes > kKeptScratch) give_back(block_);
  give_back(input_copy_);
}

void Execution::give_back(ScratchBlock& block) noexcept {
  if (block.data != nullptr) scratch_.take_back(std::exchange(block, {}));
}

void Execution::abandon() noexcept {
  for (ScratchBlock* const block : {&block_, &input_copy_}) {
    if (block->data != nullptr) scratch_.abandon();
    *block = {};
  }
}

std::byte* Execution::at(const Instance& instance, const Place& place) const noexcept {
  switch (place.base) {
    // Nothing writes through a pointer into the input: lowering gives it to sends and operands
    // only.
    case Base::in: return const_cast<std::byte*>(input_) + instance.shift + place.offset;
    case Base::out: return static_cast<std::byte*>(buffers_.out) + instance.shift + place.offset;
    case Base::held: return instance.memory + place.offset;
    case Base::message: break;
    case Base::result: return instance.waited[place.message].result + place.offset;
  }
  return &nowhere;
}

void Execution::start(Buffers buffers, Turn turn, Duration timeout) {
  const bool moved = !ran_on(buffers.in, buffers.out);
  buffers_ = buffers;
  turn_ = turn;
  timeout_ = timeout;
  if (!std::exchange(is_held_, false)) since_ = Duration{-1};
  if (moved || !is_ready_) prepare(moved);
  for (Instance& instance : instances_) begin(instance);
  active_ = instances_.size();
  for (Instance& instance : instances_) advance(instance);
}

/// Makes the first segments ready. Where those are all, and their scratch is kept, they stay so.
void Execution::prepare(bool moved) {
  has_run_ = true;
  if (moved) in_place_ = is_in_place(*binding_, buffers_);
  take_input();
  for (std::size_t index = 0; index < instances_.size(); ++index) {
    Instance& instance = instances_[index];
    if (moved) instance.is_placed = false;
    instance.segment = index;
    take_program(instance);
  }
  borrow();
  is_ready_ = block_.bytes <= kKeptScratch && input_copy_.data == nullptr &&
              binding_->segments <= instances_.size();
}

/// In place, a result of an all_to_all stands where an input of another round does, and perhaps of
/// another segment, whatever the schedule: so all of the input is copied first.
void Execution::take_input() {
  const Layout& layout = binding_->layout();
  const auto* const caller = static_cast<const std::byte*>(buffers_.in);
  const std::byte* const before = std::exchange(input_, caller);
  if (in_place_ && layout.contract().collective == Collective::all_to_all) {
    const std::size_t bytes = layout.in_total() * binding_->element_bytes;
    if (input_copy_.data == nullptr) input_copy_ = scratch_.acquire(bytes);
    memory_.copy(input_copy_.data, caller, bytes);
    input_ = input_copy_.data;
  }
  if (input_ != before)
    for (Instance& instance : instances_) instance.is_placed = false;
}

/// Whether a unit's input and output are one memory, as programs see them.
bool Execution::aliases() const noexcept {
  return in_place_ && input_copy_.data == nullptr;
}

void Execution::take_program(Instance& instance) {
  const Programs::Found found = binding_->programs->find(instance.segment, aliases());
  if (found.program != instance.program || found.shift != instance.shift)
    instance.is_placed = false;
  instance.program = found.program;
  instance.shift = found.shift;
}

/// Takes scratch for all instances. The first segment of all is the largest.
void Execution::borrow() {
  const std::size_t needed = instances_.front().program->held_bytes;
  if (block_.data != nullptr && needed > instance_bytes_) {
    if (block_.bytes <= kKeptScratch) footprint_ -= block_.bytes;
    give_back(block_);
  }
  if (block_.data == nullptr) {
    instance_bytes_ = (needed + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    if (needed == 0) return;
    block_ = scratch_.acquire(instances_.size() * instance_bytes_);
    if (block_.bytes <= kKeptScratch) footprint_ += block_.bytes;
  }
  std::byte* memory = block_.data;
  for (Instance& instance : instances_) {
    if (instance.memory != memory) instance.is_placed = false;
    instance.memory = memory;
    memory += instance_bytes_;
  }
}

void Execution::begin(Instance& instance) {
  const Program& program = *instance.program;
  expects(program.held_bytes <= instance_bytes_,
          "no segment needs more scratch than the first one");
  if (!instance.is_placed) place(instance);
  const std::uint32_t tag = turn_.tag + static_cast<std::uint32_t>(&instance - instances_.data());
  const std::uint64_t summary = binding_->fingerprint;
  const std::uint64_t fingerprint =
      plan_ != 0 ? make_plan_fingerprint(summary, plan_, turn_.sequence)
                 : (is_ordered() ? make_fingerprint(summary, turn_.sequence) : summary);
  for (Transfer& transfer : instance.transfers) {
    transfer.tag = tag;
    transfer.fingerprint = fingerprint;
  }
  if (!program.next.empty()) std::ranges::copy(program.needs, instance.missing.begin());
  instance.left = program.size();
  instance.is_waiting = true;
}

void Execution::place(Instance& instance) {
  const Program& program = *instance.program;
  instance.missing.resize(program.needs.size());
  instance.ready.resize(program.needs.size());
  instance.pieces.clear();
  for (const PlacedPiece& piece : program.pieces)
    instance.pieces.push_back({at(instance, piece.place), piece.bytes});
  instance.transfers.clear();
  instance.pending.assign(program.messages.size(), {&instance});
  const bool reduces = binding_->is_collective && binding_->layout().contract().reduces();
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const Operation& operation = program.operations[program.messages[i]];
    instance.transfers.push_back(
        {.kind = kind_of(operation.verb),
         .peer = operation.peer,
         .cookie = reinterpret_cast<std::uint64_t>(&instance.pending[i]),
         .pieces = std::span{instance.pieces}.subspan(operation.first_piece, operation.pieces),
         .reduced = reduces,
         .route = binding_->route});
  }
  place_combiners(instance);
  if (!program.forwards.empty()) place_results(instance);
  if (partitioned_ != nullptr && transport_.capabilities().visible) place_partitioned(instance);
  instance.is_placed = true;
  const std::size_t before = instance.footprint;
  instance.footprint =
      instance.pieces.capacity() * sizeof(Piece) +
      instance.transfers.capacity() * sizeof(Transfer) +
      instance.pending.capacity() * sizeof(Pending) + instance.waited.capacity() * sizeof(Waited) +
      instance.combiner_count * sizeof(Combining) +
      (instance.missing.capacity() + instance.ready.capacity()) * sizeof(std::uint32_t);
  footprint_ += instance.footprint - before;
}

void Execution::place_combiners(Instance& instance) {
  const Program& program = *instance.program;
  constexpr std::size_t kLargestElement = 16;  // that built-in operators reduce
  for (std::size_t i = 0; i < program.messages.size(); ++i) {
    const std::uint32_t index = program.messages[i];
    if (program.operations[index].combinations == 0) continue;
    expects(binding_->element_bytes <= kLargestElement, "an element in parts has room");
    if (instance.combiner_count < program.messages.size()) {
      instance.combiners = std::make_unique<Combining[]>(program.messages.size());
      instance.combiner_count = program.messages.size();
    }
    instance.combiners[i].instance = &instance;
    instance.combiners[i].operation = index;
    instance.transfers[i].combiner = &instance.combiners[i];
  }
}

bool is_in_place(const Binding& binding, RunBuffers buffers) noexcept {
  const auto in = reinterpret_cast<std::uintptr_t>(buffers.in);
  const auto out = reinterpret_cast<std::uintptr_t>(buffers.out);
  const std::size_t in_bytes = binding.layout().in_total() * binding.element_bytes;
  const std::size_t out_bytes = binding.layout().out_total() * binding.element_bytes;
  // A pointer to what the rank does not read or write may be any.
  return in_bytes > 0 && out_bytes > 0 && in < out + out_bytes && out < in + in_bytes;
}

void set_exponents(const Combination& combination, std::span<const Place> places,
                   std::span<std::int8_t> exponents) noexcept {
  for (std::size_t i = 0; i < exponents.size(); ++i)
    exponents[i] = static_cast<std::int8_t>(places[i].exponent - combination.destination.exponent);
}

Fold Execution::fold_of(const Combination& combination) const noexcept {
  return {.type = binding_->type,
          .element_bytes = binding_->element_bytes,
          .op = &binding_->op,
          .count = combination.count,
          .divisor = combination.finish ? binding_->layout().contract().size : 1,
          .divisor_exponent = combination.finish ? -combination.destination.exponent : 0};
}

void Execution::combine(Instance& instance, const Combination& combination) {
  const std::span<const Place> places = instance.program->operands_of(combination);
  std::byte* const destination = at(instance, combination.destination);
  if (places.size() == 1 && !combination.finish)
    return memory_.copy(destination, at(instance, places[0]),
                        combination.count * binding_->element_bytes);
  if (operands_.size() < places.size()) operands_.resize(places.size());
  for (std::size_t i = 0; i < places.size(); ++i) operands_[i] = operand_at(instance, places[i]);
  Fold fold = fold_of(combination);
  fold.destination = destination;
  fold.operands = std::span{operands_}.first(places.size());
  if (binding_->is_scaled) {
    exponents_.resize(places.size());
    set_exponents(combination, places, exponents_);
    fold.exponents = exponents_;
  }
  if (combination.results > 0) open_results(instance, combination);
  fold.copies = std::span{results_}.first(combination.results > 0 ? results_.size() : 0);
  memory_.fold(fold);
}

/// An operation is done.
void Execution::finish(Instance& instance, std::uint32_t operation) {
  --instance.left;
  for (const std::uint32_t next : instance.program->next_of(operation))
    if (--instance.missing[next] == 0) instance.ready[instance.ready_count++] = next;
}

/// Posts messages but those that stand at their receivers already.
void Execution::post(Instance& instance, const Batch& batch) {
  Pending* const pending = &instance.pending[batch.first_message];
  for (std::uint32_t i = 0; i < batch.messages; ++i)
    pending[i].is_done = std::exchange(pending[i].is_spared, false);
  for (std::uint32_t i = 0; i < batch.messages;) {
    std::uint32_t next = i;
    while (next < batch.messages && !pending[next].is_done) ++next;
    if (next > i) outbox_.post({&instance.transfers[batch.first_message + i], next - i});
    i = next + 1;
  }
  for (std::uint32_t i = 0; i < batch.messages; ++i)
    if (pending[i].is_done) finish(instance, batch.first + i);
  // Most short messages are done by now, and then nothing else is in the list.
  for (; transport_.completed() > 0; transport_.pop_oldest()) {
    const Completion& completion = transport_.oldest_completed();
    if (reinterpret_cast<Pending*>(completion.cookie)->instance != &instance) return;
    complete(instance, completion);
  }
}

void Execution::issue(Instance& instance, const Batch& batch) {
  if (batch.messages > 0) return post(instance, batch);
  const Program& program = *instance.program;
  for (std::uint32_t i = batch.first; i < batch.end; ++i) {
    const Operation& operation = program.operations[i];
    for (const Combination& combination : program.combinations_of(operation))
      combine(instance, combination);
    if (operation.verb == Verb::signal) signal(instance, operation);
    finish(instance, i);
  }
}

/// @return the batch that is ready at `index`, with those ready behind it whose messages follow its
/// own: they are posted together. `index` goes on behind them.
Batch Execution::take_ready(const Instance& instance, std::size_t& index) {
  const std::vector<Batch>& batches = instance.program->batches;
  Batch batch = batches[instance.ready[index++]];
  for (; batch.messages > 0 && index < instance.ready_count; ++index) {
    const Batch& next = batches[instance.ready[index]];
    if (next.messages == 0 || next.first != batch.end) break;
    batch.end = next.end;
    batch.messages += next.messages;
  }
  return batch;
}

void Execution::advance(Instance& instance) {
  while (true) {
    if (instance.is_waiting) {
      if (partitioned_ != nullptr && !partitioned_->is_ready(instance.segment)) return;
      instance.is_waiting = false;
      for (const std::uint32_t batch : instance.program->starts)
        issue(instance, instance.program->batches[batch]);
    }
    for (std::size_t i = 0; i < instance.ready_count;) issue(instance, take_ready(instance, i));
    instance.ready_count = 0;
    if (instance.left > 0) return;
    if (partitioned_ != nullptr) partitioned_->arrived(instance.segment);
    if (instance.segment + instances_.size() >= binding_->segments) {
      --active_;
      return;
    }
    instance.segment += instances_.size();
    take_program(instance);
    begin(instance);
  }
}

/// Taken before anything is posted, which may take more of them.
void Execution::complete_oldest(Transport& transport) {
  const Completion& completion = transport.oldest_completed();
  Instance& instance = *reinterpret_cast<Pending*>(completion.cookie)->instance;
  complete(instance, completion);
  transport.pop_oldest();
  if (instance.left == 0 || instance.ready_count > 0) instance.owner->advance(instance);
}

/// Notes that a transfer is done.
void Execution::complete(Instance& instance, const Completion& completion) {
  auto* pending = reinterpret_cast<Pending*>(completion.cookie);
  const auto message = static_cast<std::uint32_t>(pending - instance.pending.data());
  pending->is_done = true;
  if (completion.access != kNoAccess || !instance.program->forwards.empty())
    instance.owner->note(instance, message, completion);
  finish(instance, instance.program->messages[message]);
}

}  // namespace tutti::v0::detail
