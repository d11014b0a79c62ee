// What the program's thread calls.
#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include <tutti/batch.hpp>
#include <tutti/spi/service_thread.hpp>

#include "gradient_state.hpp"

namespace tutti::inline v0 {
namespace {

/// Of groups that a GradientSync makes, so that they are none of the program's.
constexpr std::uint64_t kKey = 0x6772616473796e63;

std::vector<Communicator> copies_of(Communicator& world, const GradientOptions& options) {
  std::vector<Communicator> copies;
  const auto add = [&](Communicator& group, std::uint64_t key) {
    CommunicatorOptions own = group.options();
    own.progress_thread = true;
    copies.push_back(group.duplicate(own, key));
  };
  add(world, kKey);
  for (std::size_t i = 0; i < options.groups.size(); ++i) {
    if (options.groups[i] == nullptr)
      throw Error{ErrorCode::invalid_argument, "GradientSync: a group is null"};
    add(*options.groups[i], kKey + 1 + i);
  }
  return copies;
}

std::span<std::byte> bytes_of(const Parameter& array) {
  return {static_cast<std::byte*>(array.data), array.count * size_of(array.type)};
}

}  // namespace

GradientSync::State::State(Communicator& world, std::span<const Parameter> parameters,
                           const GradientOptions& options)
    : parameters_{parameters.begin(), parameters.end()}, options_{options},
      groups_{copies_of(world, options)}, operator_{options.average ? average : sum}, missing_(0),
      is_ready_(parameters.size()), is_used_(parameters.size(), 1), arrivals_(parameters.size()) {
  std::string own;
  try {
    detail::check_parameters(parameters_, options_);
    own = detail::describe(parameters_, options_);
  } catch (const Error& error) {
    own = error.what();
    own += "\n";
    detail::compare(groups_[0], own);  // where all are wrong alike, each says so itself
    throw;
  }
  detail::compare(groups_[0], own);
  is_observing_ = options_.order == GradientOrder::observed;
  adopt(detail::make_plan(parameters_, options_, detail::reversed_order(parameters_.size())));
  thread_ = start_service_thread("tutti-gradients", [this] { run(); });
}

GradientSync::State::~State() {
  is_over_.store(1, std::memory_order_release);
  wake();
  thread_.join();
}

/// Buckets are memory that peers see, where there is such memory.
void GradientSync::State::adopt(const detail::GradientPlan& plan) {
  plan_ = plan;
  buffers_.clear();
  blocks_.clear();
  reductions_.clear();
  reductions_.resize(plan_.buckets.size());
  missing_ = std::vector<std::atomic<std::uint32_t>>(plan_.buckets.size());
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    const detail::Bucket& bucket = plan_.buckets[i];
    Communicator& ranks = ranks_of(i);
    if (options_.storage != GradientStorage::flat)
      buffers_.push_back(ranks.allocate<std::byte>(bucket.count * size_of(bucket.type)));
    const auto size = static_cast<std::size_t>(ranks.size());
    std::vector<std::size_t>& blocks = blocks_.emplace_back(size, bucket.count / size);
    for (std::size_t rank = 0; rank < bucket.count % size; ++rank) ++blocks[rank];
  }
  reset();
}

/// Before a step begins.
void GradientSync::State::reset() noexcept {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    missing_[i].store(static_cast<std::uint32_t>(plan_.buckets[i].parameters.size()),
                      std::memory_order_relaxed);
  for (auto& is_ready : is_ready_) is_ready.store(0, std::memory_order_relaxed);
  std::ranges::fill(is_used_, std::uint8_t{1});
  arrived_.store(0, std::memory_order_relaxed);
  communicating_ = Duration::zero();
  norm_squared_ = not_finite_ = 0;
  problem_.clear();
}

/// The order in which gradients became ready on rank 0 is that of all ranks from now on.
void GradientSync::State::rebuild() {
  is_observing_ = false;
  std::vector<std::uint32_t> order(parameters_.size());
  const std::size_t arrived = std::min<std::size_t>(arrived_, order.size());
  std::vector<bool> is_listed(order.size(), false);
  std::size_t count = 0;
  for (std::size_t i = 0; i < arrived; ++i) {
    const std::uint32_t index = arrivals_[i].load(std::memory_order_relaxed);
    if (is_listed[index]) continue;
    is_listed[index] = true;
    order[count++] = index;
  }
  for (std::size_t i = order.size(); i-- > 0;)  // those that were not used
    if (!is_listed[i]) order[count++] = static_cast<std::uint32_t>(i);
  groups_[0].broadcast(order, 0, call_options());
  adopt(detail::make_plan(parameters_, options_,
                          std::vector<std::size_t>{order.begin(), order.end()}));
}

void GradientSync::State::check_failure() const {
  if (has_failed_.load(std::memory_order_acquire)) throw Error{*failure_};
}

void GradientSync::State::note(std::string problem) noexcept {
  const std::lock_guard lock{mutex_};
  if (problem_.empty()) problem_ = std::move(problem);
}

