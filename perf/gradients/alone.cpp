#include "perf/gradients/alone.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "perf/measured_world.hpp"
#include "perf/statistics.hpp"
#include "perf/sweep/buffers.hpp"

namespace tutti::perf {

namespace {

constexpr std::size_t kMostTries = 9;
constexpr std::size_t kFewestTries = 3;
constexpr double kLongestTries_s = 0.2;  // time limit for one bucket, after the fewest tries

double all_reduce_s(Communicator& world, const BucketShape& shape, void* elements) {
  Call call{.collective = Collective::all_reduce, .in = elements, .out = elements};
  call.in_count = call.out_count = shape.count;
  call.type = shape.type;
  call.element_bytes = size_of(shape.type);
  call.op = &average;
  world.barrier();
  const auto from = std::chrono::steady_clock::now();
  world.run(call, {.algorithm = shape.algorithm, .visible = shape.is_visible});
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - from;
  std::array<double, 1> greatest{elapsed.count()};
  max_over_ranks(world, greatest);
  return greatest[0];
}

}  // namespace

double AloneTimes::seconds(const BucketShape& shape) {
  if (shape.count == 0) return 0;
  if (const auto known = known_.find(shape); known != known_.end()) return known->second;
  const std::size_t bytes = shape.count * size_of(shape.type);
  Buffer<std::byte> visible = world_.allocate<std::byte>(shape.is_visible ? bytes : 0);
  const std::shared_ptr<std::byte> own = shape.is_visible ? nullptr : allocate_private(bytes);
  void* const elements = shape.is_visible ? static_cast<void*>(visible.data()) : own.get();
  static_cast<void>(all_reduce_s(world_, shape, elements));  // the first call prepares
  std::vector<double> times;
  double spent_s = 0;
  while (times.size() < kFewestTries || (times.size() < kMostTries && spent_s < kLongestTries_s)) {
    times.push_back(all_reduce_s(world_, shape, elements));
    spent_s += times.back();
  }
  return known_[shape] = median_of(times);
}

}  // namespace tutti::perf
