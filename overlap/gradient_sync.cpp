// What the program's thread calls.
#include <algorithm>
#include <numeric>
#include <utility>

#include <tutti/attempt.hpp>
#include <tutti/spi/catalog.hpp>
#include <tutti/spi/service_thread.hpp>

#include "arrays.hpp"
#include "base/all_or_none.hpp"
#include "bytes.hpp"
#include "gradient_state.hpp"

namespace tutti::v0 {
namespace {

/// Of groups that a GradientSync makes, so that they are none of the program's.
constexpr std::uint64_t kKey = 0x6772616473796e63;
constexpr std::uint64_t kKeyOfSeconds = kKey - 1;
constexpr std::uint64_t kKeyOfControl = kKey - 2;

/// A communicator of the same ranks whose operations end by themselves, and give the same bits on
/// all ranks.
Communicator copy_of(Communicator& group, std::uint64_t key) {
  CommunicatorOptions own = group.options();
  own.progress_thread = true;
  own.determinism = std::max(own.determinism, Determinism::rank_identical);
  return duplicate_for_host(group, own, key);
}

/// Throws Error{invalid_argument} where there is no such algorithm.
void check_algorithm(const Communicator& world, const std::string& name, bool on_stream) {
  if (name.empty() || (on_stream && name == "native")) return;
  const Catalog usual;
  const auto& given = world.options().catalog;
  static_cast<void>(parse_choice(given ? *given : usual, Collective::all_reduce, name));
}

}  // namespace

GradientSync::State::State(Communicator& world, std::span<const Parameter> parameters,
                           const GradientOptions& options)
    : parameters_{parameters.begin(), parameters.end()}, options_{options},
      operator_{options.average ? average : sum}, missing_(0), arrivals_(parameters.size()),
      is_accumulated_(parameters.size()), is_used_(parameters.size(), 1), kept_(parameters.size()),
      is_missing_(parameters.size()), missing_names_(parameters.size()),
      ready_times_(parameters.size()) {
  groups_.reserve(1 + options_.groups.size());  // calls hold the first while others come
  groups_.push_back(copy_of(world, kKey));
}

std::shared_ptr<GradientSync::State> GradientSync::State::make(
    Communicator& world, std::span<const Parameter> parameters, const GradientOptions& options) {
  const SoleCaller sole{world};
  std::shared_ptr<State> state;
  run_as_one(world, [&] {
    detail::all_or_none(detail::exchange_over(world, options.timeout),
                        [&] { state = std::make_shared<State>(world, parameters, options); });
  });
  try {
    run_as_one(state->groups_[0], [&] { state->begin(world, state); });
  } catch (...) {
    state->end();
    throw;
  }
  return state;
}

/// The collective part of the construction. @param self is this, for the own thread.
void GradientSync::State::begin(Communicator& world, const std::shared_ptr<State>& self) {
  detail::compare(groups_[0], [&] {
    detail::check_parameters(parameters_, options_);
    check_algorithm(world, options_.algorithm, options_.stream.is_some());
    detail::check_streams(world, parameters_, options_);
    return detail::describe(parameters_, options_);
  });
  options_.order = detail::order_of(options_);
  options_.state = detail::without_tied(options_.state);
  agree_on([&] {
    connect(world);
    std::vector<std::size_t> order = options_.known_order;
    is_observing_ = options_.order == GradientOrder::observed && order.empty();
    for (std::size_t i = parameters_.size(); order.size() < parameters_.size();)
      order.push_back(--i);
    adopt(order);
    start(self);
  });
  synchronized_ = Clock::now();
}

/// Makes the other communicators, which takes all ranks. Only those of groups have the GPU, and all
/// ranks reduce the same buckets there.
void GradientSync::State::connect(Communicator& world) {
  for (std::size_t i = 0; i < options_.groups.size(); ++i)
    groups_.push_back(copy_of(*options_.groups[i], kKey + 1 + i));
  const bool has_seconds = options_.on_shard || !options_.compression.empty();
  if (has_seconds && !options_.stream.is_some())
    for (Communicator& group : groups_) seconds_.push_back(copy_of(group, kKeyOfSeconds));
  if (is_negotiating()) control_ = copy_of(groups_[0], kKeyOfControl);
  if (!options_.stream.is_some()) return;
  for (std::size_t i = 0; i < groups_.size(); ++i) {
    Communicator& given = i == 0 ? world : *options_.groups[i - 1];
    attach_streams(groups_[i], streams_of(given)->divide(groups_[i]));
  }
  streams_ = std::make_unique<detail::GradientStreams>(groups_, options_.stream);
}

void GradientSync::State::adopt(std::span<const std::size_t> order) {
  // Where ranks see memory of each other, they read a bucket that is a copy, or an array of which
  // the program says that they see it.
  const bool is_copy_seen =
      streams_ ? streams_->are_seen() : groups_[0].allocate<std::byte>(1).is_visible();
  const detail::InPlace seen = streams_ ? detail::InPlace::none : detail::InPlace::visible;
  plan_ =
      detail::make_plan(parameters_, options_, order, is_copy_seen ? seen : detail::InPlace::all);
  missing_ = std::vector<std::atomic<std::uint32_t>>(plan_.buckets.size());
  agreeing_.resize(plan_.buckets.size());
  own_findings_.resize(plan_.buckets.size());
  shard_offsets_.clear();
  std::size_t owned = 0;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    const Communicator& ranks = ranks_of(i);
    shard_offsets_.push_back(owned);
    owned += detail::block_of(plan_.buckets[i].count, ranks.size(), ranks.rank()).count;
  }
  buffers_.clear();
  buffers_ = streams_ ? make_buffers_on_gpu() : make_buffers();
  make_reductions();
  reset();
}

