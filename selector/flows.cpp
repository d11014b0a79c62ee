#include "flows.hpp"

#include <algorithm>
#include <limits>

namespace tutti::v0 {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
/// The tolerance for equal shares, and for the rest of a flow in bytes.
constexpr double kAlmost = 1e-9;

}  // namespace

Flows::Flows(std::vector<double> capacities) : carried_(capacities.size(), 0) {
  for (const double capacity : capacities) channels_.push_back({.capacity = capacity});
}

void Flows::start(std::span<const int> path, double bytes, std::size_t tag) {
  flows_.push_back({.path = {path.begin(), path.end()}, .left = bytes, .tag = tag});
  is_shared_ = false;
}

/// Repeatedly gives the least share of any channel to the flows of the channels that it fills.
void Flows::share_out() {
  is_shared_ = true;
  for (const int channel : used_) channels_[static_cast<std::size_t>(channel)].flows = 0;
  used_.clear();
  std::size_t unshared = 0;
  for (Flow& flow : flows_) {
    flow.rate = flow.path.empty() ? kNever : 0;
    unshared += flow.path.empty() ? 0 : 1;
    for (const int index : flow.path) {
      Channel& channel = channels_[static_cast<std::size_t>(index)];
      if (channel.flows++ > 0) continue;
      channel.left = channel.capacity;
      used_.push_back(index);
    }
  }
  while (unshared > 0) {
    const double least = least_share() * (1 + kAlmost);
    std::vector<bool> is_full(channels_.size(), false);
    for (const int index : used_) {
      const Channel& channel = channels_[static_cast<std::size_t>(index)];
      is_full[static_cast<std::size_t>(index)] =
          channel.flows > 0 && channel.left <= least * channel.flows;
    }
    for (Flow& flow : flows_) {
      const auto full = [&](int index) { return is_full[static_cast<std::size_t>(index)]; };
      if (flow.rate > 0 || std::ranges::none_of(flow.path, full)) continue;
      flow.rate = least;
      --unshared;
      for (const int index : flow.path) {
        Channel& channel = channels_[static_cast<std::size_t>(index)];
        channel.left -= least;
        --channel.flows;
      }
    }
  }
}

double Flows::least_share() {
  double least = kNever;
  for (const int index : used_) {
    const Channel& channel = channels_[static_cast<std::size_t>(index)];
    if (channel.flows > 0) least = std::min(least, std::max(channel.left, 0.0) / channel.flows);
  }
  return std::max(least, std::numeric_limits<double>::min());
}

double Flows::until_next() {
  if (!is_shared_) share_out();
  double next = kNever;
  for (const Flow& flow : flows_) next = std::min(next, flow.left / flow.rate);
  return next;
}

void Flows::pass(double time, std::vector<std::size_t>& ended) {
  if (!is_shared_) share_out();
  for (Flow& flow : flows_) {
    const double moved = flow.path.empty() ? flow.left : std::min(flow.left, flow.rate * time);
    flow.left -= moved;
    for (const int channel : flow.path) carried_[static_cast<std::size_t>(channel)] += moved;
  }
  const auto is_over = [](const Flow& flow) { return flow.left <= kAlmost; };
  for (const Flow& flow : flows_)
    if (is_over(flow)) ended.push_back(flow.tag);
  if (std::erase_if(flows_, is_over) > 0) is_shared_ = false;
}

}  // namespace tutti::v0
