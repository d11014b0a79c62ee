// The public entry points.
#include <tutti/mpi.hpp>

#include <string>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "network.hpp"
#include "progress.hpp"
#include "transport.hpp"

namespace tutti::mpi {
namespace {

/// Within a host the MPI's messages are read by processors, as ours are: a rank that gives and
/// takes at once gets less of both. Reductions at 30 GB/s, of what was read just now.
Tariff tariff_of(const Ranks& ranks) {
  if (!ranks.is_one_roomy_host) return {};
  LinkCosts costs = kDefaultCosts;
  costs.half_duplex = true;
  costs.gamma = 33'000;
  return {.costs = costs, .origin = "assumed of MPI within a host", .lasting = kDefaultCosts};
}

/// What a communicator can be divided by. The MPI's communicator is the transport's, which ends
/// before this does.
class MpiGroup final : public tutti::Group {
 public:
  MpiGroup(const Ranks& ranks, const Options& options) : ranks_{ranks}, options_{options} {}

  [[nodiscard]] Footing subgroup(std::span<const Rank> members) override {
    MPI_Comm parent = subset_of(ranks_, members);
    Footing footing = footing_of(parent, options_);
    PMPI_Comm_free(&parent);
    return footing;
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override { return nullptr; }
  [[nodiscard]] std::string describe() const override {
    const int hosts = count_hosts(ranks_);
    return std::to_string(ranks_.size) + (ranks_.size == 1 ? " rank on " : " ranks on ") +
           std::to_string(hosts) + (hosts == 1 ? " host" : " hosts") + ", over MPI";
  }

  [[nodiscard]] static Footing footing_of(MPI_Comm comm, const Options& options) {
    const Ranks ranks = gather_ranks(comm, options);
    return {.transport = std::make_unique<MpiTransport>(ranks, options),
            .group = std::make_shared<MpiGroup>(ranks, options),
            .tariff = tariff_of(ranks),
            .hosts = ranks.host_of};
  }

 private:
  const Ranks ranks_;
  const Options options_;
};

}  // namespace

std::unique_ptr<Transport> make_transport(MPI_Comm comm, const Options& options) {
  return std::make_unique<MpiTransport>(gather_ranks(comm, options), options);
}

Communicator communicator(MPI_Comm comm, const CommunicatorOptions& options,
                          const Options& transport) {
  return Communicator::create(MpiGroup::footing_of(comm, transport), make_host_memory(), options);
}

Communicator init(MPI_Comm comm, const InitOptions& options) {
  const Duration timeout = options.timeout > Duration::zero() ? options.timeout : Options{}.timeout;
  MpiChannel channel{comm, timeout};
  InitOptions own = with_progress(options);
  if (options.transport != "shm+mpi") return tutti::init(channel, own);
  own.transport = "auto";
  return tutti::init(channel, own, std::make_shared<MpiNetwork>(comm, Options{.timeout = timeout}));
}

}  // namespace tutti::mpi
