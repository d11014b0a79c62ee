// The public entry points.
#include <tutti/mpi.hpp>

#include <string>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "check.hpp"
#include "transport.hpp"

namespace tutti::mpi {
namespace {

/// What a communicator can be divided by. The MPI's communicator is the transport's, which ends
/// before this does.
class MpiGroup final : public tutti::Group {
 public:
  MpiGroup(const Ranks& ranks, const Options& options) : ranks_{ranks}, options_{options} {}

  [[nodiscard]] Footing subgroup(std::span<const Rank> members) override {
    const std::vector<int> ranks{members.begin(), members.end()};
    MPI_Group all = MPI_GROUP_NULL;
    MPI_Group some = MPI_GROUP_NULL;
    MPI_Comm parent = MPI_COMM_NULL;
    check(MPI_Comm_group(ranks_.comm, &all), "list the ranks");
    const int listed = MPI_Group_incl(all, static_cast<int>(ranks.size()), ranks.data(), &some);
    MPI_Group_free(&all);
    check(listed, "list the members");
    const int made = MPI_Comm_create_group(ranks_.comm, some, 0, &parent);
    MPI_Group_free(&some);
    check(made, "make a group");
    Footing footing = footing_of(parent, options_);
    MPI_Comm_free(&parent);
    return footing;
  }
  [[nodiscard]] std::shared_ptr<Memory> visible_memory() noexcept override { return nullptr; }
  [[nodiscard]] std::string describe() const override {
    return std::to_string(ranks_.size) + (ranks_.size == 1 ? " rank on " : " ranks on ") +
           std::to_string(ranks_.hosts) + (ranks_.hosts == 1 ? " host" : " hosts") + ", over MPI";
  }

  [[nodiscard]] static Footing footing_of(MPI_Comm comm, const Options& options) {
    const Ranks ranks = gather_ranks(comm, options);
    return {std::make_unique<MpiTransport>(ranks, options),
            std::make_shared<MpiGroup>(ranks, options)};
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
  return tutti::init(channel, options);
}

}  // namespace tutti::mpi
