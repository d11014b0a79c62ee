// Arrays of the program's that are made equal, averaged or compared between steps.
#include <algorithm>

#include <tutti/batch.hpp>

#include "arrays.hpp"
#include "base/all_or_none.hpp"
#include "bytes.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {

/// Before a call that takes arrays. @return them, each once.
std::vector<Parameter> GradientSync::State::checked_arrays(std::span<const Parameter> arrays) {
  check_failure();
  detail::compare_arrays(groups_[0], arrays, options_.groups.size(), [&] {
    if (streams_) detail::check_on_device(groups_[0], arrays, options_.stream);
  });
  return detail::without_tied(arrays);
}

void GradientSync::State::broadcast_arrays(std::span<const Parameter> arrays, Rank root) {
  batch([&] {
    for (const Parameter& array : arrays)
      groups_[array.group].broadcast(detail::bytes_of(array), root, {.stream = options_.stream});
  });
}

/// Compares what ranks have. A difference is one of a bit that fell over, or of a bug.
std::optional<GradientSync::State::Difference> GradientSync::State::difference_in(
    Communicator& ranks, std::span<const std::byte> bytes) {
  struct ArrayCopy {
    std::uint64_t hash;
    std::int64_t rank;  // of all ranks
  };
  const ArrayCopy own{
      streams_ ? streams_->hash_of(bytes, options_.timeout) : detail::hash_in_lanes(bytes),
      groups_[0].rank()};
  const auto all = ranks.all_gather(own, call_options());
  if (std::ranges::all_of(all, [&](const ArrayCopy& one) { return one.hash == own.hash; }))
    return std::nullopt;
  const auto most = std::ranges::find_if(all, [&](const ArrayCopy& one) {
    return std::ranges::count(all, one.hash, &ArrayCopy::hash) * 2 > ranks.size();
  });
  if (most == all.end()) return Difference{.text = "ranks have different ones"};
  const auto odd =
      std::ranges::find_if(all, [&](const ArrayCopy& one) { return one.hash != most->hash; });
  const bool is_part = ranks.size() < groups_[0].size();
  return Difference{.text = "rank " + std::to_string(odd->rank) + " has others than most" +
                            (is_part ? " of its group" : ""),
                    .rank = static_cast<Rank>(odd->rank)};
}

void GradientSync::broadcast_state(std::span<const Parameter> arrays, Rank root) {
  const State::Call state{state_};
  state->run_between_steps("broadcast_state",
                           [&] { state->broadcast_arrays(state->checked_arrays(arrays), root); });
}

void GradientSync::average_buffers(std::span<const Parameter> arrays) {
  const State::Call state{state_};
  state->run_between_steps("average_buffers", [&] {
    const std::vector<Parameter> own = state->checked_arrays(arrays);
    batch([&] {
      for (const Parameter& array : own)
        state->groups_[array.group].run({.collective = Collective::all_reduce,
                                         .in = array.data,
                                         .out = array.data,
                                         .in_count = array.count,
                                         .out_count = array.count,
                                         .type = array.type,
                                         .element_bytes = size_of(array.type),
                                         .op = &average},
                                        {.stream = state->options_.stream});
    });
  });
}

void GradientSync::verify_state(std::span<const Parameter> arrays) {
  const State::Call state{state_};
  state->run_between_steps("verify_state", [&] {
    const std::vector<Parameter> own = state->checked_arrays(arrays);
    State::Difference found;
    for (const Parameter& array : own)
      if (found.text.empty())
        if (auto difference =
                state->difference_in(state->groups_[array.group], detail::bytes_of(array)))
          found = {"'" + array.name + "' differs: " + difference->text, difference->rank};
    // Ranks of other groups have not seen it.
    const auto texts = detail::gather_texts(state->groups_[0], found.text, state->options_.timeout);
    const auto ranks = state->groups_[0].all_gather(found.rank, state->call_options());
    for (std::size_t i = 0; i < texts.size(); ++i)
      if (!texts[i].empty())
        throw Error{ErrorCode::invalid_argument, "GradientSync: " + texts[i], ranks[i]};
  });
}

}  // namespace tutti::v0
