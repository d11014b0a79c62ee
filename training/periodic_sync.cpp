
#include <tutti/attempt.hpp>
#include <tutti/spi/copy.hpp>
#include <tutti/training/periodic_sync.hpp>

#include "base/all_or_none.hpp"
#include "base/number_text.hpp"
#include "overlap/arrays.hpp"
#include "overlap/bucket_reduction.hpp"
#include "overlap/bytes.hpp"
#include "overlap/gradient_plan.hpp"

namespace tutti::v0 {
namespace {

constexpr detail::Occupancy::Words kPeriodicSyncWords{
    .object = "the PeriodicSync", .callbacks = "a callback", .instead = "", .otherwise = ""};

void check_options(const PeriodicOptions& options) {
  const auto expect = [](bool is_good, const std::string& text) {
    if (!is_good) throw Error{ErrorCode::invalid_argument, "PeriodicSync: " + text};
  };
  const OuterOptimizer outer = options.outer.value_or(OuterOptimizer{});
  expect(options.period >= 1,
         "period is " + std::to_string(options.period) + ", expected 1 or more");
  expect(outer.rate > 0,
         "the outer rate is " + detail::fixed_text(outer.rate) + ", expected above 0");
  expect(outer.momentum >= 0 && outer.momentum < 1,
         "the outer momentum is " + detail::fixed_text(outer.momentum) + ", expected 0 to below 1");
  expect(!options.exchange.on_bucket && !options.exchange.on_shard,
         "on_bucket and on_shard are for gradients");
  expect(!options.exchange.stream.is_some(),
         "GradientOptions::stream is for gradients; weights lie in memory of the host");
}

/// Collective: compares options. @return them, with PeriodicSync's own values.
PeriodicOptions agreed_options(Communicator& world, std::span<const Parameter> weights,
                               PeriodicOptions options) {
  detail::compare(world, [&] {
    check_options(options);
    const OuterOptimizer outer = options.outer.value_or(OuterOptimizer{.rate = 0});
    return "options: period " + std::to_string(options.period) + ", outer rate " +
           detail::fixed_text(outer.rate) + ", momentum " + detail::fixed_text(outer.momentum) +
           ", nesterov " + std::to_string(outer.nesterov) + "\n";
  });
  detail::compare_arrays(world, weights, options.exchange.groups.size());
  options.exchange.order = GradientOrder::reversed;
  options.exchange.storage = GradientStorage::views;
  options.exchange.unused = UnusedGradients::error;
  options.exchange.average = true;
  return options;
}

/// The changes of weights, as arrays in buckets.
std::vector<Parameter> movements_of(std::span<const Parameter> weights) {
  std::vector<Parameter> movements{weights.begin(), weights.end()};
  for (Parameter& movement : movements) movement.data = nullptr;
  return movements;
}

/// Calls a function with the elements of several arrays of one type and size.
template <class Function, class... Arrays>
void with_arrays(const Parameter& like, Function function, Arrays*... arrays) {
  detail::with_elements(like.type, nullptr, 0, [&](auto none) {
    using Element = typename decltype(none)::value_type;
    function(std::span{reinterpret_cast<Element*>(arrays), like.count}...);
  });
}

}  // namespace

PeriodicSync::PeriodicSync(Communicator& world, std::span<const Parameter> weights,
                           const PeriodicOptions& options) try
    : weights_{detail::without_tied(weights)}, options_{agreed_options(world, weights, options)},
      sync_{world, movements_of(weights_), options_.exchange} {
  sync_.broadcast_state(weights_);
  detail::all_or_none(detail::exchange_over(world, options_.exchange.timeout), [this] {
    for (const Parameter& weight : weights_) {
      const std::span<std::byte> bytes = detail::bytes_of(weight);
      copies_.emplace_back(bytes.begin(), bytes.end());
      const bool has_momentum = options_.outer && options_.outer->momentum > 0;
      momentum_.emplace_back(has_momentum ? bytes.size() : 0);
    }
  });
} catch (const Error&) {
  throw;
} catch (...) {
  throw fail_as_caught(world);
}

bool PeriodicSync::step() {
  const detail::Occupied call{occupancy_, kPeriodicSyncWords};
  if (++own_steps_ < options_.period) return false;
  exchange_weights();
  return true;
}

void PeriodicSync::exchange_now() {
  const detail::Occupied call{occupancy_, kPeriodicSyncWords};
  exchange_weights();
}

void PeriodicSync::exchange_weights() {
  sync_.synchronize();  // rejects a forked child, which has no buckets to write to
  own_steps_ = 0;
  for (std::size_t i = weights_.size(); i-- > 0;) {
    with_arrays(
        weights_[i],
        [](auto movement, auto before, auto now) {
          using Element = typename decltype(now)::value_type;
          for (std::size_t e = 0; e < now.size(); ++e)
            movement[e] =
                detail::narrowed<Element>(detail::exact(before[e]) - detail::exact(now[e]));
        },
        static_cast<std::byte*>(sync_.view(i)), copies_[i].data(),
        static_cast<std::byte*>(weights_[i].data));
    sync_.ready(i);
  }
  sync_.wait();
  const OuterOptimizer outer = options_.outer.value_or(OuterOptimizer{.rate = 1, .momentum = 0});
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    with_arrays(
        weights_[i],
        [&](auto movement, auto momentum, auto weights) {
          using Element = typename decltype(weights)::value_type;
          for (std::size_t e = 0; e < weights.size(); ++e) {
            double move = detail::exact(movement[e]);
            if (!momentum_[i].empty()) {
              const double kept = outer.momentum * detail::exact(momentum[e]) + move;
              momentum[e] = detail::narrowed<Element>(kept);
              move = outer.nesterov ? move + outer.momentum * kept : kept;
            }
            weights[e] = detail::narrowed<Element>(detail::exact(weights[e]) - outer.rate * move);
          }
        },
        static_cast<std::byte*>(sync_.view(i)), momentum_[i].data(), copies_[i].data());
    if (weights_[i].count > 0) copy_bytes(weights_[i].data, copies_[i].data(), copies_[i].size());
  }
}

std::vector<Parameter> PeriodicSync::state() {
  const detail::Occupied call{occupancy_, kPeriodicSyncWords};
  std::vector<Parameter> arrays;
  const auto add = [&](const std::string& head, std::size_t i, std::vector<std::byte>& bytes) {
    arrays.push_back(weights_[i]);
    arrays.back().name = head + weights_[i].name;
    arrays.back().data = bytes.data();
  };
  for (std::size_t i = 0; i < weights_.size(); ++i) {
    add("before:", i, copies_[i]);
    if (!momentum_[i].empty()) add("momentum:", i, momentum_[i]);
  }
  return arrays;
}

}  // namespace tutti::v0
