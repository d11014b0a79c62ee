#include "step_checks.hpp"

#include <algorithm>
#include <vector>

#include "base/all_or_none.hpp"
#include "bytes.hpp"

namespace tutti::v0::detail {
namespace {

constexpr std::int64_t kNone = -1;

/// The gradients that one rank has found to be infinite or NaN.
struct SeenNotFinite {
  std::int64_t parameter = kNone;  // the first one in its own blocks of reduced buckets
  std::int64_t bucket = kNone;     // the bucket of that
  std::int64_t own = kNone;        // the first of its own parameters, before the reduction
};

}  // namespace

/// A difference means a flipped bit or a bug.
std::optional<RankDifference> StepChecks::difference_in(Communicator& ranks,
                                                        std::span<const std::byte> bytes) {
  struct ArrayCopy {
    std::uint64_t hash;
    std::int64_t rank;  // of all ranks
  };
  const ArrayCopy own{setup_.streams ? setup_.streams->hash_of(bytes, setup_.options.timeout)
                                     : hash_in_lanes(bytes),
                      setup_.all_ranks().rank()};
  const auto all = ranks.all_gather(own, setup_.call_options());
  if (std::ranges::all_of(all, [&](const ArrayCopy& one) { return one.hash == own.hash; }))
    return std::nullopt;
  const auto most = std::ranges::find_if(all, [&](const ArrayCopy& one) {
    return std::ranges::count(all, one.hash, &ArrayCopy::hash) * 2 > ranks.size();
  });
  if (most == all.end()) return RankDifference{.text = "no values are those of most ranks"};
  const auto odd =
      std::ranges::find_if(all, [&](const ArrayCopy& one) { return one.hash != most->hash; });
  const bool is_part = ranks.size() < setup_.all_ranks().size();
  return RankDifference{.text = "rank " + std::to_string(odd->rank) +
                                " has other values than most ranks" +
                                (is_part ? " of its group" : ""),
                        .rank = static_cast<Rank>(odd->rank)};
}

std::optional<RankDifference> StepChecks::difference_in(const Parameter& array,
                                                        const std::string& what) {
  auto found = difference_in(setup_.groups[array.group], bytes_of(array));
  if (found) found->text = "'" + array.name + "'" + what + " differs: " + found->text;
  return found;
}

void StepChecks::verify() {
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const auto other = difference_in(buckets_.ranks_of(i), buckets_.memory_of(i));
    if (!other) continue;
    problem_.note_of(other->rank, [&] {
      std::string names;
      for (const std::size_t p : buckets_[i].parameters)
        names += (names.empty() ? "'" : ", '") + setup_.parameters[p].name + "'";
      return "ranks got different gradients in bucket " + std::to_string(i) + " (" + names +
             "): " + other->text;
    });
  }
  for (const Parameter& array : setup_.options.state)
    if (const auto other = difference_in(array, " of GradientOptions::state"))
      problem_.note_of(other->rank, [&] { return other->text; });
}

std::optional<Error> StepChecks::error_of(StepOutcome& ending, GradientStep& step,
                                          StepReport& report) {
  const double size = setup_.all_ranks().size();
  const bool is_other_step = ending.step_squared() * size != ending.step() * ending.step();
  if (is_other_step)
    problem_.note_of(-1, [&] {
      return "ranks are at different steps; rank " + std::to_string(setup_.all_ranks().rank()) +
             " is at step " + std::to_string(report.step);
    });
  const bool is_seen_too_early = ending.callbacks() > 0 && ending.active() < size;
  if (is_seen_too_early)
    problem_.note_of(-1, [] {
      return "on_bucket or on_shard has seen the mean of all ranks, of which not all took part; "
             "join is not for a GradientSync that has one of them on any rank";
    });
  if (is_other_step || is_seen_too_early || ending.problems() > 0)
    if (std::optional<Error> error = agreed_problem(report.step)) return error;
  if (ending.not_finite() > 0) return error_of_not_finite(ending.not_finite(), step, report);
  return std::nullopt;
}

