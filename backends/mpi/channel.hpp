/// @file
/// A Channel over an MPI communicator.
#pragma once

#include <tutti/channel.hpp>

#include "ranks.hpp"

namespace tutti::mpi {

/// Lets ranks whose MPI works find each other for tutti's own transports.
class MpiChannel final : public Channel {
 public:
  /// Collective. @param comm of the ranks. @param timeout of making it. Throws Error.
  MpiChannel(MPI_Comm comm, Duration timeout) : ranks_{gather_ranks(comm, {.timeout = timeout})} {}
  ~MpiChannel() override;

  [[nodiscard]] Rank rank() const noexcept override { return ranks_.self; }
  [[nodiscard]] int size() const noexcept override { return ranks_.size; }
  [[nodiscard]] std::string describe() const override { return "MPI"; }
  [[nodiscard]] bool is_private() const noexcept override { return true; }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override;

 private:
  struct Exchange;
  void exchange(Exchange& exchange, Duration deadline);

  Ranks ranks_;
  bool is_broken_ = false;  // a rank did not come: MPI may still write for it
};

}  // namespace tutti::mpi
