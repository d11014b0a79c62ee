// Arrays of the program's that are made equal, averaged or compared between steps.
#include <algorithm>

#include <tutti/batch.hpp>

#include "agreement.hpp"
#include "bytes.hpp"
#include "gradient_state.hpp"

namespace tutti::inline v0 {

/// Before a call that takes arrays.
void GradientSync::State::check_arrays(std::span<const Parameter> arrays) {
  check_failure();
  detail::compare_arrays(groups_[0], arrays, options_.groups.size(), [&] {
    if (streams_) detail::check_on_device(groups_[0], arrays, options_.stream);
  });
}

void GradientSync::State::broadcast_arrays(std::span<const Parameter> arrays, Rank root) {
  batch([&] {
    for (const Parameter& array : arrays)
      groups_[array.group].broadcast(detail::bytes_of(array), root, {.stream = options_.stream});
  });
}

/// Compares what ranks have. A difference is one of a bit that fell over, or of a bug.
std::optional<std::string> GradientSync::State::difference_in(Communicator& ranks,
                                                              std::span<const std::byte> bytes) {
  const std::uint64_t own =
      streams_ ? streams_->hash_of(bytes, options_.timeout) : detail::hash_of(bytes);
  const auto hashes = ranks.all_gather(own, call_options());
  if (std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes[0]; }))
    return std::nullopt;
  const auto odd = std::ranges::find_if(hashes, [&](std::uint64_t hash) {
    return std::ranges::count(hashes, hash) * 2 <= ranks.size();
  });
  if (odd == hashes.end() || ranks.size() == 2) return "ranks have different ones";
  const bool is_part = ranks.size() < groups_[0].size();
  return "rank " + std::to_string(odd - hashes.begin()) + (is_part ? " of its group" : "") +
         " has others than most";
}

void GradientSync::broadcast_state(std::span<const Parameter> arrays, Rank root) {
  const State::Call state{state_};
  state->run_between_steps("broadcast_state", [&] {
    state->check_arrays(arrays);
    state->broadcast_arrays(arrays, root);
  });
}

void GradientSync::average_buffers(std::span<const Parameter> arrays) {
  const State::Call state{state_};
  state->run_between_steps("average_buffers", [&] {
    state->check_arrays(arrays);
    batch([&] {
      for (const Parameter& array : arrays)
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
    state->check_arrays(arrays);
    std::string problem;
    for (const Parameter& array : arrays)
      if (problem.empty())
        if (const auto text =
                state->difference_in(state->groups_[array.group], detail::bytes_of(array)))
          problem = "'" + array.name + "' differs: " + *text;
    // Ranks of other groups have not seen it.
    for (const std::string& text :
         detail::texts_of(state->groups_[0], problem, state->options_.timeout))
      if (!text.empty()) throw Error{ErrorCode::invalid_argument, "GradientSync: " + text};
  });
}

}  // namespace tutti::inline v0
