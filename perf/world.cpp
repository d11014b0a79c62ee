#include "perf/world.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace tutti::perf {

void max_over_ranks(Communicator& communicator, std::span<double> values) {
  if (!values.empty()) communicator.all_reduce(values, max);
}

void sum_over_ranks(Communicator& communicator, std::span<double> values) {
  if (!values.empty()) communicator.all_reduce(values, sum);
}

void from_rank_zero(Communicator& communicator, std::span<std::int64_t> values) {
  if (!values.empty()) communicator.broadcast(values, 0);
}

bool is_equal_everywhere(Communicator& communicator, std::uint64_t value) {
  // The least of ~x is the complement of the greatest x: one reduction tells both.
  std::array<std::uint64_t, 2> bounds{value, ~value};
  communicator.all_reduce(std::span{bounds}, min);
  return bounds[0] == ~bounds[1];
}

std::vector<std::string> gather_texts(Communicator& communicator, const std::string& text) {
  constexpr std::size_t kBytes = 64;
  std::array<char, kBytes> own{};
  std::memcpy(own.data(), text.data(), std::min(text.size(), kBytes - 1));
  std::vector<char> all(kBytes * static_cast<std::size_t>(communicator.size()));
  communicator.all_gather<char>(std::span<const char>{own}, std::span{all});
  std::vector<std::string> texts;
  for (std::size_t at = 0; at < all.size(); at += kBytes) texts.emplace_back(all.data() + at);
  return texts;
}

}  // namespace tutti::perf
