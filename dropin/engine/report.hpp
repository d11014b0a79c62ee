/// @file
/// Settings of the drop-in, and the count of calls that tutti served or handed on to the MPI.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "dropin/engine/times.hpp"

namespace tutti::dropin {

/// Calls that the MPI may run because it is faster.
enum class Native : std::uint8_t {
  off,    ///< None.
  exact,  ///< Those whose results do not depend on who runs them.
  all,    ///< Also sums of floating point.
};

/// Why a call is the MPI's.
enum class Reason : std::uint8_t {
  served,             ///< It is not.
  off,                ///< TUTTI_MPI leaves it, or calls of its size, out.
  from_the_mpi,       ///< A call of the MPI's library itself.
  intercommunicator,  ///< Two groups.
  no_state,       ///< A call that only starts, on a communicator without a blocking call before.
  is_young,       ///< One of the first calls of a communicator.
  one_rank,       ///< Nobody to communicate with.
  other_world,    ///< Ranks outside MPI_COMM_WORLD.
  other_counts,   ///< Its ranks pass different counts.
  no_connection,  ///< tutti could not connect the ranks; a warning has the cause.
  arguments,      ///< The MPI reports the error, or knows what they mean.
  faster,         ///< The MPI is faster.
  sample,         ///< Shows how fast the MPI is.
  operation,      ///< A user's operator on a datatype that is no block of memory.
  no_world,       ///< Without MPI_Init, as in sessions, or after MPI_Finalize has begun.
};

/// Number of reasons.
inline constexpr int kReasons = static_cast<int>(Reason::no_world) + 1;

/// Reads the variables of the environment, once, when the MPI is initialised. A wrong one is
/// reported, and the MPI serves.
/// @param is_collective whether a word of TUTTI_MPI, in small letters, is the name of a collective.
void read_settings(bool (*is_collective)(std::string_view)) noexcept;
/// Lets the MPI run all collectives, after a warning, unless TUTTI_MPI has the same meaning on all
/// ranks: others would wait for calls that the MPI runs. Collective on MPI_COMM_WORLD.
void agree_on_served() noexcept;
/// @param collective in small letters. @return the fewest bytes of calls that TUTTI_MPI lets tutti
/// serve, or Served::kNever. Equal on all ranks.
[[nodiscard]] std::size_t least_bytes(std::string_view collective) noexcept;
/// @return whether TUTTI_MPI lets tutti serve any calls. Equal on all ranks.
[[nodiscard]] bool serves_any() noexcept;

/// @return whether large blocks of malloc are to lie in shared memory.
[[nodiscard]] bool wants_shared_heap() noexcept;

/// @return which calls this rank lets the MPI run, if all ranks do.
[[nodiscard]] Native native() noexcept;

/// Counts a call. With TUTTI_MPI_STRICT=1 a call that is handed on for no_connection ends the
/// program. Thread-safe.
void count(Reason reason) noexcept;
/// @return whether this rank wants a report, and so keeps times.
[[nodiscard]] bool reports_times() noexcept;
/// Adds an array of a call to the share of shared memory in the report. Thread-safe.
void add_array(bool is_shared, std::size_t bytes) noexcept;
/// @return the times of blocking calls, for the report.
[[nodiscard]] Times& times();
/// On rank 0 prints the counts and times if TUTTI_REPORT=1, and writes them to TUTTI_REPORT_FILE.
/// Called once, when the MPI ends. @param hosts number of hosts of the job; 0: unknown.
void report(int hosts) noexcept;
/// Prints a line.
void print_line(std::string_view text);
/// Prints a line on rank 0 of the world; later ones of this and the next function are left out.
void warn_once(std::string_view text);
/// The same on this rank.
void warn_here(std::string_view text);

}  // namespace tutti::dropin
