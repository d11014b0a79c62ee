// Messages that stay where their sender has them: read there, and, where the sender receives what
// is made of them, that is stored there too.
#include "execution.hpp"

namespace tutti::v0::detail {

/// What a rank does nothing with but receive it, where it belongs, may stay where it is.
void Execution::place_partitioned(Instance& instance) const {
  const Program& program = *instance.program;
  if (program.size() != 1 || instance.transfers.size() != 1) return;
  Transfer& only = instance.transfers.front();
  if (only.kind == Transfer::Kind::recv && only.pieces.size() == 1 &&
      program.pieces.front().place.base == Base::out)
    only.kind = Transfer::Kind::wait;
}

void Execution::set_partitioned(Partitioned* partitions) noexcept {
  partitioned_ = partitions;
  is_ready_ = false;
  for (Instance& instance : instances_) instance.is_placed = false;
}

void Execution::resume() {
  for (Instance& instance : instances_)
    if (instance.is_waiting) advance(instance);
}

void Execution::place_results(Instance& instance) {
  const std::vector<Forward>& forwards = instance.program->forwards;
  instance.waited.resize(forwards.size());
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    if (forwards[i].spared == kNoMessage) continue;
    const Piece& place = instance.transfers[forwards[i].spared].pieces.front();
    instance.transfers[i].result = {place.data, place.bytes, forwards[i].ordinal};
  }
}

/// Of a transfer that is done in a program that waits, or has partitions.
void Execution::note(Instance& instance, std::uint32_t message, const Completion& completion) {
  const Transfer& transfer = instance.transfers[message];
  if (partitioned_ != nullptr) return partitioned_->stays(instance.segment, completion);
  if (completion.is_stored)
    instance.pending[instance.program->forwards[message].spared].is_spared = true;
  if (transfer.kind != Transfer::Kind::wait) return;
  Waited& waited = instance.waited[message];
  waited = {.access = completion.access, .data = completion.data};
  if (completion.access == kNoAccess) waited.data = transfer.pieces.front().data;
}

/// Where an operand lies, be it in a peer's memory.
const std::byte* Execution::operand_at(const Instance& instance,
                                       const Place& place) const noexcept {
  if (place.base == Base::message) return instance.waited[place.message].data + place.offset;
  return at(instance, place);
}

/// Finds the places of a combination's result in memory of peers. What is not to be stored there is
/// sent later.
void Execution::open_results(Instance& instance, const Combination& combination) {
  results_.clear();
  for (const Place& place : instance.program->results_of(combination)) {
    Waited& waited = instance.waited[place.message];
    const Forward& forward = instance.program->forwards[place.message];
    if (waited.access != kNoAccess && place.offset == 0)
      waited.result = transport_.open_result(waited.access, forward.ordinal,
                                             instance.transfers[forward.sent].pieces.front().bytes);
    if (waited.result != nullptr) results_.push_back(at(instance, place));
  }
}

void Execution::signal(Instance& instance, const Operation& operation) {
  const Waited& waited = instance.waited[operation.message];
  if (waited.access == kNoAccess) return;
  const bool is_stored = waited.result != nullptr;
  if (is_stored)
    instance.pending[instance.program->forwards[operation.message].sent].is_spared = true;
  transport_.signal(waited.access, is_stored);
}

}  // namespace tutti::v0::detail
