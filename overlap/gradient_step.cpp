// A step: what the thread of a GradientSync does.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <utility>

#include "gradient_state.hpp"

namespace tutti::inline v0 {
namespace {

/// Calls a function with elements of their type.
template <class Function>
void with_elements(Datatype type, std::byte* data, std::size_t count, Function function) {
  switch (type) {
    case Datatype::f16: return function(std::span{reinterpret_cast<Float16*>(data), count});
    case Datatype::bf16: return function(std::span{reinterpret_cast<BFloat16*>(data), count});
    case Datatype::f64: return function(std::span{reinterpret_cast<double*>(data), count});
    default: return function(std::span{reinterpret_cast<float*>(data), count});
  }
}

template <class T>
double exact(const T& element) {
  if constexpr (std::is_same_v<T, double>) return element;
  else return static_cast<float>(element);
}

template <class T>
T scaled(const T& element, double factor) {
  if constexpr (std::is_same_v<T, double>) return element * factor;
  else return T{static_cast<float>(static_cast<float>(element) * factor)};
}

/// FNV-1a (Fowler, Noll, Vo), of words instead of bytes.
std::uint64_t hash_of(std::span<const std::byte> bytes) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, std::min(sizeof word, bytes.size() - i));
    hash = (hash ^ word) * 0x100000001b3;
  }
  return hash;
}

}  // namespace

/// One small all_reduce has all that must be agreed.
struct GradientSync::State::Ending {
  static constexpr std::size_t kWords = 6;
  std::vector<double> sums;

  Ending(std::size_t ranks, std::size_t parameters) : sums(kWords + ranks + parameters) {}
  double& step() { return sums[0]; }
  double& step_squared() { return sums[1]; }
  double& problems() { return sums[2]; }
  double& not_finite() { return sums[3]; }
  double& active() { return sums[4]; }
  double& norm_squared() { return sums[5]; }
  double& waited(std::size_t rank) { return sums[kWords + rank]; }
  [[nodiscard]] std::span<const double> waits(std::size_t ranks) const {
    return std::span{sums}.subspan(kWords, ranks);
  }
  double& used(std::size_t ranks, std::size_t parameter) {
    return sums[kWords + ranks + parameter];
  }
};

std::span<std::byte> GradientSync::State::memory_of(std::size_t index) noexcept {
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = bucket.count * size_of(bucket.type);
  if (options_.storage != GradientStorage::flat) return {buffers_[index].data(), bytes};
  return {static_cast<std::byte*>(parameters_[bucket.parameters.front()].data), bytes};
}

/// In place. Ranks of a bucket pass the same kind of memory.
Call GradientSync::State::call_on(std::size_t index, Collective collective) noexcept {
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::span<std::byte> memory = memory_of(index);
  const std::size_t bytes = size_of(bucket.type);
  Call call{.collective = collective,
            .in = memory.data(),
            .out = memory.data(),
            .in_count = bucket.count,
            .out_count = bucket.count,
            .type = bucket.type,
            .element_bytes = bytes,
            .op = &operator_,
            .visible = options_.storage != GradientStorage::flat && buffers_[index].is_visible()};
  if (collective == Collective::all_reduce) return call;
  const auto self = static_cast<std::size_t>(ranks_of(index).rank());
  const std::vector<std::size_t>& blocks = blocks_[index];
  const std::size_t before = std::accumulate(
      blocks.begin(), blocks.begin() + static_cast<std::ptrdiff_t>(self), std::size_t{0});
  std::byte* const own = memory.data() + before * bytes;
  if (collective == Collective::reduce_scatter) {
    call.out = own;
    call.out_count = blocks[self];
  } else {
    call.in = own;
    call.in_count = blocks[self];
    call.op = nullptr;
  }
  return call;
}

/// Sleeps until something holds. @return whether it does, and the end has not come.
template <class Condition>
bool GradientSync::State::await(Condition condition) noexcept {
  for (;;) {
    const std::uint32_t seen = signal_.load(std::memory_order_acquire);
    if (is_over_.load(std::memory_order_acquire) != 0) return false;
    if (condition()) return true;
    signal_.wait(seen, std::memory_order_acquire);
  }
}

void GradientSync::State::run() noexcept {
  for (std::uint32_t step = 1; await([&] { return begun_ >= step; }); ++step) {
    try {
      if (!reduce_all(step)) return;
      end_step();
    } catch (const Error& error) {
      fail(error);
    } catch (const std::exception& error) {
      fail({ErrorCode::transport, error.what()});
    }
    if (has_failed_ && !await([&] { return asked_ >= step; })) return;
    ended_.fetch_add(1, std::memory_order_release);
    ended_.notify_all();
    if (has_failed_) return;
  }
}

