#include "domain.hpp"

#include <algorithm>
#include <memory>

#include "base/lock_by.hpp"

namespace tutti::shm {

Domain::Domain(Rank self, std::shared_ptr<Segment> own, std::span<const Neighbour> neighbours)
    : segment_{std::move(own)} {
  members_.push_back({self, &segment_->mapping(), &front_of(segment_->mapping())});
  members_.front().front->process = process_.published();
  for (const Neighbour& neighbour : neighbours) add(neighbour);
}

void Domain::add(const Neighbour& neighbour) {
  Mapping mapping{neighbour.segment};
  Front& front = front_of(mapping);
  const std::lock_guard lock{mutex_};
  mappings_.push_back(std::move(mapping));
  members_.push_back({neighbour.rank, &mappings_.back(), &front});
}

void Domain::add_again(Rank rank, Rank same) {
  const std::lock_guard lock{mutex_};
  Member member = *find_locked(same);
  member.rank = rank;
  members_.push_back(member);
}

const Domain::Member* Domain::find(Rank rank) const {
  const std::lock_guard lock{mutex_};
  return find_locked(rank);
}

const Domain::Member* Domain::find_locked(Rank rank) const noexcept {
  const auto found = std::ranges::find(members_, rank, &Member::rank);
  return found == members_.end() ? nullptr : &*found;
}

std::uint64_t Domain::open(std::uint64_t communicator, std::span<const Rank> members) {
  segment_->guard().check();
  const std::lock_guard lock{mutex_};
  sweep_locked();
  const auto has_queue = std::make_unique<bool[]>(members.size());
  Opened opened;
  for (std::size_t i = 0; i < members.size(); ++i) {
    has_queue[i] = find_locked(members[i]) != nullptr;
    if (has_queue[i] && members[i] != own().rank) opened.members.push_back(members[i]);
  }
  const std::size_t neighbours = opened.members.size() + 1;
  if (closed_.capacity() <= opened_.size())  // so that close() never allocates
    closed_.reserve(2 * opened_.size() + 16);
  const auto [place, is_new] = opened_.try_emplace(communicator);
  expects(is_new, "two communicators have one id");
  try {
    opened.offsets.push_back(segment_->allocate(block_bytes(members.size(), neighbours)));
    const std::uint64_t block = opened.offsets.front();
    place->second = std::move(opened);
    write_block(own().mapping->base(), block, {has_queue.get(), members.size()}, neighbours);
    place->second.entry = &add_entry(*own().front, communicator, block);
    return block;
  } catch (...) {
    for (const std::uint64_t offset : place->second.offsets) segment_->deallocate(offset);
    opened_.erase(place);
    throw;
  }
}

std::uint64_t Domain::extend(std::uint64_t communicator, std::size_t bytes) {
  segment_->guard().check();
  const std::lock_guard lock{mutex_};
  Opened& opened = opened_.at(communicator);
  opened.offsets.reserve(opened.offsets.size() + 1);
  opened.offsets.push_back(segment_->allocate(bytes));
  return opened.offsets.back();
}

void Domain::close(std::uint64_t communicator) noexcept {
  if (segment_->guard().is_forked()) return;  // the parent's communicator stays open
  const std::lock_guard lock{mutex_};
  const auto opened = opened_.find(communicator);
  if (opened == opened_.end()) return;
  opened->second.entry->state.store(Entry::closed, std::memory_order_release);
  closed_.push_back(communicator);
  has_closed_.store(true, std::memory_order_relaxed);
  sweep_locked();
}

bool Domain::leave(std::chrono::steady_clock::time_point deadline) noexcept {
  if (segment_->guard().is_forked()) return true;
  const std::unique_lock lock = lock_by(mutex_, deadline);
  if (lock)
    for (auto& [communicator, opened] : opened_)
      opened.entry->state.store(Entry::closed, std::memory_order_release);
  return lock.owns_lock();
}

void Domain::sweep() noexcept {
  if (segment_->guard().is_forked()) return;
  const std::lock_guard lock{mutex_};
  sweep_locked();
}

void Domain::sweep_locked() noexcept {
  std::erase_if(closed_, [this](std::uint64_t communicator) {
    const auto opened = opened_.find(communicator);
    if (!end(communicator, opened->second)) return false;
    opened_.erase(opened);
    return true;
  });
  has_closed_.store(!closed_.empty(), std::memory_order_relaxed);
}

// Frees the memory once all have closed the communicator, and the entry once all have seen that.
bool Domain::end(std::uint64_t communicator, const Opened& opened) noexcept {
  const auto all_are = [&](auto right) {
    return std::ranges::all_of(opened.members, [&](Rank rank) {
      const Entry* const entry = find_entry(*find_locked(rank)->front, communicator);
      return right(entry == nullptr ? 0 : entry->state.load(std::memory_order_acquire));
    });
  };
  if (opened.entry->state.load(std::memory_order_relaxed) != Entry::freed) {
    if (!all_are([](auto state) { return state == Entry::closed || state == Entry::freed; }))
      return false;
    for (const std::uint64_t offset : opened.offsets) segment_->deallocate(offset);
    opened.entry->state.store(Entry::freed, std::memory_order_release);
  }
  if (!all_are([](auto state) { return state == 0 || state == Entry::freed; })) return false;
  remove_entry(*opened.entry);
  return true;
}

namespace {

/// Scratch and buffers in the segment, with copies and folds of the host.
class VisibleMemory final : public Memory {
 public:
  explicit VisibleMemory(std::shared_ptr<Segment> segment) : segment_{std::move(segment)} {}
  [[nodiscard]] std::byte* allocate(std::size_t bytes) override {
    return segment_->mapping().base() + segment_->allocate(bytes);
  }
  void deallocate(std::byte* data, std::size_t) noexcept override {
    segment_->deallocate(static_cast<std::uint64_t>(data - segment_->mapping().base()));
  }
  void copy(std::byte* to, const std::byte* from, std::size_t bytes) override {
    host_->copy(to, from, bytes);
  }
  void fold(const Fold& work) override { host_->fold(work); }

 private:
  std::shared_ptr<Segment> segment_;
  std::shared_ptr<Memory> host_ = make_host_memory();
};

}  // namespace

std::shared_ptr<Memory> make_visible_memory(std::shared_ptr<Segment> segment) {
  return std::make_shared<VisibleMemory>(std::move(segment));
}

}  // namespace tutti::shm
