// The report of a pipeline.
#include <algorithm>
#include <string>

#include <tutti/training/pipeline.hpp>

#include "base/number_text.hpp"

namespace tutti::v0 {
namespace {

/// Number of simulated items: enough that the first and the last ones hardly matter.
constexpr std::size_t kImaginedItems = 256;

/// @return the time at which the last item leaves the last stage, if stages take their measured
/// times.
Duration time_of_pipeline(std::span<const std::vector<Duration>> times, std::size_t items,
                          std::size_t depth) {
  std::vector<Duration> left(items);                 // when each item has left its slot
  std::vector<Duration> free(times.front().size());  // when each stage is free
  for (std::size_t item = 0; item < items; ++item) {
    Duration at = item < depth ? Duration{0} : left[item - depth];
    for (std::size_t stage = 0; stage < free.size(); ++stage) {
      at = std::max(at, free[stage]) + times[item % times.size()][stage];
      free[stage] = at;
    }
    left[item] = at;
  }
  return left.back();
}

double pipeline_milliseconds(Duration duration) {
  return std::chrono::duration<double, std::milli>(duration).count();
}

}  // namespace

std::size_t suggested_depth(std::span<const std::vector<Duration>> times) {
  for (const std::vector<Duration>& item : times)
    if (item.size() != times.front().size())
      throw Error{ErrorCode::invalid_argument,
                  "suggested_depth: an item has times of " + std::to_string(item.size()) +
                      " stages, the first one of " + std::to_string(times.front().size()) +
                      "; expected one of each stage"};
  if (times.empty() || times.front().empty()) return 1;
  const std::size_t items = (kImaginedItems / times.size() + 1) * times.size();
  const Duration least = time_of_pipeline(times, items, items);
  std::size_t depth = 1;
  while (time_of_pipeline(times, items, depth) > least + least / 20) ++depth;
  return depth;
}

std::string PipelineReport::text() const {
  std::string lines;
  for (const StageReport& stage : stages) {
    const double count = static_cast<double>(std::max<std::uint64_t>(stage.items, 1));
    const double run = std::max(pipeline_milliseconds(elapsed), 1e-6);
    const double busy = pipeline_milliseconds(stage.busy);
    lines += stage.name + ": " + std::to_string(stage.items) + " items, " +
             detail::rounded_text(busy / count, 3) + " ms each, " +
             detail::rounded_text(pipeline_milliseconds(stage.longest), 3) + " ms at most, busy " +
             detail::fixed_text(100 * busy / run, 0) + " % of the run\n";
  }
  return lines;
}

}  // namespace tutti::v0
