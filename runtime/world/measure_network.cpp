#include "measure_network.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::array<std::size_t, 3> kProbeBytes{1, kShortProbeBytes, kLongProbeBytes};
constexpr int kMostProbes = 5;
// A network on which the bytes take this long is measured well by the first probe.
constexpr std::chrono::milliseconds kLongProbe{60};
constexpr std::chrono::seconds kCallTimeout{1};

}  // namespace

// Disturbances make a probe longer, so the shortest counts.
ProbeTimes measure_network(Communicator& pair, std::string_view transport) {
  std::vector<std::uint8_t> probe(kProbeBytes.back());
  std::uint8_t answer = 0;
  const Options whole{.algorithm = "binomial", .transport = transport, .timeout = kCallTimeout};
  std::array<Duration, kProbeBytes.size()> shortest{};
  shortest.fill(Duration::max());
  bool is_slow = false;
  for (int probes = 1; probe.front() == 0; ++probes) {
    if (pair.rank() == 0)  // the first byte announces the last probe
      probe.front() = probes == kMostProbes || is_slow ? 1 : 0;
    for (std::size_t i = 0; i < kProbeBytes.size(); ++i) {
      const auto begin = Clock::now();
      pair.broadcast(std::span{probe}.first(kProbeBytes[i]), 0, whole);
      pair.broadcast(std::span{&answer, 1}, 1, whole);
      shortest[i] = std::min<Duration>(shortest[i], Clock::now() - begin);
    }
    is_slow = shortest[2] - shortest[1] > kLongProbe;
  }
  return {shortest[0], shortest[1], shortest[2]};
}

}  // namespace tutti::runtime