/// Buckets are memory that peers see, where there is such memory: then what is copied there is
/// copied by nobody else.
std::vector<Buffer<std::byte>> GradientSync::State::make_buffers() {
  std::vector<Buffer<std::byte>> buffers;
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    const detail::Bucket& bucket = plan_.buckets[i];
    buffers.push_back(
        ranks_of(i).allocate<std::byte>(is_ours(bucket) ? bucket.count * size_of(bucket.type) : 0));
  }
  return buffers;
}

/// A plan that follows lies in the same memory, which the GPU may still be at work on: so nothing
/// need be waited for.
std::vector<Buffer<std::byte>> GradientSync::State::make_buffers_on_gpu() {
  if (!streams_->has_memory()) {
    std::vector<std::size_t> most(groups_.size());  // bytes by group, of whatever plan
    for (std::size_t i = 0; i < parameters_.size(); ++i)
      if (!parameters_[i].tied && is_ours(plan_.buckets[plan_.places[i].bucket]))
        most[parameters_[i].group] +=
            detail::GradientStreams::padded(parameters_[i].count * size_of(parameters_[i].type));
    streams_->allocate(most);
  }
  std::vector<std::uint32_t> groups;
  std::vector<std::size_t> bytes;
  for (const detail::Bucket& bucket : plan_.buckets) {
    groups.push_back(bucket.group);
    bytes.push_back(is_ours(bucket) ? bucket.count * size_of(bucket.type) : 0);
  }
  return streams_->divide(groups, bytes);
}

void GradientSync::State::make_reductions() {
  flights_.clear();
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i)
    flights_.push_back({.reduction = detail::make_reduction(context_of(i))});
}

