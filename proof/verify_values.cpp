#include "verify_values.hpp"

#include <algorithm>

#include "algorithms/hash.hpp"

namespace tutti::verifying {
namespace {

/// Any odd number: from a seed of zero, the hash of zero would be zero again.
constexpr std::uint64_t kSeed = 0x517cc1b727220a95U;

}  // namespace

void ValueStore::reset(int size, bool idempotent) {
  size_ = size;
  idempotent_ = idempotent;
  words_ = (static_cast<std::size_t>(size) + 63) / 64;
  const auto leaves = static_cast<std::size_t>(size);
  bounds_.clear();
  digests_.clear();
  members_.assign(leaves * words_, 0);
  for (Rank rank = 0; rank < size; ++rank) {
    const auto bit = static_cast<std::size_t>(rank);
    bounds_.push_back({rank, rank});
    digests_.push_back(detail::combine(kSeed, static_cast<std::uint64_t>(rank)));
    members_[bit * words_ + bit / 64] = std::uint64_t{1} << (bit % 64);
  }
  if (table_.empty()) table_.resize(1024);
  if (++epoch_ == 0) {  // The counter wrapped: old entries must not become valid again.
    std::fill(table_.begin(), table_.end(), Entry{});
    epoch_ = 1;
  }
}

ValueStore::Entry& ValueStore::find(std::uint64_t key) {
  const std::size_t mask = table_.size() - 1;
  const std::uint64_t mixed = key * 0x9E3779B97F4A7C15ULL;
  auto at = static_cast<std::size_t>(mixed >> 32) & mask;
  while (table_[at].epoch == epoch_ && table_[at].key != key) at = (at + 1) & mask;
  return table_[at];
}

void ValueStore::grow() {
  std::vector<Entry> old(table_.size() * 2);
  old.swap(table_);
  for (const Entry& entry : old)
    if (entry.epoch == epoch_) find(entry.key) = entry;
}

bool ValueStore::join(Value left, Value right) {
  const std::size_t target = members_.size();
  members_.resize(target + words_);
  std::uint64_t overlap = 0;
  for (std::size_t word = 0; word < words_; ++word) {
    const std::uint64_t a = members_[left.node() * words_ + word];
    const std::uint64_t b = members_[right.node() * words_ + word];
    overlap |= a & b;
    members_[target + word] = a | b;
  }
  if (overlap != 0 && !idempotent_) {
    members_.resize(target);
    return false;
  }
  const Bounds a = bounds_[left.node()];
  const Bounds b = bounds_[right.node()];
  bounds_.push_back({std::min(a.low, b.low), std::max(a.high, b.high)});
  const auto [low, high] = std::minmax({digest(left), digest(right)});
  digests_.push_back(detail::combine(detail::combine(kSeed, low), high));
  return true;
}

std::uint64_t ValueStore::digest(Value value) const {
  return detail::combine(detail::combine(kSeed, digests_[value.node()]), value.marks());
}

Value ValueStore::combine(Value left, Value right) {
  const auto [low, high] = std::minmax({left.tree(), right.tree()});
  const std::uint64_t key = std::uint64_t{low} << 32 | high;
  Entry* entry = &find(key);
  if (entry->epoch != epoch_) {
    if (bounds_.size() * 2 > table_.size()) {
      grow();
      entry = &find(key);
    }
    const auto node = static_cast<std::uint32_t>(bounds_.size());
    if (!join(left, right)) return {};
    *entry = {key, node, epoch_};
  }
  const bool ordered =
      left.ordered() && right.ordered() && bounds_[left.node()].high < bounds_[right.node()].low;
  return {entry->node, ordered};
}

bool ValueStore::complete(Value value, int contributors) const {
  const std::uint64_t* set = &members_[value.node() * words_];
  const auto wanted = static_cast<std::size_t>(contributors);
  for (std::size_t word = 0; word < words_; ++word) {
    const std::size_t bits = std::min<std::size_t>(wanted - std::min(wanted, word * 64), 64);
    const std::uint64_t all = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    if (set[word] != all) return false;
  }
  return true;
}

bool ValueStore::contains(Value value, Rank rank) const {
  const auto bit = static_cast<std::size_t>(rank);
  return (members_[value.node() * words_ + bit / 64] >> (bit % 64) & 1) != 0;
}

}  // namespace tutti::verifying
