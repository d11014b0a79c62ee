#include "link_loads.hpp"

#include <algorithm>

#include "saturating.hpp"

namespace tutti::v0 {
namespace {

using detail::plus, detail::times;

bool has_one_switch(const Topology& topology) {
  if (topology.switches() != 1) return false;
  for (const Topology::Link& link : topology.links())
    if (link.speed != topology.links().front().speed) return false;
  for (int host = 0; host < topology.hosts(); ++host)
    if (topology.hops(host).size() != 1 || topology.hops(host).front().to != topology.hosts())
      return false;
  return true;
}

}  // namespace

Crossing most_of(const Crossing& a, const Crossing& b) noexcept {
  return {std::max(a.bytes, b.bytes), std::max(a.messages, b.messages),
          std::max(a.latency, b.latency)};
}

LinkLoads::LinkLoads(const Topology& topology, Routes& routes)
    : topology_{topology}, routes_{routes}, now_(routes.channels()), ever_(routes.channels()) {}

void LinkLoads::add(Rank from, Rank to, std::int64_t units) {
  routes_.find(from, to, path_);
  Femtoseconds latency = 0;
  for (const int channel : path_) {
    Load& load = now_[static_cast<std::size_t>(channel)];
    if (load.messages == 0) used_.push_back(channel);
    ++load.messages;
    load.units += units;
    latency = plus(latency, speed(channel).latency);
  }
  latency_ = std::max(latency_, latency);
}

std::size_t LinkLoads::add_kept(Rank from, Rank to, std::int64_t units) {
  add(from, to, units);
  kept_.insert(kept_.end(), path_.begin(), path_.end());
  ends_.push_back(kept_.size());
  return ends_.size() - 1;
}

void LinkLoads::widen(Crossing& crossing, int channel, const Load& load) const {
  crossing.bytes = std::max(crossing.bytes, times(load.units, speed(channel).per_byte));
  crossing.messages = std::max(crossing.messages, times(load.messages, speed(channel).per_message));
}

Crossing LinkLoads::crossing(std::size_t kept) const {
  Crossing crossing;
  for (std::size_t i = kept == 0 ? 0 : ends_[kept - 1]; i < ends_[kept]; ++i) {
    widen(crossing, kept_[i], now_[static_cast<std::size_t>(kept_[i])]);
    crossing.latency = plus(crossing.latency, speed(kept_[i]).latency);
  }
  return crossing;
}

Crossing LinkLoads::most() const {
  Crossing crossing{.latency = latency_};
  for (const int channel : used_) widen(crossing, channel, now_[static_cast<std::size_t>(channel)]);
  return crossing;
}

void LinkLoads::end_round() {
  for (const int channel : used_) {
    const auto at = static_cast<std::size_t>(channel);
    const Load load = std::exchange(now_[at], {});
    ever_[at] = {ever_[at].units + load.units, ever_[at].messages + load.messages};
    widen(fullest_, channel, ever_[at]);
  }
  used_.clear();
  kept_.clear();
  ends_.clear();
  latency_ = 0;
}

void NetworkMemory::prepare(const Topology& topology, Routing routing) {
  if (topology_ && routing_ == routing && topology_->hosts() == topology.hosts() &&
      topology_->vertices() == topology.vertices() && topology_->links() == topology.links())
    return;
  shifted_.clear();
  routes_.reset();
  topology_ = topology;
  routing_ = routing;
  routes_.emplace(*topology_, routing);
  is_one_switch_ = has_one_switch(topology);
}

const Crossing& NetworkMemory::shifted(int size, Rank shift, LinkLoads& loads) {
  const auto [found, is_new] = shifted_.try_emplace({size, shift});
  if (!is_new) return found->second;
  // At a single switch all ranks have the same time.
  const Rank asked = is_one_switch_ ? 1 : size;
  for (Rank rank = 0; rank < asked; ++rank) loads.add(rank, (rank + shift) % size, 1);
  found->second = loads.most();
  loads.end_round();
  return found->second;
}

}  // namespace tutti::v0
