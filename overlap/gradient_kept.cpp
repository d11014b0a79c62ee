// The state that a GradientSync keeps from step to step, for checkpoints.
#include <algorithm>

#include "bytes.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {

/// @return all parameters. Parameters that are tied to others have no elements of their own.
std::vector<Parameter> GradientSync::State::kept_parameters() const {
  std::vector<Parameter> all = setup_.parameters;
  for (Parameter& one : all)
    if (one.tied) one.count = 0;
  return all;
}

detail::KeptState GradientSync::State::kept() {
  check_failure();
  const GradientOptions& options = setup_.options;
  const detail::GradientPlan& plan = buckets_.plan();
  detail::KeptState all{.step = reporter_.report().step, .is_average = options.average};
  if (!readiness_.is_observing()) all.order = plan.order;
  all.compression =
      detail::hash_of(std::as_bytes(std::span{options.compression}), options.average ? 1 : 2);
  for (std::size_t i = 0; i < plan.buckets.size(); ++i)
    for (const detail::KeptElements& kept : step_.kept(i)) {
      using Role = detail::KeptElements::Role;
      if (kept.role == Role::gradients) all.has_gradients = true;
      if (kept.role == Role::sums) all.has_sums = true;
      const detail::Bucket& bucket = plan.buckets[i];
      for (const std::size_t p : bucket.parameters) {
        const std::size_t begin = plan.locations[p].offset / size_of(bucket.type);
        const std::size_t end = begin + setup_.parameters[p].count;
        if (kept.role == Role::factors) {
          if (begin == kept.first && end > begin) all.factors.push_back({p, 0, kept.elements});
          continue;
        }
        const std::size_t from = std::max(begin, kept.first);
        const std::size_t to = std::min(end, kept.first + kept.elements.size());
        if (from >= to) continue;
        auto& parts = kept.role == Role::gradients ? all.gradients : all.sums;
        parts.push_back({p, from - begin, kept.elements.subspan(from - kept.first, to - from)});
      }
    }
  return all;
}

/// Continues after `step`, without errors of earlier steps. Collective, between steps. The own
/// thread reads the plan, so it ends, and a new one starts. An order that is known stays.
/// @param self is this.
void GradientSync::State::restore(const std::shared_ptr<State>& self, std::uint64_t step,
                                  std::span<const std::size_t> order) {
  check_failure();
  is_restoring_ = true;
  end();
  is_restoring_ = false;
  handover_.reset();
  reporter_.restart(step);
  try {
    setup_.all_or_none([&] {
      if (readiness_.is_observing() && order.size() == setup_.parameters.size()) {
        readiness_.observe(false);
        adopt(order);
      } else {
        make_reductions();
        reset();
      }
      start(self);
    });
  } catch (...) {
    fail_as_caught_here();
    check_failure();
  }
  reporter_.begin_step();
}

namespace detail {

struct SyncAccess::Call {
  explicit Call(const std::shared_ptr<GradientSync::State>& state) : call{state} {}
  GradientSync::State::Call call;
};

SyncAccess::SyncAccess(const GradientSync& sync) : call_{std::make_unique<Call>(sync.state_)} {}
SyncAccess::~SyncAccess() = default;

std::vector<Parameter> SyncAccess::parameters() const {
  return call_->call->kept_parameters();
}
const Communicator& SyncAccess::world() const noexcept {
  return call_->call->setup_.all_ranks();
}
bool SyncAccess::has_groups() const noexcept {
  return !call_->call->setup_.options.groups.empty();
}
void SyncAccess::check_between_steps(const char* call) const {
  call_->call->check_between_steps(call);
}
KeptState SyncAccess::kept() const {
  return call_->call->kept();
}
void SyncAccess::restore(std::uint64_t step, std::span<const std::size_t> order) const {
  call_->call->restore(call_->call.state(), step, order);
}

}  // namespace detail
}  // namespace tutti::v0
