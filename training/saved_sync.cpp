#include "saved_sync.hpp"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "checkpoint_table.hpp"

namespace tutti::v0::detail {
namespace {

constexpr std::string_view kSyncName = "GradientSync";
constexpr std::uint64_t kSyncMagic = 0x636e795374666f4b;
constexpr std::size_t kFixedWords = 8;

Parameter array_of(std::string name, std::size_t count, Datatype type) {
  return {.name = std::move(name), .count = count, .type = type};
}

}  // namespace

SavedSync SavedSync::of(int ranks, const KeptState& kept, std::size_t parameters) {
  SavedSync saved{.ranks = static_cast<std::uint64_t>(ranks),
                  .step = kept.step,
                  .compression = kept.compression,
                  .has_gradients = kept.has_gradients,
                  .has_sums = kept.has_sums,
                  .order = kept.order,
                  .factors = std::vector<std::size_t>(parameters)};
  for (const ParameterElements& factors : kept.factors)
    saved.factors[factors.parameter] = factors.elements.size();
  return saved;
}

std::vector<std::uint64_t> SavedSync::words() const {
  std::vector<std::uint64_t> words{kSyncMagic,    ranks,    step,         compression,
                                   has_gradients, has_sums, order.size(), factors.size()};
  words.insert(words.end(), order.begin(), order.end());
  words.insert(words.end(), factors.begin(), factors.end());
  return words;
}

SavedSync SavedSync::from(std::span<const std::uint64_t> words, std::size_t parameters,
                          std::size_t most) {
  if (words.size() < kFixedWords || words[0] != kSyncMagic)
    reject_checkpoint("its array 'GradientSync' is none that save_checkpoint wrote");
  if (words[7] != parameters)
    reject_checkpoint("it was saved with a GradientSync of " + std::to_string(words[7]) +
                      " parameters; this one has " + std::to_string(parameters));
  const bool is_observed = words[6] == parameters;
  if (words.size() != kFixedWords + parameters + words[6] || !(is_observed || words[6] == 0) ||
      (words[4] != 0 && parameters > 0 && words[1] > most / parameters))
    reject_checkpoint("its array 'GradientSync' contradicts itself");
  SavedSync saved{.ranks = words[1],
                  .step = words[2],
                  .compression = words[3],
                  .has_gradients = words[4] != 0,
                  .has_sums = words[5] != 0};
  words = words.subspan(kFixedWords);
  if (is_observed) saved.order.assign(words.begin(), words.end() - std::ptrdiff_t(parameters));
  saved.factors.assign(words.end() - std::ptrdiff_t(parameters), words.end());
  std::vector<std::size_t> sorted = saved.order;
  std::ranges::sort(sorted);
  for (std::size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != i) reject_checkpoint("its array 'GradientSync' contradicts itself");
  return saved;
}

std::vector<Parameter> SavedSync::arrays(std::size_t words, std::span<const Parameter> own,
                                         std::span<const Parameter> parameters,
                                         std::span<const Parameter> shards) const {
  std::vector<Parameter> all{array_of(std::string{kSyncName}, words, Datatype::u64)};
  all.insert(all.end(), own.begin(), own.end());
  for (const Parameter& shard : shards)
    for (const Parameter& parameter : parameters)
      all.push_back(array_of(shard.name + "/" + parameter.name, parameter.count, shard.type));
  for (std::size_t p = 0; p < parameters.size(); ++p) {
    const std::string& name = parameters[p].name;
    const std::size_t count = parameters[p].count;
    for (std::uint64_t rank = 0; has_gradients && rank < ranks; ++rank)
      all.push_back(
          array_of("left out by rank " + std::to_string(rank) + "/" + name, count, Datatype::f32));
    if (has_sums) all.push_back(array_of("left out of sums/" + name, count, Datatype::f32));
    if (factors[p] > 0) all.push_back(array_of("factors/" + name, factors[p], Datatype::f32));
  }
  return all;
}

std::size_t words_of_sync(const std::string& table, std::uint64_t bytes) {
  const std::string head = "'" + std::string{kSyncName} + "' of ";
  const std::string tail = " " + std::string{name_of(Datatype::u64)};
  const std::string line = table.substr(0, table.find('\n'));
  std::size_t words = 0;
  const char* const end = line.data() + line.size() - std::min(tail.size(), line.size());
  const bool is_there = line.starts_with(head) && line.ends_with(tail);
  const auto read = std::from_chars(line.data() + std::min(head.size(), line.size()), end, words);
  if (!is_there || read.ec != std::errc{} || read.ptr != end || words > bytes / sizeof words)
    reject_checkpoint("it was saved without a GradientSync; load it without one");
  return words;
}

}  // namespace tutti::v0::detail
