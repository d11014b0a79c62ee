// The ranks of an MPI, each a process that runs the same tests: over messages of the MPI alone, and
// over memory inside each of two pretended hosts and such messages between them.
#include <numeric>

#include <mpi.h>
#include <tutti/mpi.hpp>

#include "backends.hpp"
#include "backends/mpi/network.hpp"
#include "tests/backends/mpi/two_hosts.hpp"

namespace tutti::conformance {
namespace {

constexpr std::chrono::seconds kTimeout{15};

int launched_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

/// The links of a process that is one rank.
class OwnLinks : public Links {
 public:
  OwnLinks() { MPI_Comm_rank(MPI_COMM_WORLD, &self_); }
  [[nodiscard]] bool is_here(Rank world) const override { return world == self_; }
  void kill(Rank /*world*/) override { expects(false, "a process kills no other one"); }

 private:
  Rank self_ = -1;
};

class MpiLinks final : public OwnLinks {
 public:
  std::unique_ptr<Transport> transport(Rank /*world*/, const Membership& membership) override {
    std::vector<Rank> everyone(static_cast<std::size_t>(launched_size()));
    std::iota(everyone.begin(), everyone.end(), 0);
    const mpi::Options options{.timeout = kTimeout};
    if (membership.members == everyone) return mpi::make_transport(MPI_COMM_WORLD, options);
    MPI_Comm subset = mpi::subset_of({.comm = MPI_COMM_WORLD}, membership.members);
    auto made = mpi::make_transport(subset, options);
    MPI_Comm_free(&subset);
    return made;
  }
};

class TwoHostsLinks final : public OwnLinks {
 public:
  explicit TwoHostsLinks(std::shared_ptr<tutti::Group> world) : world_{std::move(world)} {}
  std::unique_ptr<Transport> transport(Rank /*world*/, const Membership& membership) override {
    return world_->subgroup(membership.members, 0).transport;
  }

 private:
  std::shared_ptr<tutti::Group> world_;
};

/// @param connect see Backend.
Backend backend(std::string name,
                std::function<std::unique_ptr<Links>(const LinksOptions&)> connect) {
  return {.name = std::move(name),
          .bounded = false,
          .one_process = false,
          .threads = false,
          .helps_others = false,
          .heeds_alarm = false,
          .finds_unmatched = false,
          .sizes = {launched_size()},
          .connect = std::move(connect)};
}

Backend mpi_backend() {
  return backend("mpi", [](const LinksOptions&) { return std::make_unique<MpiLinks>(); });
}

/// All tests share a world, as programs do: to make one takes longer than most of them.
Backend two_hosts_backend() {
  const auto world = std::make_shared<std::shared_ptr<tutti::Group>>();
  return backend("shm+mpi", [world](const LinksOptions&) {
    if (*world == nullptr) *world = test::connect_two_hosts(kTimeout)->communicator_parts().group;
    return std::make_unique<TwoHostsLinks>(*world);
  });
}

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all = [] {
    std::vector<Backend> made{mpi_backend()};
    if (launched_size() > 2) made.push_back(two_hosts_backend());  // of two no one has a neighbour
    return made;
  }();
  return all;
}

}  // namespace tutti::conformance
