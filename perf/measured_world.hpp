/// @file
/// The ranks a sweep runs on, and the few things it must tell them. Only world_mpi.cpp knows an
/// MPI; everything here talks through our own communicator, because some MPIs spin for milliseconds
/// inside blocking calls where ranks outnumber cores.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/transports.hpp>

#include "backends/cuda/timed_stream.hpp"

namespace tutti::perf {

/// A launched group of ranks.
class MeasuredWorld {
 public:
  MeasuredWorld() = default;
  MeasuredWorld(const MeasuredWorld&) = delete;
  MeasuredWorld& operator=(const MeasuredWorld&) = delete;
  virtual ~MeasuredWorld() = default;

  /// @return the communicator of all ranks.
  [[nodiscard]] virtual Communicator& communicator() = 0;
  /// @return whether a library with calls of its own launched the ranks, or connects their GPUs.
  [[nodiscard]] virtual bool has_library() const = 0;
  /// @return what that library is called in a sentence, such as "the MPI".
  [[nodiscard]] virtual std::string library_in_words() const { return "the MPI"; }
  /// @return whether that library has a call of its own for this. It must be equal on all ranks but
  /// for its pointers.
  [[nodiscard]] virtual bool has_native(const Call& call) = 0;
  /// Runs that call, which blocks, but for one on GPUs.
  virtual void native(const Call& call) = 0;
  /// @return the stream of this rank's GPU on which all calls are, or null: they are the host's.
  [[nodiscard]] virtual cuda::TimedStream* gpu() { return nullptr; }
  /// Collective. @param ranks some of this world, the same on all of its ranks. @return a world of
  /// those; nothing on the others. This one knows no library's calls, unless it is overridden.
  [[nodiscard]] virtual std::unique_ptr<MeasuredWorld> part(std::span<const Rank> ranks);
  /// @return name and version of the launching library, one line; empty if there is none.
  [[nodiscard]] virtual std::string library() const = 0;
};

/// Joins the world this process was launched into. Throws Failure{environment} that names cause and
/// cure, on all ranks alike, or Error where the ranks do not come together; then end_job must
/// follow. @param transport one of kTransports. @param options of the
/// communicator, whose timeout counts for joining too. @return the world.
[[nodiscard]] std::unique_ptr<MeasuredWorld> join_world(const std::string& transport,
                                                        const CommunicatorOptions& options);

/// @param transport see join_world. @return whether messages of the launching MPI are in it.
[[nodiscard]] inline bool is_of_mpi(std::string_view transport) {
  const TransportTraits* const traits = find_transport(transport);
  return traits != nullptr && traits->is_of_mpi;
}

/// As InitOptions::warn: prints on the standard error output. @param text a sentence.
void print_warning(std::string_view text);

/// Joins ranks that no MPI launched. @param transport see InitOptions. @param options as
/// join_world.
/// @return the world.
[[nodiscard]] std::unique_ptr<MeasuredWorld> join_own_world(const std::string& transport,
                                                            const CommunicatorOptions& options);

/// @param communicator any. @return what its messages go by, for a file of measurements. Throws
/// Failure{usage} where that is not one transport.
[[nodiscard]] std::string measured_transport(Communicator& communicator);

/// @return name of this host.
[[nodiscard]] std::string host_name();

/// Ends all ranks at once. Returns where this process is alone or has left the others already.
/// @param exit_code of the launcher, as far as it passes it on.
void end_job(int exit_code) noexcept;

/// @return name and version of the MPI this executable is linked to; empty if there is none.
[[nodiscard]] std::string linked_mpi();

/// Replaces every value by the greatest of all ranks. @param communicator all ranks call it.
/// @param values as many on all ranks.
void max_over_ranks(Communicator& communicator, std::span<double> values);

/// Replaces every value by the sum over all ranks. @param communicator all ranks call it.
/// @param values as many on all ranks.
void sum_over_ranks(Communicator& communicator, std::span<double> values);

/// Replaces every value by rank 0's. @param communicator all ranks call it. @param values as many
/// on all ranks.
void from_rank_zero(Communicator& communicator, std::span<std::int64_t> values);

/// @param communicator all ranks call it. @param value any. @return whether it is equal everywhere.
[[nodiscard]] bool is_equal_everywhere(Communicator& communicator, std::uint64_t value);

/// @param communicator all ranks call it. @param text of this rank, up to 63 bytes are kept.
/// @return the texts of all ranks.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator& communicator,
                                                    const std::string& text);

}  // namespace tutti::perf