/// @return whether all buckets were reduced, and wait was called.
bool GradientSync::State::reduce_all(std::uint32_t step) {
  const std::size_t count = plan_.buckets.size();
  // The two halves of a reduction stand between those of its neighbours on all ranks, whenever
  // gradients are ready there.
  const std::size_t most = has_midpoint() ? 1 : static_cast<std::size_t>(options_.in_flight);
  std::size_t next = 0;
  for (std::size_t done = 0; done < count;) {
    while (next < count && next - done < most &&
           missing_[next].load(std::memory_order_acquire) == 0)
      launch(next++);
    if (done == next) {
      if (!await([&] { return missing_[next] == 0; })) return false;
      continue;
    }
    finish_bucket(done++);
  }
  return await([&] { return asked_ >= step; });
}

void GradientSync::State::copy_in(std::size_t index) noexcept {
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::size_t bytes = size_of(bucket.type);
  std::byte* const memory = memory_of(index).data();
  for (const std::size_t i : bucket.parameters) {
    std::byte* const place = memory + plan_.places[i].offset;
    if (is_used_[i] == 0) std::memset(place, 0, parameters_[i].count * bytes);
    else if (options_.storage == GradientStorage::copies && parameters_[i].count > 0)
      std::memcpy(place, parameters_[i].data, parameters_[i].count * bytes);
  }
}

void GradientSync::State::launch(std::size_t index) {
  copy_in(index);
  Reduction& reduction = reductions_[index];
  reduction.begun = Clock::now();
  Options options = call_options();
  if (has_midpoint()) options.counts = blocks_[index];
  reduction.request = ranks_of(index).async().run(
      call_on(index, has_midpoint() ? Collective::reduce_scatter : Collective::all_reduce),
      options);
}

/// The progress thread goes on with it, so this one sleeps, unless it takes no time. It leaves
/// where the GradientSync ends.
void GradientSync::State::finish(Request& request) {
  constexpr int kPolls = 50;
  constexpr std::chrono::microseconds kSleep{20};
  for (int polls = 0; !request.test(); ++polls) {
    if (is_over_.load(std::memory_order_acquire) != 0)
      throw Error{ErrorCode::aborted, "the GradientSync ended in the midst of a step"};
    if (polls > kPolls) std::this_thread::sleep_for(kSleep);
  }
}

void GradientSync::State::finish_bucket(std::size_t index) {
  Reduction& reduction = reductions_[index];
  finish(reduction.request);
  if (has_midpoint()) {
    pass_midpoint(index);
    Options options = call_options();
    options.counts = blocks_[index];
    reduction.request =
        ranks_of(index).async().run(call_on(index, Collective::all_gather), options);
    finish(reduction.request);
  }
  const Clock::time_point now = Clock::now();
  communicating_ += now - std::max(reduction.begun, last_finished_);
  last_finished_ = now;
  if (is_detecting()) return;
  copy_out(index);
  call_back(index);
}

/// Each rank looks at its block only, between the two halves of the reduction.
void GradientSync::State::pass_midpoint(std::size_t index) {
  const Call call = call_on(index, Collective::reduce_scatter);
  with_elements(call.type, static_cast<std::byte*>(call.out), call.out_count, [&](auto elements) {
    double squares = 0;
    for (const auto& element : elements) squares += exact(element) * exact(element);
    norm_squared_ += squares;
    if (std::isfinite(squares)) return;
    for (const auto& element : elements) not_finite_ += std::isfinite(exact(element)) ? 0 : 1;
  });
}

void GradientSync::State::copy_out(std::size_t index) {
  if (options_.storage != GradientStorage::copies) return;
  const detail::Bucket& bucket = plan_.buckets[index];
  const std::byte* const memory = memory_of(index).data();
  for (const std::size_t i : bucket.parameters)
    if (parameters_[i].count > 0)
      std::memcpy(parameters_[i].data, memory + plan_.places[i].offset,
                  parameters_[i].count * size_of(bucket.type));
}

void GradientSync::State::call_back(std::size_t index) noexcept {
  if (!options_.on_bucket) return;
  try {
    options_.on_bucket({.index = index,
                        .parameters = plan_.buckets[index].parameters,
                        .is_last = index + 1 == plan_.buckets.size()});
  } catch (const std::exception& error) {
    note(std::string{"on_bucket threw: "} + error.what());
  } catch (...) {
    note("on_bucket threw an exception of unknown type");
  }
}