/// @return the problem of the lowest rank that has one.
std::optional<Error> StepChecks::agreed_problem(std::uint64_t step) {
  Communicator& world = setup_.all_ranks();
  const std::vector<std::string> texts =
      gather_texts(world, problem_.text(), setup_.options.timeout);
  const std::vector<Rank> culprits = world.all_gather(problem_.culprit(), setup_.call_options());
  for (std::size_t rank = 0; rank < texts.size(); ++rank) {
    if (texts[rank].empty()) continue;
    const bool is_own = culprits[rank] == static_cast<Rank>(rank);
    return Error{ErrorCode::invalid_argument,
                 "GradientSync: step " + std::to_string(step) + " is void: " +
                     (is_own ? "on rank " + std::to_string(rank) + " " : std::string{}) +
                     texts[rank],
                 culprits[rank]};
  }
  return std::nullopt;
}

/// @return the first parameter of a bucket whose part in the own block is not finite; the number of
/// parameters if all are.
std::size_t StepChecks::first_not_finite(std::size_t index, const Findings& findings) {
  const Datatype type = buckets_[index].type;
  const Block block = buckets_.own_block(index);
  std::byte* const own = buckets_.memory_of(index).data() + block.first * size_of(type);
  const std::size_t element = findings.first_not_finite;
  for (const ParameterShard& shard : buckets_.shards_in(index, block, own)) {
    if (setup_.streams) {
      setup_.streams->inspect(type, static_cast<const std::byte*>(shard.data), shard.count, false,
                              0);
      if (setup_.streams->inspected(setup_.options.timeout).not_finite > 0) return shard.parameter;
      continue;
    }
    const std::size_t begin = buckets_.plan().locations[shard.parameter].offset / size_of(type);
    if (element >= begin && element < begin + setup_.parameters[shard.parameter].count)
      return shard.parameter;
  }
  return setup_.parameters.size();
}

Error StepChecks::error_of_not_finite(double count, GradientStep& step, StepReport& report) {
  SeenNotFinite seen;
  if (step.own_not_finite()) seen.own = static_cast<std::int64_t>(*step.own_not_finite());
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    const auto parameter = static_cast<std::int64_t>(first_not_finite(i, step.verdict().of(i)));
    if (parameter == static_cast<std::int64_t>(setup_.parameters.size())) continue;
    if (seen.parameter != kNone && seen.parameter < parameter) continue;
    seen.parameter = parameter;
    seen.bucket = static_cast<std::int64_t>(i);
  }
  const auto all = setup_.all_ranks().all_gather(seen, setup_.call_options());
  const auto order = [](const SeenNotFinite& one) {  // ranks that found none come last
    return static_cast<std::uint64_t>(one.parameter);
  };
  const SeenNotFinite& first = *std::ranges::min_element(all, {}, order);
  expects(first.parameter != kNone, "a gradient that is not finite is found again");
  const auto source =
      std::ranges::find_if(all, [](const SeenNotFinite& one) { return one.own != kNone; });
  NotFinite& found = report.not_finite;
  found = {.count = static_cast<std::uint64_t>(count),
           .parameter = static_cast<std::size_t>(first.parameter),
           .bucket = static_cast<std::size_t>(first.bucket),
           .rank = source == all.end() ? -1 : static_cast<Rank>(source - all.begin())};
  std::string text = "GradientSync: step " + std::to_string(report.step) +
                     " is void: " + std::to_string(found.count) +
                     " reduced gradients are infinite or no numbers, the first in bucket " +
                     std::to_string(found.bucket) + ", parameter " +
                     setup_.name_of_parameter(found.parameter);
  if (source != all.end())
    text += "; rank " + std::to_string(found.rank) + " computed such a gradient for parameter " +
            setup_.name_of_parameter(static_cast<std::size_t>(source->own));
  else if (!setup_.streams)
    text += "; each rank's own gradients are finite, but their sum overflows";
  return {ErrorCode::invalid_argument, text, found.rank};
}

}  // namespace tutti::v0::detail