detail::BucketContext GradientSync::State::context_of(std::size_t index) {
  const detail::Bucket& bucket = plan_.buckets[index];
  detail::BucketContext context{
      .first = &groups_[bucket.group],
      .second = seconds_.empty() ? nullptr : &seconds_[bucket.group],
      .memory = memory_of(index),
      .type = bucket.type,
      .is_visible = is_visible(index),
      .options = &options_,
      .streams = streams_.get(),
      // What observing changes would lose what codecs have kept.
      .is_compressed = !options_.compression.empty() && !is_observing_ &&
                       report_.step >= static_cast<std::uint64_t>(options_.compression_after),
      .op = &operator_,
      .findings = &own_findings_[index],
      .place = std::uint64_t{index} << 32 | static_cast<std::uint64_t>(groups_[0].rank())};
  for (const std::size_t i : bucket.parameters)
    context.places.push_back({.first = plan_.places[i].offset / size_of(bucket.type),
                              .rows = parameters_[i].rows,
                              .count = parameters_[i].count});
  if (options_.on_shard)
    context.shard = [this, index](const detail::Block& block, std::byte* own) {
      call_on_shard(index, block, own);
    };
  return context;
}

/// Peers see the program's memory only where it says so.
bool GradientSync::State::is_visible(std::size_t index) const {
  const detail::Bucket& bucket = plan_.buckets[index];
  if (is_ours(bucket)) return buffers_[index].is_visible();
  return std::ranges::all_of(bucket.parameters,
                             [this](std::size_t i) { return parameters_[i].visible; });
}

/// @param own where the block lies.
std::vector<ParameterShard> GradientSync::State::parts_of(std::size_t index,
                                                          const detail::Block& block,
                                                          std::byte* own) const {
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = size_of(bucket.type);
  std::vector<ParameterShard> parts;
  for (const std::size_t i : bucket.parameters) {
    const std::size_t begin = plan_.places[i].offset / bytes;
    const std::size_t from = std::max(begin, block.first);
    const std::size_t to = std::min(begin + parameters_[i].count, block.first + block.count);
    if (from < to)
      parts.push_back({.parameter = i,
                       .first = from - begin,
                       .count = to - from,
                       .data = own == nullptr ? nullptr : own + (from - block.first) * bytes,
                       .stream = own == nullptr ? Stream{} : stream(),
                       .offset = shard_offsets_[index] + from - block.first});
  }
  return parts;
}

/// Before a step begins.
void GradientSync::State::reset() noexcept {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    std::uint32_t missing = streams_ ? 1 : 0;
    for (const std::size_t p : plan_.buckets[i].parameters) missing += plan_.names[p];
    missing_[i].store(missing, std::memory_order_relaxed);
  }
  for (auto& arrival : arrivals_) arrival.store(0, std::memory_order_relaxed);
  for (auto& written : is_accumulated_) written.store(0, std::memory_order_relaxed);
  std::ranges::fill(is_used_, std::uint8_t{1});
  arrived_.store(0, std::memory_order_relaxed);
  next_report_ = {.step = report_.step + 1};
  std::ranges::fill(own_findings_, detail::Findings{});
  verdict_ = {};
  const std::lock_guard lock{mutex_};
  problem_.clear();
}

/// The order in which gradients became ready on rank 0 is that of all ranks from now on.
void GradientSync::State::rebuild() {
  is_observing_ = false;
  std::vector<std::size_t> order;
  agree_on([&] {
    order.resize(parameters_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return arrivals_[i].load(); });
  });
  groups_[0].broadcast(order, 0, call_options());
  agree_on([&] { adopt(order); });
}

/// The step must then be cut short.
void GradientSync::State::note_unmarked(const Error& cause) noexcept {
  note([&] {
    return std::string{"the stream cannot be followed, which ends GradientSync: "} + cause.what();
  });
}

void GradientSync::State::accumulated(std::size_t parameter) noexcept {
  if (parameter >= parameters_.size())
    return note([&] { return "there is no parameter " + std::to_string(parameter); });
  is_accumulated_[parameter].store(1, std::memory_order_relaxed);
}

void GradientSync::State::ready(std::size_t parameter) noexcept {
  if (parameter >= parameters_.size())
    return note([&] { return "there is no parameter " + std::to_string(parameter); });
  const std::uint32_t number =
      is_observing_ ? arrived_.fetch_add(1, std::memory_order_relaxed) + 1 : 1;
  if (arrivals_[parameter].exchange(number, std::memory_order_relaxed) != 0)
    return note([&] {
      return "parameter " + std::to_string(parameter) + " '" + parameters_[parameter].name +
             "' was ready twice";
    });
  if (options_.record > 0)
    ready_times_[parameter].store(Clock::now().time_since_epoch().count(),
                                  std::memory_order_relaxed);
  count_down(plan_.places[parameter].bucket);
}

