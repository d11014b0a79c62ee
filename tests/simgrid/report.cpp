// tutti_simgrid_report [NETWORK ...]: what tutti's simulator and SimGrid say of every algorithm, as
// a table in Markdown. "SimGrid's own" has latency as SimGrid itself does, see LatencyModel.
#include <cmath>
#include <cstdio>
#include <exception>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "cases.hpp"
#include "topology/families.hpp"
#include "topology/read.hpp"

namespace {

using namespace tutti;  // NOLINT(google-build-using-namespace): a program of tutti's own

void print_row(const std::string& network, const SimgridCase& wanted, const Topology& topology) {
  const SimgridOutcome same = compare(wanted, topology, LatencyModel::behind);
  const SimgridOutcome native = compare(wanted, topology, LatencyModel::native);
  fmt::print("| `{}` | {} {} | {} | {:.2f} | {:.2f} | {:+.4f} | {:.2f} | {:+.1f} |\n", network,
             name_of(wanted.choice.algorithm->collective), wanted.choice.text(), wanted.bytes,
             same.tutti / 1000, same.simgrid / 1000, same.percent(), native.simgrid / 1000,
             native.percent());
  std::fflush(stdout);  // or each child process has a copy of what waits
}

void print_network(const std::string& network) {
  const Topology topology = parse_topology(network);
  for (const Choice& choice : simgrid_choices(topology.hosts()))
    for (const std::size_t bytes : {std::size_t{1} << 10, std::size_t{1} << 20})
      print_row(network, {.choice = choice, .bytes = bytes}, topology);
}

}  // namespace

int main(int count, char** words) try {
  std::vector<std::string> networks(words + 1, words + count);
  if (networks.empty()) networks.assign(simgrid_networks().begin(), simgrid_networks().end());
  fmt::print(
      "| network | algorithm | bytes | tutti, us | SimGrid, us | difference, % | "
      "SimGrid's own, us | difference, % |\n|---|---|---|---|---|---|---|---|\n");
  std::fflush(stdout);
  for (const std::string& network : networks) print_network(network);
  return 0;
} catch (const std::exception& error) {
  fmt::print(stderr, "{}\n", error.what());
  return 1;
}
