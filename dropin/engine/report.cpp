#include "dropin/engine/report.hpp"

#include <mpi.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <exception>
#include <string>

#include <tutti/error.hpp>

#include "base/write_file.hpp"
#include "dropin/engine/report_text.hpp"
#include "dropin/engine/served.hpp"
#include "runtime/launch/config.hpp"

namespace tutti::dropin {
namespace {

constexpr std::array<std::string_view, kReasons> kReasonTexts{
    "served",    "off",      "from the MPI", "intercommunicator", "no state yet",
    "young",     "one rank", "other world",  "other counts",      "no connection",
    "arguments", "faster",   "sample",       "operation",         "no world",
};

runtime::Config settings;
Served served;
Native native_calls = Native::off;

std::array<std::atomic<std::uint64_t>, kReasons> counts{};
std::array<std::atomic<std::uint64_t>, 2> array_bytes{};  // private, shared
std::atomic<bool> has_warned{false};
std::chrono::steady_clock::time_point beginning{};

bool is_rank_zero() {
  int is_initialised = 0;
  int rank = 0;
  PMPI_Initialized(&is_initialised);
  if (is_initialised != 0) PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank == 0;
}

Job job(int hosts) {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> version{};
  int length = 0;
  const std::chrono::duration<double> wall = std::chrono::steady_clock::now() - beginning;
  Job job{.program = program_invocation_short_name, .hosts = hosts, .wall_seconds = wall.count()};
  PMPI_Get_library_version(version.data(), &length);
  PMPI_Comm_size(MPI_COMM_WORLD, &job.ranks);
  job.mpi = std::string_view{version.data()}.substr(
      0, std::string_view{version.data()}.find_first_of(",\n"));
  return job;
}

// The job, one line with the number of calls, for scripts too, and a table.
void print_report(const TimesText& text) {
  std::fputs((text.head() + "\n").c_str(), stderr);
  std::uint64_t handed_on = 0;
  std::string reasons;
  for (std::size_t i = 1; i < counts.size(); ++i) {
    const std::uint64_t number = counts[i].load();
    handed_on += number;
    if (number > 0)
      reasons += (reasons.empty() ? ": " : ", ") + std::string{kReasonTexts[i]} + " " +
                 std::to_string(number);
  }
  print_line("handled=" + std::to_string(counts[0].load()) +
             " passed_on=" + std::to_string(handed_on) + reasons);
  for (const std::string& line : text.lines()) print_line(line);
  if (const std::uint64_t shared = array_bytes[1].load(); shared > 0 || settings.shared_heap)
    print_line(
        "arrays: " +
        std::to_string(shared * 100 / std::max<std::uint64_t>(1, shared + array_bytes[0].load())) +
        " % of their bytes in shared memory");
}

Native native_of(std::string_view word) {
  if (word.empty() || word == "exact") return Native::exact;
  if (word == "all") return Native::all;
  if (word == "off") return Native::off;
  throw Error{ErrorCode::invalid_argument,
              "TUTTI_MPI_NATIVE is '" + std::string{word} + "', but must be exact, all or off"};
}

}  // namespace

void read_settings(bool (*is_collective)(std::string_view)) noexcept {
  beginning = std::chrono::steady_clock::now();
  try {
    settings = runtime::read_config(runtime::process_environment());
    native_calls = native_of(settings.mpi_native);
    served = Served{settings.mpi, is_collective};
  } catch (const std::exception& error) {
    settings = {};
    served = Served{"off", is_collective};
    warn_once(std::string{error.what()} + "; the MPI runs all collectives");
  }
}

void agree_on_served() noexcept {
  const std::int64_t print = served.fingerprint();
  const std::array<std::int64_t, 2> own{print, -print};
  std::array<std::int64_t, 2> least{};
  PMPI_Allreduce(own.data(), least.data(), 2, MPI_INT64_T, MPI_MIN, MPI_COMM_WORLD);
  if (least[0] == -least[1]) return;
  served = Served{"off", nullptr};
  warn_once("TUTTI_MPI is not the same on all ranks; the MPI runs all collectives");
}

std::size_t least_bytes(std::string_view collective) noexcept {
  return served.least_bytes(collective);
}

bool serves_any() noexcept {
  return !served.is_none();
}

bool wants_shared_heap() noexcept {
  return settings.shared_heap;
}

Native native() noexcept {
  return native_calls;
}

void count(Reason reason) noexcept {
  counts[static_cast<std::size_t>(reason)].fetch_add(1, std::memory_order_relaxed);
  if (reason != Reason::no_connection || !settings.mpi_strict) return;
  print_line("a call is handed on to the MPI, which TUTTI_MPI_STRICT forbids");
  PMPI_Abort(MPI_COMM_WORLD, 1);
}

bool reports_times() noexcept {
  return settings.report || !settings.report_file.empty();
}

Times& times() {
  static Times* const times = new Times;  // the MPI may end after static objects
  return *times;
}

void add_array(bool is_shared, std::size_t bytes) noexcept {
  array_bytes[is_shared ? 1 : 0].fetch_add(bytes, std::memory_order_relaxed);
}

void report(int hosts) noexcept {
  if (!reports_times() || !is_rank_zero()) return;
  try {
    const TimesText text{job(hosts), times()};
    if (settings.report) print_report(text);
    if (!settings.report_file.empty())
      v0::detail::write_text_file(settings.report_file, text.records());
  } catch (const std::exception& error) {
    print_line(error.what());
  }
}

void print_line(std::string_view text) {
  std::fputs(("tutti-mpi: " + std::string{text} + "\n").c_str(), stderr);
}

void warn_once(std::string_view text) {
  if (is_rank_zero()) warn_here(text);
}

void warn_here(std::string_view text) {
  if (!has_warned.exchange(true)) print_line(text);
}

}  // namespace tutti::dropin
