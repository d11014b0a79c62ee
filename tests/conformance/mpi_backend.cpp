// The ranks of an MPI, each a process that runs the same tests: the only backend of a program under
// an MPI's launcher.
#include <numeric>

#include <mpi.h>
#include <tutti/mpi.hpp>

#include "backends.hpp"
#include "backends/mpi/network.hpp"

namespace tutti::conformance {
namespace {

constexpr std::chrono::seconds kPatience{15};

int launched_size() {
  int size = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

class MpiLinks final : public Links {
 public:
  MpiLinks() { MPI_Comm_rank(MPI_COMM_WORLD, &self_); }

  [[nodiscard]] bool is_here(Rank world) const override { return world == self_; }
  std::unique_ptr<Transport> transport(Rank /*world*/, const Membership& membership) override {
    std::vector<Rank> everyone(static_cast<std::size_t>(launched_size()));
    std::iota(everyone.begin(), everyone.end(), 0);
    const mpi::Options options{.timeout = kPatience};
    if (membership.members == everyone) return mpi::make_transport(MPI_COMM_WORLD, options);
    MPI_Comm subset = mpi::subset_of({.comm = MPI_COMM_WORLD}, membership.members);
    auto made = mpi::make_transport(subset, options);
    MPI_Comm_free(&subset);
    return made;
  }
  void kill(Rank /*world*/) override { expects(false, "a process kills no other one"); }

 private:
  Rank self_ = -1;
};

}  // namespace

const std::vector<Backend>& backends() {
  static const std::vector<Backend> all{
      {.name = "mpi",
       .bounded = false,
       .one_process = false,
       .threads = false,
       .helps_others = false,
       .heeds_alarm = false,
       .finds_strays = false,
       .sizes = {launched_size()},
       .connect = [](const LinksOptions&) { return std::make_unique<MpiLinks>(); }}};
  return all;
}

}  // namespace tutti::conformance
