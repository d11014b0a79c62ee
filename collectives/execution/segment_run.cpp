#include "segment_run.hpp"

#include <utility>

namespace tutti::v0::detail {

void SegmentRun::bind() {
  missing_.resize(bound_.program().needs.size());
  ready_.resize(bound_.program().needs.size());
  bound_.bind(*this);
  const std::size_t before =
      std::exchange(footprint_, bound_.footprint() + (missing_.capacity() + ready_.capacity()) *
                                                         sizeof(std::uint32_t));
  context_.footprint += footprint_ - before;
}

/// Makes the batches ready that waited only for this operation.
void SegmentRun::finish(std::uint32_t operation) {
  --left_;
  for (const std::uint32_t next : bound_.program().next_of(operation))
    if (--missing_[next] == 0) ready_[ready_count_++] = next;
}

/// Posts the messages of a batch, except those whose bytes the receiver already has.
void SegmentRun::post(const Batch& batch) {
  PendingTransfer* const pending = bound_.pending(batch.first_message);
  const std::span<const Transfer> transfers =
      bound_.transfers().subspan(batch.first_message, batch.messages);
  for (std::uint32_t i = 0; i < batch.messages; ++i)
    pending[i].is_done = std::exchange(pending[i].is_spared, false);
  for (std::uint32_t i = 0; i < batch.messages;) {
    std::uint32_t next = i;
    while (next < batch.messages && !pending[next].is_done) ++next;
    if (next > i) {
      const std::span<const Transfer> messages = transfers.subspan(i, next - i);
      if (context_.outbox.gathers()) context_.outbox.add(messages);
      else context_.transport.post(messages);
    }
    i = next + 1;
  }
  for (std::uint32_t i = 0; i < batch.messages; ++i)
    if (pending[i].is_done) finish(batch.first + i);
  // Most short messages are done by now, and are then the only completions.
  Transport& transport = context_.transport;
  for (; transport.completed() > 0; transport.pop_oldest()) {
    const Completion& completion = transport.oldest_completed();
    if (reinterpret_cast<PendingTransfer*>(completion.cookie)->run != this) return;
    complete(completion);
  }
}

void SegmentRun::combine(const Batch& batch) {
  const Program& program = bound_.program();
  for (std::uint32_t i = batch.first; i < batch.end; ++i) {
    const Operation& operation = program.operations[i];
    for (const Combination& combination : program.combinations_of(operation))
      bound_.combine(combination);
    if (operation.kind == OperationKind::signal) bound_.signal(operation);
    finish(i);
  }
}

/// @return the batch ready_[index], merged with the next ones whose messages follow its own, so
/// that they are posted together. Moves `index` behind them.
Batch SegmentRun::pop_ready(std::size_t& index) const {
  const std::vector<Batch>& batches = bound_.program().batches;
  Batch batch = batches[ready_[index++]];
  for (; batch.messages > 0 && index < ready_count_; ++index) {
    const Batch& next = batches[ready_[index]];
    if (next.messages == 0 || next.first != batch.end) break;
    batch.end = next.end;
    batch.messages += next.messages;
  }
  return batch;
}

void SegmentRun::advance() {
  while (true) {
    if (is_waiting_) {
      if (context_.partitions != nullptr && !context_.partitions->is_ready(segment_)) return;
      is_waiting_ = false;
      const Program& program = bound_.program();
      for (const std::uint32_t index : program.starts) {
        const Batch& batch = program.batches[index];
        batch.messages > 0 ? post(batch) : combine(batch);
      }
    }
    for (std::size_t i = 0; i < ready_count_;) {
      const Batch batch = pop_ready(i);
      batch.messages > 0 ? post(batch) : combine(batch);
    }
    ready_count_ = 0;
    if (left_ > 0) return;
    if (context_.partitions != nullptr) context_.partitions->arrived(segment_);
    if (segment_ + context_.lanes >= context_.binding->segments) {
      --context_.active;
      return;
    }
    segment_ += context_.lanes;
    bound_.choose(segment_);
    begin();
  }
}

/// Removes the completion before it posts anything, since post() may remove more of them.
void SegmentRun::complete_oldest(Transport& transport) {
  const Completion& completion = transport.oldest_completed();
  SegmentRun& run = *reinterpret_cast<PendingTransfer*>(completion.cookie)->run;
  run.complete(completion);
  transport.pop_oldest();
  if (run.left_ == 0 || run.ready_count_ > 0) run.advance();
}

/// Marks a transfer as done.
void SegmentRun::complete(const Completion& completion) {
  auto* const pending = reinterpret_cast<PendingTransfer*>(completion.cookie);
  const std::uint32_t message = bound_.message_of(*pending);
  pending->is_done = true;
  if (completion.access != kNoAccess || !bound_.program().forwards.empty())
    bound_.note(message, segment_, completion);
  finish(bound_.program().messages[message]);
}

}  // namespace tutti::v0::detail
