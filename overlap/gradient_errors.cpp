// Errors of a step: ranks agree on them, and each names its place.
#include <algorithm>
#include <new>

#include "base/all_or_none.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {
namespace {

constexpr std::int64_t kNone = -1;

/// The gradients that one rank has found to be infinite or no numbers.
struct SeenNotFinite {
  std::int64_t parameter = kNone;  // the first one in its own blocks of reduced buckets
  std::int64_t bucket = kNone;     // of that
  std::int64_t own = kNone;        // the first of its own parameters, before the reduction
};

}  // namespace

/// The same on all ranks.
std::optional<Error> GradientSync::State::agreed_problem(double problems, double not_finite) {
  if (problems > 0) {
    Communicator& world = groups_[0];
    const std::vector<std::string> texts = detail::gather_texts(world, problem(), options_.timeout);
    const std::vector<Rank> culprits = world.all_gather(culprit_, call_options());
    for (std::size_t rank = 0; rank < texts.size(); ++rank) {
      if (texts[rank].empty()) continue;
      const bool is_own = culprits[rank] == static_cast<Rank>(rank);
      return Error{ErrorCode::invalid_argument,
                   "GradientSync: step " + std::to_string(report_.step) + " is void: " +
                       (is_own ? "on rank " + std::to_string(rank) + " " : std::string{}) +
                       texts[rank],
                   culprits[rank]};
    }
  }
  if (not_finite > 0) return agreed_not_finite(not_finite);
  return std::nullopt;
}

/// @return the first parameter of a bucket whose part in the own block is not finite; parameters()
/// where all are.
std::size_t GradientSync::State::first_not_finite(std::size_t index) {
  const detail::BucketContext context = context_of(index);
  const std::size_t element = own_findings_[index].first_not_finite;
  for (const ParameterShard& part : parts_of(index, context.own_block(), context.own())) {
    if (streams_) {
      streams_->inspect(context.type, static_cast<const std::byte*>(part.data), part.count, false,
                        0);
      if (streams_->inspected(options_.timeout).not_finite > 0) return part.parameter;
      continue;
    }
    const std::size_t begin = plan_.places[part.parameter].offset / size_of(context.type);
    if (element >= begin && element < begin + parameters_[part.parameter].count)
      return part.parameter;
  }
  return parameters_.size();
}

/// The same on all ranks.
Error GradientSync::State::agreed_not_finite(double count) {
  SeenNotFinite seen;
  if (own_not_finite_) seen.own = static_cast<std::int64_t>(*own_not_finite_);
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    const auto parameter = static_cast<std::int64_t>(first_not_finite(i));
    if (parameter == static_cast<std::int64_t>(parameters_.size())) continue;
    if (seen.parameter != kNone && seen.parameter < parameter) continue;
    seen.parameter = parameter;
    seen.bucket = static_cast<std::int64_t>(i);
  }
  const std::vector<SeenNotFinite> all = groups_[0].all_gather(seen, call_options());
  const auto order = [](const SeenNotFinite& one) {  // those that saw none last
    return static_cast<std::uint64_t>(one.parameter);
  };
  const SeenNotFinite& first = *std::ranges::min_element(all, {}, order);
  expects(first.parameter != kNone, "a gradient that is not finite is found again");
  const auto source =
      std::ranges::find_if(all, [](const SeenNotFinite& one) { return one.own != kNone; });
  NotFinite& found = report_.not_finite;
  found = {.count = static_cast<std::uint64_t>(count),
           .parameter = static_cast<std::size_t>(first.parameter),
           .bucket = static_cast<std::size_t>(first.bucket),
           .rank = source == all.end() ? -1 : static_cast<Rank>(source - all.begin())};
  std::string text = "GradientSync: step " + std::to_string(report_.step) +
                     " is void: " + std::to_string(found.count) +
                     " reduced gradients are infinite or no numbers, the first in bucket " +
                     std::to_string(found.bucket) + ", parameter " +
                     name_of_parameter(found.parameter);
  if (source != all.end())
    text += "; rank " + std::to_string(found.rank) + " computed such a gradient for parameter " +
            name_of_parameter(static_cast<std::size_t>(source->own));
  else if (!streams_) text += "; each rank's own gradients are finite, but their sum overflows";
  return {ErrorCode::invalid_argument, text, found.rank};
}

/// @return the cause, with the step and the bucket that this rank waited for.
Error GradientSync::State::located(Error cause) const noexcept {
  try {
    std::string where = "GradientSync: step " + std::to_string(next_report_.step);
    if (awaited_) {
      const std::vector<std::size_t>& parameters = plan_.buckets[*awaited_].parameters;
      where += ", bucket " + std::to_string(*awaited_) + " (parameter " +
               name_of_parameter(parameters.front());
      if (parameters.size() > 1) where += " and " + std::to_string(parameters.size() - 1) + " more";
      where += ")";
    }
    return Error{cause.code(), where + ": " + cause.what(), cause.culprit(), cause.cause()}.about(
        cause.call());
  } catch (const std::bad_alloc&) {
    return cause;
  }
}

}  // namespace tutti::v0
