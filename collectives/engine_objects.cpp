// Turns that are kept for later, and the object collectives that need them.
#include <algorithm>
#include <utility>

#include "engine.hpp"
#include "objects.hpp"

namespace tutti::inline v0::detail {

Execution::Turn Engine::keep_turn() {
  return order_.keep();
}

void Engine::start_later(Execution& execution, const void* in, void* out, Duration timeout,
                         Execution::Turn turn) {
  if (failure_) complain();
  give_up_turn(turn);
  try {
    calls_->note(turn.sequence + 1, execution.binding().fingerprint);
    execution.start({in, out}, turn, timeout);
  } catch (...) {
    fail_as_caught();
  }
}

void Engine::start(const std::shared_ptr<ObjectOperation>& operation) {
  try {
    operation->prepare();
    order_.prepare_to_keep();
    objects_.push_back(operation);
    if (operation->places() > 0 && !has_room(operation->places())) {
      waiting_.push_back({.objects = operation});
      return;
    }
  } catch (...) {
    operation->drop();
    throw;
  }
  operation->let_start();
  advance_objects();
  operation->encode();
}

bool Engine::is_next(const ObjectOperation& operation) const noexcept {
  for (const auto& other : objects_) {
    if (other.get() == &operation) break;
    if (other->goes_before(operation)) return false;
  }
  return true;
}

RawBytes Engine::take_bytes(std::size_t bytes) {
  RawBytes* best = nullptr;
  for (RawBytes& memory : bytes_) {
    if (memory.bytes < bytes) continue;
    const bool is_better =
        best == nullptr || (bytes == 0 ? memory.bytes > best->bytes : memory.bytes < best->bytes);
    if (is_better) best = &memory;
  }
  if (best != nullptr) return {std::move(best->data), std::exchange(best->bytes, 0)};
  return {std::make_unique_for_overwrite<std::byte[]>(bytes), bytes};
}

/// The largest are kept, within the budget.
void Engine::give_bytes(RawBytes memory) noexcept {
  if (memory.bytes > options_.cache_bytes / bytes_.size()) return;
  RawBytes& smallest = *std::ranges::min_element(bytes_, {}, &RawBytes::bytes);
  if (smallest.bytes < memory.bytes)
    smallest = {std::move(memory.data), std::exchange(memory.bytes, 0)};
}

Buffer<std::byte> Engine::take_visible(std::size_t bytes) {
  if (visible_.size() >= bytes) return std::move(visible_);
  const auto memory = group_ ? group_->visible_memory() : nullptr;
  if (memory == nullptr || bytes > options_.cache_bytes / bytes_.size()) return {};
  try {
    return {allocate_zeroed(memory, bytes), bytes, true};
  } catch (const std::bad_alloc&) {  // There may be more of the other kind.
    return {};
  }
}

void Engine::give_visible(Buffer<std::byte> memory) noexcept {
  if (memory.size() > visible_.size()) visible_ = std::move(memory);
}

void Engine::advance_objects() {
  try {
    for (const auto& operation : objects_) operation->advance();
  } catch (...) {
    fail_as_caught();
  }
  std::erase_if(objects_, [](const auto& operation) { return operation->done(); });
}

}  // namespace tutti::inline v0::detail
