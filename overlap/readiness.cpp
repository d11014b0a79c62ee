#include "readiness.hpp"

#include <algorithm>
#include <numeric>

#include <tutti/attempt.hpp>

namespace tutti::v0::detail {

Readiness::Readiness(const SyncSetup& setup, const GradientPlan& plan, StepProblem& problem,
                     StepHandover& handover)
    : setup_{setup}, plan_{plan}, problem_{problem}, handover_{handover}, missing_(0),
      arrivals_(setup.parameters.size()), is_accumulated_(setup.parameters.size()),
      is_used_(setup.parameters.size(), 1), was_missing_(setup.parameters.size()),
      unused_names_(setup.parameters.size()), ready_times_(setup.parameters.size()) {}

void Readiness::accumulated(std::size_t parameter) noexcept {
  if (parameter >= arrivals_.size())
    return problem_.note([&] { return "there is no parameter " + std::to_string(parameter); });
  is_accumulated_[parameter].store(1, std::memory_order_relaxed);
}

void Readiness::ready(std::size_t parameter) noexcept {
  if (parameter >= arrivals_.size())
    return problem_.note([&] { return "there is no parameter " + std::to_string(parameter); });
  const std::uint32_t number =
      is_observing_ ? arrived_.fetch_add(1, std::memory_order_relaxed) + 1 : 1;
  if (arrivals_[parameter].exchange(number, std::memory_order_relaxed) != 0)
    return problem_.note(
        [&] { return "parameter " + setup_.name_of_parameter(parameter) + " was ready twice"; });
  if (setup_.options.record > 0)
    ready_times_[parameter].store(Clock::now().time_since_epoch().count(),
                                  std::memory_order_relaxed);
  count_down(plan_.locations[parameter].bucket);
}

/// On a GPU a bucket needs one more than its gradients: the mark that the last of them makes.
void Readiness::count_down(std::size_t bucket) noexcept {
  const std::uint32_t before = missing_[bucket].fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1) return handover_.wake();
  if (!setup_.streams || before > 2) return;
  const Result<void> outcome = attempt([&] { setup_.streams->mark(bucket); });
  if (!outcome) note_unmarked(outcome.error());
  missing_[bucket].store(0, std::memory_order_release);
  handover_.wake();
}

void Readiness::note_unmarked(const Error& cause) noexcept {
  problem_.note([&] {
    return std::string{"the stream cannot be followed, which ends GradientSync: "} + cause.what();
  });
}

void Readiness::adopt_plan() {
  missing_ = std::vector<std::atomic<std::uint32_t>>(plan_.buckets.size());
}

void Readiness::reset() noexcept {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    std::uint32_t missing = setup_.streams ? 1 : 0;
    for (const std::size_t p : plan_.buckets[i].parameters) missing += plan_.names[p];
    missing_[i].store(missing, std::memory_order_relaxed);
  }
  for (auto& arrival : arrivals_) arrival.store(0, std::memory_order_relaxed);
  for (auto& written : is_accumulated_) written.store(0, std::memory_order_relaxed);
  std::ranges::fill(is_used_, std::uint8_t{1});
  arrived_.store(0, std::memory_order_relaxed);
}

std::vector<std::size_t> Readiness::arrival_order() const {
  std::vector<std::size_t> order(arrivals_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return arrivals_[i].load(); });
  return order;
}

/// Rejects a join with ready gradients: the sum would have gradients of a rank that does not count
/// for the mean.
void Readiness::check_join() noexcept {
  for (std::size_t i = 0; i < arrivals_.size(); ++i)
    if (arrivals_[i].load() != 0 || is_accumulated_[i].load() != 0)
      return problem_.note([&] {
        return "parameter " + setup_.name_of_parameter(i) +
               " was ready when join was called, which takes part with zeros; call wait for the "
               "step whose gradients are ready, then join";
      });
}

/// A parameter to which others are tied is used if one of them is.
void Readiness::complete(bool is_active) noexcept {
  std::ranges::fill(unused_names_, 0U);
  for (std::size_t i = 0; i < arrivals_.size(); ++i) {
    std::uint32_t none = 0;  // in an observed order the others follow, from last to first
    was_missing_[i] = arrivals_[i].compare_exchange_strong(none, ~static_cast<std::uint32_t>(i));
    if (was_missing_[i] == 0 || is_accumulated_[i].load(std::memory_order_relaxed) != 0) continue;
    const std::size_t owner = plan_.owners[i];
    if (++unused_names_[owner] == plan_.names[owner]) is_used_[owner] = 0;
    if (is_active && setup_.options.unused == UnusedGradients::error)
      problem_.note([&] {
        return "parameter " + setup_.name_of_parameter(i) +
               " was not ready when wait was called; the option unused allows it: zeros or detect";
      });
  }
  for (std::size_t i = 0; i < arrivals_.size(); ++i)
    if (was_missing_[i] != 0) count_down(plan_.locations[i].bucket);
}

std::optional<std::size_t> Readiness::first_ready() const noexcept {
  for (std::size_t i = 0; i < arrivals_.size(); ++i)
    if (arrivals_[i].load(std::memory_order_relaxed) != 0) return i;
  return std::nullopt;
}

void Readiness::move_times(std::span<Clock::time_point> times) noexcept {
  for (std::size_t i = 0; i < ready_times_.size(); ++i)
    times[i] = Clock::time_point{Clock::duration{ready_times_[i].exchange(0)}};
}

}  // namespace tutti::v0::detail
