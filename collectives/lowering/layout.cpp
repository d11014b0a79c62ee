#include "layout.hpp"

#include <algorithm>

namespace tutti::v0::detail {
namespace {

/// Position of a block among those that one rank's input holds, in order.
std::size_t in_index(const Contract& contract, std::uint32_t block) noexcept {
  if (is_gathering(contract.collective)) return 0;
  if (is_between_pairs(contract.collective))
    return block % static_cast<std::uint32_t>(contract.size);
  return block;
}

/// Position of a block among those that one rank's output holds, in order.
std::size_t out_index(const Contract& contract, std::uint32_t block) noexcept {
  if (is_between_pairs(contract.collective))
    return block / static_cast<std::uint32_t>(contract.size);
  return is_gathering(contract.collective) ? block : 0;
}

}  // namespace

Layout::Layout(const Contract& contract, Rank self, std::size_t count)
    : contract_{contract}, self_{self}, equal_count_{count} {
  place();
}

Layout::Layout(const Contract& contract, Rank self, std::vector<std::size_t> counts)
    : contract_{contract}, self_{self}, counts_{std::move(counts)} {
  place();
}

Layout::Layout(const Contract& contract, Rank self, const OwnCounts& own)
    : contract_{contract}, self_{self}, knows_own_{true}, in_offsets_{0}, out_offsets_{0} {
  for (const std::size_t count : own.in) in_offsets_.push_back(in_offsets_.back() + count);
  for (const std::size_t count : own.out) out_offsets_.push_back(out_offsets_.back() + count);
  for (const std::size_t count : own.in) largest_ = std::max(largest_, count);
  for (const std::size_t count : own.out) largest_ = std::max(largest_, count);
}

std::size_t Layout::own_count(std::uint32_t block) const noexcept {
  const auto size_at = [](const std::vector<std::size_t>& offsets, std::size_t index) {
    return offsets[index + 1] - offsets[index];
  };
  if (contract_.has_input(self_, block)) return size_at(in_offsets_, in_index(contract_, block));
  if (contract_.wants_output(self_, block))
    return size_at(out_offsets_, out_index(contract_, block));
  return 0;
}

void Layout::place() {
  in_offsets_ = {0};
  out_offsets_ = {0};
  const auto n = static_cast<std::uint32_t>(contract_.size);
  const auto self = static_cast<std::uint32_t>(self_);
  const auto visit = [&](std::uint32_t block) {
    if (contract_.has_input(self_, block)) in_offsets_.push_back(in_offsets_.back() + count(block));
    if (contract_.wants_output(self_, block))
      out_offsets_.push_back(out_offsets_.back() + count(block));
  };
  if (is_between_pairs(contract_.collective)) {
    // Only the own row and column matter; visiting all pairs would cost n * n.
    for (std::uint32_t k = 0; k < n; ++k) {
      in_offsets_.push_back(in_offsets_.back() + count(self * n + k));
      out_offsets_.push_back(out_offsets_.back() + count(k * n + self));
    }
  } else {
    for (std::uint32_t block = 0; block < contract_.blocks(); ++block) visit(block);
  }
  largest_ = counts_.empty() ? equal_count_ : *std::max_element(counts_.begin(), counts_.end());
}

std::size_t Layout::in_offset(std::uint32_t block) const noexcept {
  return in_offsets_[in_index(contract_, block)];
}

std::size_t Layout::out_offset(std::uint32_t block) const noexcept {
  return out_offsets_[out_index(contract_, block)];
}

}  // namespace tutti::v0::detail
