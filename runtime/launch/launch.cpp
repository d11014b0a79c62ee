#include "launch.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include <tutti/error.hpp>

namespace tutti::runtime {

namespace {

[[noreturn]] void reject_launch(const std::string& message) {
  throw Error{ErrorCode::invalid_argument, message};
}

bool disagree(const Launch& one, const Launch& other) {
  return one.rank != other.rank || (one.size >= 0 && other.size >= 0 && one.size != other.size);
}

// The launch that is used. Throws if launches are invalid or disagree.
const Launch* choose(std::vector<Launch>& launches) {
  Launch* chosen = nullptr;
  for (Launch& launch : launches) {
    if (launch.status == LaunchStatus::invalid) reject_launch(launch.remark);
    if (launch.status != LaunchStatus::usable) continue;
    if (chosen == nullptr) chosen = &launch;
    if (disagree(*chosen, launch))
      reject_launch(
          "the launchers disagree; unset the variables of those that did not start this "
          "process:\n" +
          table_of(launches));
    if (chosen->size < 0) chosen->size = launch.size;
  }
  if (chosen != nullptr) return chosen;
  for (const Launch& launch : launches)
    if (launch.status == LaunchStatus::incomplete)
      reject_launch("the variables of " + launch.source + " are incomplete: " + launch.remark);
  const auto fallback = std::find_if(launches.begin(), launches.end(), [](const Launch& launch) {
    return launch.status == LaunchStatus::fallback;
  });
  return fallback == launches.end() ? nullptr : &*fallback;
}

// A launcher may start several processes without passing them rank and size. Such a process must
// not start a world of its own, whose results would be those of one rank.
void check_is_complete(const Launch& launch) {
  if (launch.status != LaunchStatus::fallback || (launch.rank >= 0 && launch.size >= 0)) return;
  const std::string unknown = launch.rank >= 0   ? "the number of ranks"
                              : launch.size >= 0 ? "its rank"
                                                 : "its rank and the number of ranks";
  const std::string by_mpi =
      launch.exchange == Exchange::mpi ? "call tutti::mpi::init after MPI_Init, or set " : "set ";
  reject_launch(launch.source + " started this process (" + launch.remark + ") without setting " +
                unknown + ": " + by_mpi +
                "TUTTI_RANK, TUTTI_SIZE and TUTTI_URL; a single process needs TUTTI_RANK=0 and "
                "TUTTI_SIZE=1 only");
}

Launch from_arguments(const LaunchArguments& arguments) {
  if (!arguments.rank || !arguments.size)
    reject_launch("rank and size belong together: give both, or neither if a launcher sets them");
  if (*arguments.size < 1)
    reject_launch("size is " + std::to_string(*arguments.size) +
                  ", but a world has at least one rank");
  if (*arguments.size > kLargestWorld)
    reject_launch("size is " + std::to_string(*arguments.size) + ", but a world has at most " +
                  std::to_string(kLargestWorld) + " ranks");
  if (*arguments.rank < 0)
    reject_launch("rank is " + std::to_string(*arguments.rank) + ", but must be 0 or more");
  if (*arguments.rank >= *arguments.size)
    reject_launch("rank is " + std::to_string(*arguments.rank) + ", but size is only " +
                  std::to_string(*arguments.size));
  return {.source = "arguments",
          .rank = *arguments.rank,
          .size = *arguments.size,
          .exchange = Exchange::url};
}

// The caller's url, or TUTTI_URL, replaces the launcher's means of exchange.
void set_url(const std::string& url, Launch& launch) {
  if (!url.empty()) {
    if (!is_meeting_place(url))
      reject_launch("'" + url + "' is not a meeting place: write " + std::string{kMeetingPlaces});
    launch.exchange = Exchange::url;
    launch.url = url;
  }
  if (launch.size == 1) launch.exchange = Exchange::none;
  if (launch.exchange == Exchange::url && launch.url.empty())
    reject_launch((launch.status == LaunchStatus::fallback
                       ? launch.source + " started this process as rank " +
                             std::to_string(launch.rank) + ", and "
                       : std::string{}) +
                  "the " + std::to_string(launch.size) +
                  " ranks have no meeting place: set TUTTI_URL to " + std::string{kMeetingPlaces});
}

// TUTTI_HOSTS overrides the launcher's own list.
void set_hosts(const std::vector<std::string>& hosts, Launch& launch) {
  if (hosts.empty()) return;
  if (launch.size >= 0 && hosts.size() != static_cast<std::size_t>(launch.size))
    reject_launch("TUTTI_HOSTS lists the hosts of " + std::to_string(hosts.size()) +
                  " ranks, but the world has " + std::to_string(launch.size));
  launch.hosts = hosts;
}

}  // namespace

bool is_meeting_place(std::string_view url) noexcept {
  constexpr std::string_view kUnix = "unix://";
  constexpr std::size_t kLongestName = 100;
  return url.starts_with("tcp://") || url.starts_with("file://") ||
         (url.starts_with(kUnix) && url.size() > kUnix.size() &&
          url.size() <= kUnix.size() + kLongestName);
}

std::string_view name_of(Exchange exchange) noexcept {
  switch (exchange) {
    case Exchange::none: return "none";
    case Exchange::url: return "url";
    case Exchange::pmi: return "PMI";
    case Exchange::pmix: return "PMIx";
    case Exchange::mpi: return "MPI only";
  }
  return "";
}

Launch detect_launch(const Environment& environment, const LaunchArguments& arguments) {
  const Config config = read_config(environment);
  const std::string& url = arguments.url.empty() ? config.url : arguments.url;
  Launch launch;
  if (arguments.rank || arguments.size) {
    launch = from_arguments(arguments);
  } else {
    Environment with_url = environment;
    if (!url.empty()) with_url["TUTTI_URL"] = url;
    std::vector<Launch> launches = detect_launches(with_url);
    const Launch* chosen = choose(launches);
    if (chosen != nullptr) check_is_complete(*chosen);
    if (chosen == nullptr && !url.empty())
      reject_launch(
          "'" + url +
          "' is a meeting place, but this process has no rank: set TUTTI_RANK and TUTTI_SIZE");
    launch = chosen != nullptr ? *chosen
                               : Launch{.source = "alone",
                                        .rank = 0,
                                        .size = 1,
                                        .local_rank = 0,
                                        .local_size = 1,
                                        .remark = "no variables of a launcher"};
    set_hosts(config.hosts, launch);
  }
  set_url(url, launch);
  return launch;
}

std::string table_of(const std::vector<Launch>& launches) {
  std::vector<std::array<std::string, 7>> rows{
      {"source", "rank", "size", "local rank", "local size", "exchange", "remark"}};
  const auto number = [](int value) { return value < 0 ? "-" : std::to_string(value); };
  for (const Launch& launch : launches)
    rows.push_back({launch.source, number(launch.rank), number(launch.size),
                    number(launch.local_rank), number(launch.local_size),
                    launch.url.empty() ? std::string{name_of(launch.exchange)} : launch.url,
                    launch.remark});
  std::string table;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t column = 0; column < row.size(); ++column) {
      std::size_t width = 0;
      for (const auto& other : rows) width = std::max(width, other[column].size());
      line +=
          (column == 0 ? "" : "  ") + row[column] + std::string(width - row[column].size(), ' ');
    }
    table += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return table;
}

}  // namespace tutti::runtime
