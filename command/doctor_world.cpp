#include "command/doctor_world.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <limits>
#include <map>
#include <span>
#include <string>

#include <tutti/spi/cores.hpp>

#include "perf/measured_world.hpp"

namespace tutti::command::doctor {

namespace {

/// The times of messages between rank 0 and another rank.
struct LinkTimes {
  int rank = 0;
  double round_trip_s = 0;  ///< A message of 8 bytes, there and back.
  double bytes_per_s = 0;   ///< In messages of 1 MiB.
};

// Between rank 0 and another one, which call it together. @return the shortest time there and back.
double shortest_round_trip(Communicator& communicator, int peer, std::size_t bytes, int times) {
  std::vector<char> buffer(bytes);
  const bool is_first = communicator.rank() == 0;
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < times; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    if (is_first) communicator.send(std::span<const char>{buffer}, peer);
    communicator.recv(std::span{buffer}, is_first ? peer : 0);
    if (!is_first) communicator.send(std::span<const char>{buffer}, 0);
    shortest = std::min(
        shortest, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return shortest;
}

LinkTimes times_of(Communicator& communicator, int peer) {
  constexpr std::size_t kShort = 8;
  constexpr std::size_t kLong = std::size_t{1} << 20;
  const double round_trip_s = shortest_round_trip(communicator, peer, kShort, 100);
  const double long_s = shortest_round_trip(communicator, peer, kLong, 8);
  return {peer, round_trip_s, 2 * kLong / long_s};
}

// The first rank of each other host; without other hosts, rank 1.
std::vector<int> partners(const std::vector<std::string>& host_of) {
  std::vector<int> ranks;
  std::map<std::string, int> first{{host_of.front(), 0}};
  for (int rank = 1; rank < static_cast<int>(host_of.size()); ++rank)
    if (first.emplace(host_of[static_cast<std::size_t>(rank)], rank).second) ranks.push_back(rank);
  if (ranks.empty() && host_of.size() > 1) ranks.push_back(1);
  return ranks;
}

std::string in_words(const LinkTimes& times, const std::string& host) {
  return fmt::format("{:.1f} us and {:.2f} GB/s with rank {} on {}", times.round_trip_s * 1e6,
                     times.bytes_per_s / 1e9, times.rank, host);
}

Check check_links(const std::vector<LinkTimes>& links, const std::vector<std::string>& host_of) {
  const auto slowest = std::ranges::max_element(
      links, {}, [](const LinkTimes& times) { return times.round_trip_s / times.bytes_per_s; });
  const std::string text = in_words(*slowest, host_of[static_cast<std::size_t>(slowest->rank)]);
  return {
      .name = "links",
      .found = links.size() == 1
                   ? fmt::format("round trip and bandwidth of rank 0: {}", text)
                   : fmt::format("round trip and bandwidth of rank 0 with {} hosts; slowest: {}",
                                 links.size(), text)};
}

// Another member of the control group of a container counts by its host.
Check check_cores(Communicator& communicator, const std::vector<std::string>& host_of) {
  const Cores own = usable_cores();
  std::vector<Cores> all(host_of.size());
  communicator.all_gather(std::as_bytes(std::span{&own, 1}),
                          std::as_writable_bytes(std::span{all}));
  std::vector<Cores> here;
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (host_of[rank] == host_of[static_cast<std::size_t>(communicator.rank())])
      here.push_back(all[rank]);
  const int shared = shared_cores(here, own);
  const std::string limit =
      own.quota == 0 ? "" : fmt::format("; its control group has a limit of {}", own.quota);
  if (shared == 0)
    return {.name = "cores", .found = fmt::format("one for each rank of its host{}", limit)};
  return {.name = "cores",
          .verdict = Verdict::warning,
          .found = fmt::format("{} ranks of a host share {} cores{}: waiting ranks yield, and "
                               "calls are slow",
                               here.size(), shared, limit),
          .cure = fmt::format("start at most {} rank{} per host, or let the launcher give the job "
                              "more cores",
                              shared, shared == 1 ? "" : "s")};
}

}  // namespace

std::vector<Check> checks_of_world(Communicator& communicator) {
  const std::vector<std::string> host_of = perf::gather_texts(communicator, perf::host_name());
  std::vector<LinkTimes> links;
  for (const int peer : partners(host_of))
    if (communicator.rank() == 0 || communicator.rank() == peer)
      links.push_back(times_of(communicator, peer));
  std::vector<Check> checks{check_cores(communicator, host_of)};
  if (communicator.rank() == 0 && !links.empty()) checks.push_back(check_links(links, host_of));
  if (communicator.rank() == 0)
    checks.push_back({.name = "world", .found = communicator.describe()});
  return checks;
}

}  // namespace tutti::command::doctor
