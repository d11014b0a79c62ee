// The steps of a GradientSync, from its construction to its end.
#include "gradient_state.hpp"

#include <new>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/batch.hpp>
#include <tutti/spi/service_thread.hpp>

#include "arrays.hpp"
#include "base/all_or_none.hpp"
#include "bytes.hpp"

namespace tutti::v0 {
namespace {

constexpr detail::Occupancy::Words kGradientSyncWords{
    .object = "the GradientSync",
    .callbacks = "on_bucket or on_shard",
    .instead = "",
    .otherwise = "; only ready may be called by several"};

}  // namespace

std::shared_ptr<GradientSync::State> GradientSync::State::make(
    Communicator& world, std::span<const Parameter> parameters, const GradientOptions& options) {
  const SoleCaller sole{world};
  std::shared_ptr<State> state;
  run_as_one(world, [&] {
    detail::all_or_none(detail::exchange_over(world, options.timeout),
                        [&] { state = std::make_shared<State>(world, parameters, options); });
  });
  try {
    run_as_one(state->setup_.all_ranks(), [&] { state->begin(world, state); });
  } catch (...) {
    state->end();
    throw;
  }
  return state;
}

/// The collective part of the construction. @param self is this, for the own thread.
void GradientSync::State::begin(Communicator& world, const std::shared_ptr<State>& self) {
  setup_.check(world);
  setup_.all_or_none([&] {
    setup_.connect(world);
    std::vector<std::size_t> order = setup_.options.known_order;
    readiness_.observe(setup_.options.order == GradientOrder::observed && order.empty());
    for (std::size_t i = setup_.parameters.size(); order.size() < setup_.parameters.size();)
      order.push_back(--i);
    adopt(order);
    start(self);
  });
  reporter_.synchronize();
}

void GradientSync::State::adopt(std::span<const std::size_t> order) {
  buckets_.adopt(order);
  readiness_.adopt_plan();
  make_reductions();
  reset();
}

/// Compresses nothing while an order is observed, since the next plan would lose the codecs' state.
void GradientSync::State::make_reductions() {
  const auto after = static_cast<std::uint64_t>(setup_.options.compression_after);
  step_.make_reductions(!setup_.options.compression.empty() && !readiness_.is_observing() &&
                        reporter_.report().step >= after);
}

/// To be called before each step.
void GradientSync::State::reset() noexcept {
  readiness_.reset();
  reporter_.reset();
  step_.reset();
  problem_.clear();
}

/// @param self is this, which the own thread keeps.
void GradientSync::State::start(std::shared_ptr<State> self) {
  thread_ = start_service_thread("tutti-gradients", [state = std::move(self)] { state->run(); });
}

/// Throws if a call is not allowed.
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

/// Throws within a step, in which buckets use the communicators that the call needs.
void GradientSync::State::check_between_steps(const char* call) const {
  check_failure();
  if (const std::optional<std::size_t> first = readiness_.first_ready())
    throw Error{ErrorCode::invalid_argument,
                std::string{"GradientSync: "} + call +
                    " is called within a step, since parameter " +
                    setup_.name_of_parameter(*first) +
                    " is ready; call it before the first ready or after wait"};
}

/// A call that is made of collectives.
void GradientSync::State::run_between_steps(const char* call,
                                            const std::function<void()>& collectives) {
  check_between_steps(call);
  run_as_one(setup_.all_ranks(), collectives);
}

const StepReport& GradientSync::State::wait(bool is_active) {
  check_failure();
  reporter_.begin_wait();
  if (!is_active && (!setup_.options.groups.empty() || !setup_.options.state.empty()))
    problem_.note([] {
      return "join is not for a GradientSync that has groups or state, which joined ranks do not "
             "keep";
    });
  if (!is_active) readiness_.check_join();
  readiness_.complete(is_active);
  handover_.wait(is_active);
  check_failure();
  reporter_.record(readiness_);
  const std::optional<Error> error = std::exchange(step_error_, std::nullopt);
  prepare_next(!error);
  reporter_.begin_step();
  handover_.begin_next();
  if (error) throw Error{*error};
  return reporter_.report();
}

/// Ranks agree on errors here, since no rank can undo the step.
void GradientSync::State::prepare_next(bool is_good) {
  try {
    const bool is_first_compressed =
        reporter_.report().step == static_cast<std::uint64_t>(setup_.options.compression_after);
    if (is_first_compressed && !setup_.options.compression.empty())
      setup_.all_or_none([this] { make_reductions(); });
    if (readiness_.is_observing() && is_good) rebuild();
    else reset();
  } catch (...) {
    fail_as_caught_here();
    check_failure();
  }
}

/// Makes the order in which gradients became ready on rank 0 that of all ranks.
void GradientSync::State::rebuild() {
  readiness_.observe(false);
  std::vector<std::size_t> order;
  setup_.all_or_none([&] { order = readiness_.arrival_order(); });
  setup_.all_ranks().broadcast(order, 0, setup_.call_options());
  setup_.all_or_none([&] { adopt(order); });
}

void GradientSync::State::synchronize(Duration timeout) {
  check_failure();
  if (!setup_.streams) return;
  const Result<void> outcome = detail::attempt([&] { setup_.streams->wait(timeout); });
  if (outcome) return;
  if (outcome.error().code() != ErrorCode::invalid_argument) {
    abort_streams(outcome.error());
    fail(outcome.error());
  }
  throw Error{outcome.error()};
}

/// Checks the arrays of a call. @return each array once.
std::vector<Parameter> GradientSync::State::checked_arrays(std::span<const Parameter> arrays) {
  check_failure();
  detail::compare_arrays(setup_.all_ranks(), arrays, setup_.options.groups.size(), [&] {
    if (setup_.streams) detail::check_on_device(setup_.all_ranks(), arrays, setup_.options.stream);
  });
  return detail::without_tied(arrays);
}

void GradientSync::State::broadcast_arrays(std::span<const Parameter> arrays, Rank root) {
  batch([&] {
    for (const Parameter& array : arrays)
      setup_.groups[array.group].broadcast(detail::bytes_of(array), root,
                                           {.stream = setup_.options.stream});
  });
}

/// Ends the own thread: at once, or if this is the own thread, after it returns from a callback.
void GradientSync::State::end() noexcept {
  handover_.end();
  if (is_own_thread()) thread_.detach();
  else if (thread_.joinable()) thread_.join();
}

void GradientSync::State::end(std::shared_ptr<State> state) noexcept {
  if (state == nullptr) return;
  if (state->guard_.is_forked()) {  // the thread and the connections belong to the parent
    static_cast<void>(new auto(std::move(state)));
    return;
  }
  if (state->is_own_thread()) state->step_.destroy();
  state->end();
}

void GradientSync::State::run() noexcept {
  own_of_thread = this;
  borrow_interrupt(handover_.interrupt());
  bool is_cut_off = false;  // in the midst of a step
  const auto is_begun = [this](std::uint32_t step) {
    return handover_.await([&] { return handover_.is_begun(step); });
  };
  for (std::uint32_t step = 1; !has_failed_ && is_begun(step); ++step) {
    try {
      // The program's functions, which this thread calls, then find the GPU.
      if (setup_.streams && step == 1) setup_.streams->adopt_thread();
      if (!step_.reduce_all(step)) {
        is_cut_off = !step_.sequence().empty();
        break;
      }
      end_step();
    } catch (...) {
      fail_as_caught_here();
    }
    if (has_failed_ && !handover_.await([&] { return handover_.is_awaited(step); })) break;
    handover_.end_step();
  }
  if (!has_failed_ && !is_restoring_) {
    const Error cause{ErrorCode::aborted, "it has ended"};  // short: it needs no memory
    if (is_cut_off) abort_streams(cause);
    fail(cause);
  }
  handover_.end_step();  // for a call that still waits
}

void GradientSync::State::end_step() {
  Communicator& world = setup_.all_ranks();
  const GradientOptions& options = setup_.options;
  detail::StepOutcome ending{static_cast<std::size_t>(world.size())};
  reporter_.begin_report();
  StepReport& report = reporter_.report();
  const bool verifies = reporter_.is_every(options.verify_every);
  step_.complete(verifies || detail::is_inspected(options));
  if (verifies && !step_.is_cut_short()) checks_.verify();
  const detail::Findings& findings = step_.verdict().findings();
  // Small, so that sums of squares are exact.
  const auto step = static_cast<double>(report.step % (1U << 20));
  ending.step() = step;
  ending.step_squared() = step * step;
  ending.problems() = problem_.exists() ? 1 : 0;
  ending.not_finite() = options.check_finite ? findings.not_finite : 0;
  ending.active() = handover_.is_active() ? 1 : 0;
  ending.norm_squared() = findings.squares;
  ending.hash() = findings.hash;
  ending.cut_short() = step_.is_cut_short() ? 1 : 0;
  ending.callbacks() = options.on_bucket || options.on_shard ? 1 : 0;
  ending.arrivals()[static_cast<std::size_t>(world.rank())] = reporter_.seconds_to_wait();
  world.all_reduce(ending.sums, sum, setup_.call_options());
  reporter_.synchronize();
  step_error_ = checks_.error_of(ending, step_, report);
  if (ending.cut_short() > 0) {  // ranks wait on their GPUs for each other
    abort_streams(*step_error_);
    return fail(*step_error_);
  }
  const double factor = ending.mean_factor(options.average);
  if (factor != 1 && !step_error_) step_.rescale(factor);
  reporter_.end_report(ending, buckets_, step_.sequence());
  if (reporter_.is_every(options.resync_every) && report.active == world.size())
    broadcast_arrays(options.state, 0);
  if (setup_.streams) setup_.streams->hold_program();
}

void GradientSync::State::check_failure() const {
  if (has_failed_.load(std::memory_order_acquire)) throw Error{*failure_};
}

void GradientSync::State::fail(const Error& cause) noexcept {
  try {
    failure_ = cause;
  } catch (...) {
    failure_.emplace(cause.code(), "out of memory");  // short: it needs no memory
  }
  has_failed_.store(true, std::memory_order_release);
}

/// Fails because of the exception that is being handled. The communicators fail on the other ranks,
/// which wait for this one.
void GradientSync::State::fail_as_caught_here() noexcept {
  abort_streams(detail::attempt([] { throw; }).error());
  Error cause = fail_as_caught(setup_.all_ranks());
  for (std::vector<Communicator>* const communicators : {&setup_.groups, &setup_.seconds})
    for (Communicator& communicator : *communicators)
      static_cast<void>(fail_as_caught(communicator));
  if (setup_.control) static_cast<void>(fail_as_caught(*setup_.control));
  fail(located(std::move(cause)));
}

/// @return the cause, with the step and the bucket that this rank waited for.
Error GradientSync::State::located(Error cause) const noexcept {
  try {
    std::string where = "GradientSync: step " + std::to_string(reporter_.step());
    if (const std::optional<std::size_t> bucket = step_.awaited()) {
      const std::vector<std::size_t>& parameters = buckets_[*bucket].parameters;
      where += ", bucket " + std::to_string(*bucket) + " (parameter " +
               setup_.name_of_parameter(parameters.front());
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
