/// @file
/// The ranks that a command measures. Only mpi/module.cpp uses an MPI. All other code
/// communicates through tutti, because some MPIs spin for milliseconds in blocking calls if ranks
/// outnumber cores.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/export.hpp>
#include <tutti/transports.hpp>

#include "backends/cuda/timed_stream.hpp"

namespace tutti::perf {

/// A launched group of ranks.
class TUTTI_API MeasuredWorld {
 public:
  MeasuredWorld() = default;
  MeasuredWorld(const MeasuredWorld&) = delete;
  MeasuredWorld& operator=(const MeasuredWorld&) = delete;
  virtual ~MeasuredWorld() = default;

  /// @return the communicator of all ranks.
  [[nodiscard]] virtual Communicator& communicator() = 0;
  /// @return whether a library with calls of its own launched the ranks, or connects their GPUs.
  [[nodiscard]] virtual bool has_library() const = 0;
  /// @return that library in a sentence, such as "the MPI".
  [[nodiscard]] virtual std::string library_in_words() const { return "the MPI"; }
  /// @param call must be equal on all ranks, except its pointers. @return whether that library has
  /// a call of its own for it.
  [[nodiscard]] virtual bool has_native(const Call& call) = 0;
  /// Runs the library's call. It blocks, except on GPUs.
  virtual void native(const Call& call) = 0;
  /// @return the stream of this rank's GPU on which all calls run, or null for calls on memory of
  /// the host.
  [[nodiscard]] virtual cuda::TimedStream* gpu() { return nullptr; }
  /// Collective. @param ranks the same on all ranks. @return a world of these ranks; null on the
  /// others. Unless overridden, it has no library's calls.
  [[nodiscard]] virtual std::unique_ptr<MeasuredWorld> part(std::span<const Rank> ranks);
  /// @return name and version of the launching library, one line; empty if there is none.
  [[nodiscard]] virtual std::string library() const = 0;
};

/// Joins the world that this process was launched into. Throws Failure{environment} on all ranks if
/// the launch is wrong; Error if ranks are missing, then the caller must call end_job. @param
/// transport one of kTransports. @param options of the communicator; the timeout also limits the
/// joining.
[[nodiscard]] std::unique_ptr<MeasuredWorld> join_world(const std::string& transport,
                                                        const CommunicatorOptions& options);

/// @param transport see join_world. @return whether it sends messages of the launching MPI.
[[nodiscard]] inline bool is_of_mpi(std::string_view transport) {
  const TransportTraits* const traits = find_transport(transport);
  return traits != nullptr && traits->is_of_mpi;
}

/// As InitOptions::warn: prints to standard error.
void print_warning(std::string_view text);

/// Joins ranks that no MPI launched. The parameters are those of join_world.
[[nodiscard]] std::unique_ptr<MeasuredWorld> join_own_world(const std::string& transport,
                                                            const CommunicatorOptions& options);

/// @return the transport of the communicator's messages, for a file of measurements. Throws
/// Failure{usage} if they use several.
[[nodiscard]] std::string measured_transport(Communicator& communicator);

/// @return the name of this host.
[[nodiscard]] std::string host_name();

/// Ends all ranks at once. Returns if this process is alone or has left the others already. @param
/// exit_code of the launcher, if the launcher passes it on.
void end_job(int exit_code) noexcept;

/// Replaces each value by its maximum over all ranks. Collective.
void max_over_ranks(Communicator& communicator, std::span<double> values);

/// Replaces each value by its sum over all ranks. Collective.
void sum_over_ranks(Communicator& communicator, std::span<double> values);

/// Replaces the values by those of rank 0. Collective.
void from_rank_zero(Communicator& communicator, std::span<std::int64_t> values);

/// Collective. @return whether the value is equal on all ranks.
[[nodiscard]] bool is_equal_everywhere(Communicator& communicator, std::uint64_t value);

/// Collective. @param text of this rank; up to 63 bytes are kept. @return the texts of all ranks.
[[nodiscard]] std::vector<std::string> gather_texts(Communicator& communicator,
                                                    const std::string& text);

}  // namespace tutti::perf
