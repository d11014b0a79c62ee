// The public functions of the mpi backend.
#include <tutti/mpi.hpp>
#include <tutti/spi/communicator.hpp>
#include <tutti/spi/init.hpp>
#include <tutti/transports.hpp>

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "check.hpp"
#include "network.hpp"
#include "progress.hpp"
#include "transport.hpp"

namespace tutti::v0::mpi {
namespace {

/// Within a host, processors copy the MPI's messages as they copy those of shm: a rank that sends
/// and receives at the same time is slower at both. Reductions run at 30 GB/s, on data in a cache.
CostModel cost_model_of(const Ranks& ranks) {
  if (!ranks.is_one_roomy_host) return {};
  LinkCosts costs = kDefaultCosts;
  costs.half_duplex = true;
  costs.gamma = 33'000;
  return {.costs = costs, .origin = "assumed of MPI within a host", .lasting = kDefaultCosts};
}

/// Makes subgroups of a communicator. The MPI's communicator belongs to the transport, which ends
/// before this.
class MpiGroup final : public tutti::Group {
 public:
  /// @param ranks of the transport. @param watch of the same ranks.
  MpiGroup(const Ranks& ranks, const Options& options, std::shared_ptr<tutti::Group> watch)
      : ranks_{ranks}, options_{options}, watch_{std::move(watch)} {}

  [[nodiscard]] CommunicatorParts subgroup(std::span<const Rank> members,
                                           std::uint64_t key) override {
    std::uint64_t failures = failures_;
    try {
      return make_together(ranks_, members, options_, key, failures, [&](const SetUp& set_up) {
        for (const Card& card : set_up.cards) failures = std::max(failures, card.failures);
        return parts_of_communicator(set_up.ranks, options_,
                                     watch_->subgroup(members, key_after(failures, key)));
      });
    } catch (...) {  // thrown on all members
      failures_ = std::max(failures_.load(), failures + 1);
      throw;
    }
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override { return nullptr; }
  [[nodiscard]] std::vector<CallStatus> inquire(std::span<const Rank> peers, std::uint64_t call,
                                                Duration patience) override {
    return watch_->inquire(peers, call, patience);
  }
  [[nodiscard]] std::string describe() const override {
    const int hosts = count_hosts(ranks_);
    return std::to_string(ranks_.size) + (ranks_.size == 1 ? " rank on " : " ranks on ") +
           std::to_string(hosts) + (hosts == 1 ? " host" : " hosts") + ", over MPI";
  }

  /// @param ranks of the transport. @param watched of watch_ranks for the same ranks.
  [[nodiscard]] static CommunicatorParts parts_of_communicator(const Ranks& ranks,
                                                               const Options& options,
                                                               CommunicatorParts watched) {
    return {.transport = std::make_unique<MpiTransport>(ranks, options, watched.failure_signal),
            .group = std::make_shared<MpiGroup>(ranks, options, std::move(watched.group)),
            .calls = std::move(watched.calls),
            .failure_signal = std::move(watched.failure_signal),
            .cost_model = cost_model_of(ranks),
            .hosts = std::move(watched.hosts),
            .localities = std::move(watched.localities),
            .shared_config = std::move(watched.shared_config)};
  }

 private:
  /// The watch counts the groups of a key on each rank, even if only some ranks could make one.
  [[nodiscard]] static std::uint64_t key_after(std::uint64_t failures, std::uint64_t key) {
    constexpr std::uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;
    return key ^ failures * kGoldenRatio;
  }

  const Ranks ranks_;
  const Options options_;
  const std::shared_ptr<tutti::Group> watch_;
  std::atomic<std::uint64_t> failures_{0};  // known failures of subgroup()
};

}  // namespace

namespace {

/// Checks that the MPI allows a thread of tutti beside those of the program, for any transport.
void check_threads(const CommunicatorOptions& options) {
  if (!options.progress_thread) return;
  int provided = MPI_THREAD_SINGLE;
  check(PMPI_Query_thread(&provided), "ask for its thread level");
  if (provided < MPI_THREAD_MULTIPLE)
    throw Error{
        ErrorCode::invalid_argument,
        "CommunicatorOptions::progress_thread calls the MPI from a thread of its own, which "
        "needs MPI_THREAD_MULTIPLE; start the MPI by MPI_Init_thread"};
}

/// @return options in which the environment's timeout replaces one of zero.
Options with_timeout(Options options) {
  constexpr std::chrono::seconds kSetUpTimeout{300};
  if (options.timeout == Duration::zero())
    options.timeout = init_timeout(options.timeout, kSetUpTimeout);
  return options;
}

/// Every poll of such a communicator advances the MPI. So a waiting rank keeps polling, as one with
/// CommunicatorOptions::progress does.
CommunicatorOptions driving(CommunicatorOptions options) {
  if (!options.progress) options.progress = [] {};
  return options;
}

}  // namespace

std::unique_ptr<Transport> make_transport(MPI_Comm comm, const Options& options) {
  const Options own = with_timeout(options);
  return std::make_unique<MpiTransport>(gather_ranks(comm, own), own);
}

Communicator communicator(MPI_Comm comm, const CommunicatorOptions& options, const Options& given) {
  const Options transport = with_timeout(given);
  MpiChannel channel{comm};
  std::unique_ptr<SetUp> set_up = make_set_up(own_ranks(), channel.size(), transport);
  CommunicatorParts watched = watch_ranks(channel, {.timeout = transport.timeout});
  gather(set_up, comm, transport);
  return make_communicator(make_agreed(set_up, transport,
                                       [&](const SetUp& known) {
                                         return MpiGroup::parts_of_communicator(
                                             known.ranks, transport, std::move(watched));
                                       }),
                           make_host_memory(), driving(options));
}

Communicator init(MPI_Comm comm, const InitOptions& options) {
  MpiChannel channel{comm};
  check_threads(options.communicator);
  InitOptions own = with_progress(options);
  const TransportTraits* const transport = find_transport(options.transport);
  if (transport == nullptr || !transport->is_of_mpi || !transport->shares_memory)
    return tutti::init(channel, own);
  if (options.transport == "shm+mpi") own.transport = "auto";
  const Options network{.timeout = init_timeout(options.timeout)};
  return tutti::init(channel, own, std::make_shared<MpiNetwork>(comm, network));
}

}  // namespace tutti::v0::mpi