/// One gradient fewer is missing. On a GPU the last one leaves one to its mark.
void GradientSync::State::count_down(std::size_t bucket) noexcept {
  const std::uint32_t before = missing_[bucket].fetch_sub(1, std::memory_order_acq_rel);
  if (before == 1) return wake();
  if (!streams_ || before > 2) return;
  const Result<void> outcome = detail::attempt([&] { streams_->mark(bucket); });
  if (!outcome) note_unmarked(outcome.error());
  missing_[bucket].store(0, std::memory_order_release);
  wake();
}

/// Else the sum would have a gradient of a rank that does not count for the mean.
void GradientSync::State::check_join() noexcept {
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (arrivals_[i].load() != 0 || is_accumulated_[i].load() != 0)
      return note([&] {
        return "parameter " + std::to_string(i) + " '" + parameters_[i].name +
               "' was ready when join was called, which takes part with zeros; call wait for the "
               "step whose gradients are ready, then join";
      });
}

/// A parameter with several names is used where one of them is.
void GradientSync::State::finish_missing(bool is_active) noexcept {
  std::ranges::fill(missing_names_, 0U);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    std::uint32_t none = 0;  // in an observed order the others follow, from last to first
    is_missing_[i] = arrivals_[i].compare_exchange_strong(none, ~static_cast<std::uint32_t>(i));
    if (is_missing_[i] == 0 || is_accumulated_[i].load(std::memory_order_relaxed) != 0) continue;
    const std::size_t owner = plan_.owners[i];
    if (++missing_names_[owner] == plan_.names[owner]) is_used_[owner] = 0;
    if (is_active && options_.unused == UnusedGradients::error)
      note([&] {
        return "parameter " + std::to_string(i) + " '" + parameters_[i].name +
               "' was not ready when wait was called; UnusedGradients says what else it may be";
      });
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (is_missing_[i] != 0) count_down(plan_.places[i].bucket);
}

const StepReport& GradientSync::State::wait(bool is_active) {
  check_failure();
  wait_began_ = Clock::now();
  is_active_ = is_active;
  if (!is_active && (options_.groups.size() > 0 || !options_.state.empty()))
    note([] {
      return "join is not for a GradientSync that has groups or state, which joined ranks do not "
             "keep";
    });
  if (!is_active) check_join();
  finish_missing(is_active);
  const std::uint32_t before = ended_.load(std::memory_order_acquire);
  asked_.fetch_add(1, std::memory_order_release);
  wake();
  ended_.wait(before, std::memory_order_acquire);
  check_failure();
  record_step();
  const std::optional<Error> error = std::exchange(step_error_, std::nullopt);
  prepare_next(!error);
  step_began_ = Clock::now();
  begun_.fetch_add(1, std::memory_order_release);
  wake();
  if (error) throw Error{*error};
  return report_;
}

/// Ranks agree on errors here too, since the others have taken the step.
void GradientSync::State::prepare_next(bool is_good) {
  try {
    const bool is_first_compressed =
        report_.step == static_cast<std::uint64_t>(options_.compression_after);
    if (is_first_compressed && !options_.compression.empty())
      agree_on([this] { make_reductions(); });
    if (is_observing_ && is_good) rebuild();
    else reset();
  } catch (...) {
    end_as_caught();
    check_failure();
  }
}

void GradientSync::State::synchronize(Duration timeout) {
  check_failure();
  if (!streams_) return;
  const Result<void> outcome = detail::attempt([&] { streams_->wait(timeout); });
  if (outcome) return;
  if (outcome.error().code() != ErrorCode::invalid_argument) {
    abort_streams(outcome.error());
    fail(outcome.error());
  }
  throw Error{outcome.error()};
}

}  // namespace tutti::v0
