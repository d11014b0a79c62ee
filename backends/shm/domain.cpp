#include "domain.hpp"

#include <algorithm>
#include <memory>

namespace tutti::shm {

Domain::Domain(Rank self, std::shared_ptr<Segment> own, std::span<const Neighbour> neighbours,
               const Options& options)
    : segment_{std::move(own)}, options_{options} {
  mappings_.reserve(neighbours.size());  // members point at them
  members_.push_back({self, &segment_->mapping(), nullptr, -1});
  for (const Neighbour& neighbour : neighbours) {
    mappings_.emplace_back(neighbour.segment);
    members_.push_back({neighbour.rank, &mappings_.back(), nullptr, neighbour.process});
  }
  for (Member& member : members_) {
    member.front = &front_of(*member.mapping);
    if (!can_read(*member.front, member.process)) member.process = -1;
  }
}

const Domain::Member* Domain::find(Rank rank) const noexcept {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [rank](const Member& member) { return member.rank == rank; });
  return found == members_.end() ? nullptr : &*found;
}

std::uint64_t Domain::open(std::uint64_t communicator, std::span<const Rank> members) {
  segment_->guard().check();
  const std::lock_guard lock{mutex_};
  free_closed();
  const auto has_road = std::make_unique<bool[]>(members.size());
  std::size_t neighbours = 0;
  for (std::size_t i = 0; i < members.size(); ++i)
    neighbours += (has_road[i] = reaches(members[i])) ? 1 : 0;
  const std::uint64_t block = segment_->allocate(block_bytes(members.size(), neighbours));
  write_block(own().mapping->base(), block, {has_road.get(), members.size()}, neighbours);
  try {
    add_entry(*own().front, communicator, block);
  } catch (...) {
    segment_->deallocate(block);
    throw;
  }
  closed_.reserve(closed_.size() + 1);  // so that closing cannot fail for this
  return block;
}

void Domain::close(std::uint64_t communicator, std::span<const Rank> members) noexcept {
  if (segment_->guard().is_forked()) return;  // the parent's end stays open
  try {
    const std::lock_guard lock{mutex_};
    Entry* const entry = find_entry(*own().front, communicator);
    if (entry == nullptr) return;
    entry->state.store(Entry::closed, std::memory_order_release);
    closed_.push_back({communicator, {members.begin(), members.end()}});
    free_closed();
  } catch (const std::bad_alloc&) {
    // The block stays until the world ends.
  }
}

bool Domain::everyone_closed(const Closed& closed) const noexcept {
  return std::ranges::all_of(closed.members, [&](Rank rank) {
    const Member* const member = find(rank);
    if (member == nullptr) return true;  // of another host, and never reads it
    const Entry* const entry = find_entry(*member->front, closed.communicator);
    return entry != nullptr && entry->state.load(std::memory_order_acquire) == Entry::closed;
  });
}

void Domain::free_closed() noexcept {
  std::erase_if(closed_, [this](const Closed& closed) {
    if (!everyone_closed(closed)) return false;
    segment_->deallocate(
        find_entry(*own().front, closed.communicator)->block.load(std::memory_order_relaxed));
    return true;
  });
}

namespace {

/// Scratch and buffers in the segment; copies and folds as everywhere on the host.
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