void GradientSync::State::broadcast_state(std::span<const Parameter> arrays, Rank root) {
  check_failure();
  detail::compare(groups_[0], detail::describe(arrays, {}));
  batch([&] {
    for (const Parameter& array : arrays) groups_[0].broadcast(bytes_of(array), root);
  });
}

void GradientSync::State::average_buffers(std::span<const Parameter> arrays) {
  check_failure();
  detail::compare(groups_[0], detail::describe(arrays, {}));
  batch([&] {
    for (const Parameter& array : arrays)
      groups_[0].run({.collective = Collective::all_reduce,
                      .in = array.data,
                      .out = array.data,
                      .in_count = array.count,
                      .out_count = array.count,
                      .type = array.type,
                      .element_bytes = size_of(array.type),
                      .op = &average});
  });
}

void* GradientSync::State::view(std::size_t parameter) const noexcept {
  if (options_.storage != GradientStorage::views || parameter >= parameters_.size()) return nullptr;
  const detail::Placed& place = plan_.places[parameter];
  // The elements are the program's to write; only the handle is const here.
  return const_cast<std::byte*>(buffers_[place.bucket].data()) + place.offset;
}

void GradientSync::State::ready(std::size_t parameter) noexcept {
  if (parameter >= parameters_.size())
    return note("there is no parameter " + std::to_string(parameter));
  if (is_ready_[parameter].exchange(1, std::memory_order_relaxed) != 0)
    return note("parameter " + std::to_string(parameter) + " '" + parameters_[parameter].name +
                "' was ready twice");
  if (is_observing_)
    arrivals_[arrived_.fetch_add(1, std::memory_order_relaxed)].store(
        static_cast<std::uint32_t>(parameter), std::memory_order_relaxed);
  if (missing_[plan_.places[parameter].bucket].fetch_sub(1, std::memory_order_acq_rel) == 1) wake();
}

void GradientSync::State::finish_missing(bool is_active) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (is_ready_[i].load(std::memory_order_relaxed) != 0) continue;
    is_used_[i] = 0;
    if (is_active && options_.unused == UnusedGradients::error)
      note("parameter " + std::to_string(i) + " '" + parameters_[i].name +
           "' was not ready when wait was called; UnusedGradients says what else it may be");
    if (missing_[plan_.places[i].bucket].fetch_sub(1, std::memory_order_acq_rel) == 1) wake();
  }
}

const StepReport& GradientSync::State::wait(bool is_active) {
  check_failure();
  wait_began_ = Clock::now();
  is_active_ = is_active;
  if (!is_active && options_.on_bucket) note("join is not for a GradientSync that has on_bucket");
  finish_missing(is_active);
  const std::uint32_t before = ended_.load(std::memory_order_acquire);
  asked_.fetch_add(1, std::memory_order_release);
  wake();
  ended_.wait(before, std::memory_order_acquire);
  check_failure();
  const std::optional<Error> error = std::exchange(step_error_, std::nullopt);
  try {
    if (is_observing_ && !error) rebuild();
    else reset();
  } catch (const Error& failure) {
    fail(failure);
    throw;
  }
  step_began_ = Clock::now();
  begun_.fetch_add(1, std::memory_order_release);
  wake();
  if (error) throw Error{*error};
  return report_;
}

std::uint64_t GradientSync::State::join() {
  for (std::uint64_t steps = 0;; ++steps)
    if (wait(false).active == 0) return steps;
}

GradientSync::GradientSync(Communicator& world, std::span<const Parameter> parameters,
                           const GradientOptions& options)
    : state_{std::make_unique<State>(world, parameters, options)} {}
GradientSync::GradientSync(GradientSync&&) noexcept = default;
GradientSync& GradientSync::operator=(GradientSync&&) noexcept = default;
GradientSync::~GradientSync() = default;

void GradientSync::broadcast_state(std::span<const Parameter> arrays, Rank root) {
  state_->broadcast_state(arrays, root);
}
void GradientSync::average_buffers(std::span<const Parameter> arrays) {
  state_->average_buffers(arrays);
}
void* GradientSync::view(std::size_t parameter) const noexcept {
  return state_->view(parameter);
}
void GradientSync::ready(std::size_t parameter) noexcept {
  state_->ready(parameter);
}
const StepReport& GradientSync::wait() {
  return state_->wait(true);
}
std::uint64_t GradientSync::join() {
  return state_->join();
}
const StepReport& GradientSync::last_step() const noexcept {
  return state_->last_step();
}
std::vector<std::vector<std::size_t>> GradientSync::buckets() const {
  std::vector<std::vector<std::size_t>> all;
  for (const detail::Bucket& bucket : state_->plan().buckets) all.push_back(bucket.parameters);
  return all;
}
std::uint64_t GradientSync::plan_hash() const noexcept {
  return state_->plan().hash;
}

}  // namespace tutti::inline v0
