#include "execution.hpp"

#include <algorithm>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/fingerprint.hpp>

namespace tutti::v0::detail {
namespace {

/// Scratch of at most this many bytes is kept after a run, since acquiring it again would cost as
/// much as the run.
constexpr std::size_t kKeptScratch = 4096;

}  // namespace

Execution::Execution(Outbox& outbox, Scratch& scratch, std::shared_ptr<const Binding> binding,
                     int instances)
    : scratch_{scratch}, context_{.outbox = outbox,
                                  .transport = outbox.transport(),
                                  .memory = scratch.memory(),
                                  .binding = std::move(binding)} {
  context_.op = context_.binding->op;
  context_.lanes = std::clamp<std::size_t>(
      context_.binding->segments, 1, std::min(static_cast<std::uint32_t>(instances), kInstances));
  runs_.reserve(context_.lanes);
  for (std::uint32_t lane = 0; lane < context_.lanes; ++lane) runs_.emplace_back(context_, lane);
}

Execution::~Execution() {
  give_back(block_);
  give_back(input_copy_);
}

void Execution::reset() noexcept {
  if (context_.partitions != nullptr) set_partitions(nullptr);
  if (binding().op == OperatorKind::user) context_.op = OperatorKind::user;
  if (block_.bytes > kKeptScratch) give_back(block_);
  give_back(input_copy_);
}

void Execution::give_back(ScratchBlock& block) noexcept {
  if (block.data != nullptr) scratch_.give_back(std::exchange(block, {}));
}

void Execution::abandon() noexcept {
  for (ScratchBlock* const block : {&block_, &input_copy_}) {
    if (block->data != nullptr) scratch_.abandon();
    *block = {};
  }
}

void Execution::unbind() noexcept {
  for (SegmentRun& run : runs_) run.unbind();
}

void Execution::set_partitions(Partitioned* partitions) noexcept {
  context_.partitions = partitions;
  is_ready_ = false;
  unbind();
}

void Execution::start(Buffers buffers, CallPosition position, Duration timeout) {
  const bool moved = !ran_on(buffers.in, buffers.out);
  buffers_ = buffers;
  position_ = position;
  timeout_ = timeout;
  if (!std::exchange(is_queued_, false)) since_ = Duration{-1};
  if (moved || !is_ready_) prepare(moved);
  context_.tag = position.tag;
  context_.fingerprint = fingerprint();
  for (SegmentRun& run : runs_) run.begin();
  context_.active = runs_.size();
  for (SegmentRun& run : runs_) run.advance();
}

std::uint64_t Execution::fingerprint() const noexcept {
  const std::uint64_t summary = binding().fingerprint;
  if (plan_ != 0) return make_plan_fingerprint(summary, plan_, position_.sequence);
  return is_ordered() ? make_fingerprint(summary, position_.sequence) : summary;
}

void Execution::resume() {
  for (SegmentRun& run : runs_) run.resume();
}

/// Makes the first segments ready. If there are no others, and their scratch is kept, they stay
/// ready.
void Execution::prepare(bool moved) {
  has_run_ = true;
  if (moved) {
    in_place_ = is_in_place(binding(), buffers_);
    unbind();
  }
  find_input();
  for (SegmentRun& run : runs_) run.rewind();
  acquire_scratch();
  is_ready_ = block_.bytes <= kKeptScratch && input_copy_.data == nullptr &&
              binding().segments <= runs_.size();
}

/// In place, a result of an all_to_all lies where an input of another round, or of another segment,
/// does. So all of the input is copied first.
void Execution::find_input() {
  const Layout& layout = binding().layout();
  const auto* const caller = static_cast<const std::byte*>(buffers_.in);
  const std::byte* const before = std::exchange(context_.in, caller);
  context_.out = static_cast<std::byte*>(buffers_.out);
  if (in_place_ && is_between_pairs(layout.contract().collective)) {
    const std::size_t bytes = layout.in_total() * binding().element_bytes;
    if (input_copy_.data == nullptr) input_copy_ = scratch_.acquire(bytes);
    context_.memory.copy(input_copy_.data, caller, bytes);
    context_.in = input_copy_.data;
  }
  context_.is_shared = in_place_ && input_copy_.data == nullptr;
  if (context_.in != before) unbind();
}

/// Acquires scratch for all lanes. The first segment needs the most.
void Execution::acquire_scratch() {
  const std::size_t needed = runs_.front().program().held_bytes;
  if (block_.data != nullptr && needed > context_.scratch_bytes) {
    kept_bytes_ = 0;
    give_back(block_);
  }
  if (block_.data == nullptr) {
    context_.scratch_bytes =
        (needed + kScratchAlignment - 1) / kScratchAlignment * kScratchAlignment;
    if (needed == 0) return;
    block_ = scratch_.acquire(runs_.size() * context_.scratch_bytes);
    if (block_.bytes <= kKeptScratch) kept_bytes_ = block_.bytes;
  }
  std::byte* memory = block_.data;
  for (SegmentRun& run : runs_) {
    run.set_scratch(memory);
    memory += context_.scratch_bytes;
  }
}

Execution::Awaited Execution::awaited() const noexcept {
  // A missing message shows that its sender is late. A pending send only shows a slow receiver, so
  // sends come second.
  for (const bool is_send : {false, true})
    for (const SegmentRun& run : runs_) {
      const std::uint32_t message = run.find_awaited([&](std::uint32_t each) {
        return (run.transfer(each).kind == Transfer::Kind::send) == is_send;
      });
      if (message != kNoMessage) return {run.transfer(message).peer, is_send};
    }
  return {};
}

}  // namespace tutti::v0::detail