void GradientSync::State::end_step() {
  Communicator& world = groups_[0];
  const auto ranks = static_cast<std::size_t>(world.size());
  Ending ending{ranks, is_detecting() ? parameters_.size() : 0};
  ++report_.step;
  if (options_.verify_every > 0 &&
      report_.step % static_cast<std::uint64_t>(options_.verify_every) == 0)
    verify();
  const auto step = static_cast<double>(report_.step);
  ending.step() = step;
  ending.step_squared() = step * step;
  {
    const std::lock_guard lock{mutex_};
    ending.problems() = problem_.empty() ? 0 : 1;
  }
  ending.not_finite() = options_.check_finite ? not_finite_ : 0;
  ending.active() = is_active_ ? 1 : 0;
  ending.norm_squared() = norm_squared_;
  ending.waited(static_cast<std::size_t>(world.rank())) =
      std::chrono::duration<double>(Clock::now() - wait_began_).count();
  for (std::size_t i = 0; is_detecting() && i < parameters_.size(); ++i)
    ending.used(ranks, i) = is_used_[i];
  Request request = world.async().all_reduce(ending.sums, sum, {.timeout = options_.timeout});
  finish(request);
  const double size = world.size();
  if (ending.step_squared() * size != ending.step() * ending.step())
    note("ranks are at different steps; this one is at step " + std::to_string(report_.step));
  const bool is_other_step = ending.step_squared() * size != ending.step() * ending.step();
  step_error_ = agreed_problem(is_other_step ? size : ending.problems(), ending.not_finite());
  report_step(ending);
}

/// The same on all ranks.
std::optional<Error> GradientSync::State::agreed_problem(double problems, double not_finite) {
  const std::string head = "GradientSync: step " + std::to_string(report_.step) + " is void: ";
  if (problems > 0) {
    std::string own;
    {
      const std::lock_guard lock{mutex_};
      own = problem_;
    }
    const Gathered<char> all =
        groups_[0].all_gatherv(own, with_counts, {.timeout = options_.timeout});
    for (Rank rank = 0; rank < groups_[0].size(); ++rank)
      if (!all[rank].empty())
        return Error{ErrorCode::invalid_argument,
                     head + "on rank " + std::to_string(rank) + " " +
                         std::string{all[rank].begin(), all[rank].end()},
                     rank};
  }
  if (not_finite > 0)
    return Error{ErrorCode::invalid_argument,
                 head + std::to_string(static_cast<std::uint64_t>(not_finite)) +
                     " reduced gradients are infinite or no numbers"};
  return std::nullopt;
}

void GradientSync::State::report_step(const Ending& ending) {
  Ending sums = ending;
  const auto ranks = static_cast<std::size_t>(groups_[0].size());
  report_.active = static_cast<int>(sums.active());
  report_.norm = std::sqrt(sums.norm_squared());
  if (is_detecting())
    for (std::size_t bucket = 0; bucket < plan_.buckets.size(); ++bucket) {
      for (const std::size_t i : plan_.buckets[bucket].parameters)
        if (sums.used(ranks, i) > 0 && options_.storage == GradientStorage::copies &&
            parameters_[i].count > 0)
          std::memcpy(parameters_[i].data, memory_of(bucket).data() + plan_.places[i].offset,
                      parameters_[i].count * size_of(parameters_[i].type));
      call_back(bucket);
    }
  if (options_.average && report_.active > 0 && report_.active < groups_[0].size()) {
    const double factor = static_cast<double>(groups_[0].size()) / report_.active;
    rescale(factor);
    report_.norm *= factor;
  }
  const std::span<const double> waits = sums.waits(ranks);
  const auto [least, most] = std::ranges::minmax_element(waits);
  report_.last = static_cast<Rank>(least - waits.begin());
  report_.skew =
      std::chrono::duration_cast<Duration>(std::chrono::duration<double>{*most - *least});
  report_.computing = wait_began_ - step_began_;
  report_.exposed = Clock::now() - wait_began_;
  report_.communicating = communicating_;
  const double busy = std::chrono::duration<double>(communicating_).count();
  const double exposed = std::chrono::duration<double>(report_.exposed).count();
  report_.hidden = busy > 0 ? std::clamp(1 - exposed / busy, 0.0, 1.0) : 1;
}

/// Where not all ranks take part the mean is over those that do.
void GradientSync::State::rescale(double factor) {
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    auto* const data = static_cast<std::byte*>(
        options_.storage == GradientStorage::views ? view(i) : parameter.data);
    with_elements(parameter.type, data, parameter.count, [factor](auto elements) {
      for (auto& element : elements) element = scaled(element, factor);
    });
  }
}

/// Compares what ranks got. A difference is one of a bit that fell over, or of a bug.
void GradientSync::State::verify() {
  for (std::size_t i = 0; i < plan_.buckets.size(); ++i) {
    Communicator& ranks = ranks_of(i);
    const auto hashes = ranks.all_gather(hash_of(memory_of(i)), {.timeout = options_.timeout});
    const auto odd = std::ranges::find_if(hashes, [&](std::uint64_t hash) {
      return std::ranges::count(hashes, hash) * 2 <= ranks.size();
    });
    if (std::ranges::all_of(hashes, [&](std::uint64_t hash) { return hash == hashes[0]; }))
      continue;
    std::string names;
    for (const std::size_t p : plan_.buckets[i].parameters)
      names += (names.empty() ? "'" : ", '") + parameters_[p].name + "'";
    note("ranks got different gradients in bucket " + std::to_string(i) + " (" + names +
         "): rank " + std::to_string(odd == hashes.end() ? 0 : odd - hashes.begin()) +
         " has others than most");
  }
}

}  // namespace tutti::inline v0
