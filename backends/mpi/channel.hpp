/// @file
/// A Channel over an MPI communicator.
#pragma once

#include <tutti/spi/channel.hpp>

#include "ranks.hpp"

namespace tutti::v0::mpi {

/// Lets ranks whose MPI works find each other for tutti's own transports, by collective calls on
/// the caller's communicator. It does not duplicate that, which would cost more than all the rest,
/// and which MPIs allow to one thread at a time only: all ranks make the same collective call, so
/// there is no need to.
class MpiChannel final : public Channel {
 public:
  /// Local. @param comm stays the caller's. Throws Error{invalid_argument}.
  explicit MpiChannel(MPI_Comm comm);

  [[nodiscard]] Rank rank() const noexcept override { return self_; }
  [[nodiscard]] int size() const noexcept override { return size_; }
  [[nodiscard]] std::string describe() const override { return "MPI"; }
  [[nodiscard]] bool is_private() const noexcept override { return true; }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override;
  /// Keeps connections until MPI_Finalize, for later communicators.
  void keep(std::shared_ptr<const void> connections) override;

 private:
  struct Exchange;
  void exchange(Exchange& exchange, Duration deadline) const;

  MPI_Comm comm_;
  Rank self_ = 0;
  int size_ = 1;
};

}  // namespace tutti::v0::mpi
