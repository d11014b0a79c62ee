// The calls of a GradientSync, and who may make them.
#include <utility>

#include <tutti/attempt.hpp>

#include "base/all_or_none.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {
namespace {

constexpr detail::Occupancy::Words kGradientSyncWords{
    .object = "the GradientSync",
    .callbacks = "on_bucket or on_shard",
    .instead = "",
    .otherwise = "; only ready may be called by several"};

}  // namespace

/// Throws where a call is none that may be made.
const std::shared_ptr<GradientSync::State>& GradientSync::State::checked(
    const std::shared_ptr<State>& state) {
  if (state == nullptr)
    throw Error{ErrorCode::invalid_argument,
                "the GradientSync is empty, because it was moved from"};
  state->guard_.check("a GradientSync");
  if (state->is_own_thread())
    throw Error{
        ErrorCode::invalid_argument,
        "the GradientSync is called by its own on_bucket or on_shard; call it when wait has "
        "returned"};
  return state;
}

GradientSync::State::Call::Call(const std::shared_ptr<State>& state)
    : state_{checked(state)}, occupied_{state_->occupancy_, kGradientSyncWords} {}

/// Buckets are under way then, on the communicators that the call needs.
void GradientSync::State::check_between_steps(const char* call) const {
  check_failure();
  for (std::size_t i = 0; i < arrivals_.size(); ++i)
    if (arrivals_[i].load(std::memory_order_relaxed) != 0)
      throw Error{ErrorCode::invalid_argument,
                  std::string{"GradientSync: "} + call +
                      " is called within a step, since parameter " + std::to_string(i) + " '" +
                      parameters_[i].name +
                      "' is ready; call it before the first ready or after wait"};
}

/// A call that is made of collectives.
void GradientSync::State::run_between_steps(const char* call,
                                            const std::function<void()>& collectives) {
  check_between_steps(call);
  run_as_one(groups_[0], collectives);
}

/// A part of a call which may throw on some ranks: then all of them throw.
void GradientSync::State::agree_on(const std::function<void()>& part) {
  detail::all_or_none(detail::exchange_over(groups_[0], options_.timeout), part);
}

void GradientSync::State::check_failure() const {
  if (has_failed_.load(std::memory_order_acquire)) throw Error{*failure_};
}

/// There can be no more steps, because of the exception that is being handled. The other ranks,
/// which wait for this one, are told.
void GradientSync::State::end_as_caught() noexcept {
  abort_streams(detail::attempt([] { throw; }).error());
  Error cause = fail_as_caught(groups_[0]);
  for (std::vector<Communicator>* const communicators : {&groups_, &seconds_})
    for (Communicator& communicator : *communicators)
      static_cast<void>(fail_as_caught(communicator));
  if (control_) static_cast<void>(fail_as_caught(*control_));
  fail(located(std::move(cause)));
}

/// Its thread ends, at once or, where it is this one, when it has returned from a callback.
void GradientSync::State::end() noexcept {
  is_over_.store(1, std::memory_order_release);
  wake();
  if (is_own_thread()) thread_.detach();
  else if (thread_.joinable()) thread_.join();
}

void GradientSync::State::end(std::shared_ptr<State> state) noexcept {
  if (state == nullptr) return;
  if (state->guard_.is_forked()) {  // the thread and the connections are the parent's
    static_cast<void>(new auto(std::move(state)));
    return;
  }
  state->is_destroyed_ = state->is_own_thread();
  state->end();
}

GradientSync::GradientSync(Communicator& world, std::span<const Parameter> parameters,
                           const GradientOptions& options)
    : state_{State::make(world, parameters, options)} {}
GradientSync::GradientSync(GradientSync&&) noexcept = default;
GradientSync& GradientSync::operator=(GradientSync&& other) noexcept {
  State::end(std::exchange(state_, std::move(other.state_)));
  return *this;
}
GradientSync::~GradientSync() {
  State::end(std::move(state_));
}

void* GradientSync::view(std::size_t parameter) const noexcept {
  const bool are_views = state_->options_.storage == GradientStorage::views;
  if (!are_views || parameter >= state_->parameters_.size()) return nullptr;
  return state_->place_of(parameter);
}

void GradientSync::accumulated(std::size_t parameter) noexcept {
  state_->accumulated(parameter);
}
void GradientSync::ready(std::size_t parameter) noexcept {
  state_->ready(parameter);
}
const StepReport& GradientSync::wait() {
  const State::Call state{state_};
  return state->wait(true);
}
void GradientSync::synchronize(Duration timeout) {
  const State::Call state{state_};
  state->check_between_steps("synchronize");
  state->synchronize(timeout);
}
std::uint64_t GradientSync::join() {
  const State::Call state{state_};
  for (std::uint64_t steps = 0;; ++steps)
    if (state->wait(false).active == 0) return steps;
}
const StepReport& GradientSync::last_step() const noexcept {
  return state_->report_;
}
const std::vector<BucketReport>& GradientSync::last_buckets() const noexcept {
  return state_->bucket_reports_;
}
std::vector<std::vector<std::size_t>> GradientSync::buckets() const {
  std::vector<std::vector<std::size_t>> all;
  for (const detail::Bucket& bucket : state_->plan_.buckets) all.push_back(bucket.parameters);
  return all;
}
std::uint64_t GradientSync::plan_hash() const noexcept {
  return state_->plan_.hash;
}
std::vector<std::size_t> GradientSync::order() const {
  return state_->plan_.order;
}
std::vector<std::vector<ParameterShard>> GradientSync::shards() const {
  std::vector<std::vector<ParameterShard>> all;
  for (std::size_t i = 0; i < state_->plan_.buckets.size(); ++i)
    all.push_back(state_->parts_of(i, state_->context_of(i).own_block(), nullptr));
  return all;
}

}  // namespace tutti::v0
