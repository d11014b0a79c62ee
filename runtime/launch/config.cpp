#include "config.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <fstream>
#include <limits>

#include <tutti/error.hpp>

#include "algorithms/nearest_word.hpp"
#include "others_variables.hpp"
#include "placement.hpp"

namespace tutti::runtime {

namespace {

constexpr std::string_view kPrefix = "TUTTI_";

[[noreturn]] void reject(std::string_view name, std::string_view value, const std::string& right) {
  throw Error{ErrorCode::invalid_argument,
              std::string{name} + " is '" + std::string{value} + "', but " + right};
}

template <class Number>
std::optional<Number> parse(std::string_view text) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

template <class Number>
Number number_of_text(std::string_view name, std::string_view text, Number least, Number most) {
  const std::optional<Number> number = parse<Number>(text);
  if (!number || *number < least || *number > most)
    reject(name, text,
           "must be a whole number from " + std::to_string(least) + " to " + std::to_string(most));
  return *number;
}

template <class Number>
std::optional<Number> number_between(const Environment& environment, std::string_view name,
                                     Number least, Number most) {
  const auto text = value_of(environment, name);
  if (!text) return {};
  return number_of_text(name, *text, least, most);
}

// The kinds of values, each with the member that stores it.

template <std::optional<int> Config::*member, int least, int most>
void read_number(std::string_view name, std::string_view value, Config& into) {
  into.*member = number_of_text(name, value, least, most);
}

template <std::string Config::*member>
void read_string(std::string_view, std::string_view value, Config& into) {
  into.*member = value;
}

template <bool Config::*member>
void read_flag(std::string_view name, std::string_view value, Config& into) {
  if (value != "0" && value != "1") reject(name, value, "must be 0 or 1");
  into.*member = value == "1";
}

void read_timeout(std::string_view name, std::string_view value, Config& into) {
  constexpr double kLongestSeconds = 1e9;
  const std::optional<double> seconds = parse<double>(value);
  if (!seconds || !std::isfinite(*seconds) || *seconds <= 0 || *seconds > kLongestSeconds)
    reject(name, value,
           "must be a time in seconds, such as 30 or 0.5, more than 0 and at most 1000000000");
  into.timeout =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::duration<double>{*seconds});
}

void read_hosts(std::string_view name, std::string_view value, Config& into) {
  try {
    into.hosts = placement_of_text(value);
  } catch (const Error& error) {
    throw Error{error.code(), std::string{name} + ": " + error.what()};
  }
}

constexpr std::array kVariables{
    Variable{"TUTTI_RANK", "own rank, together with TUTTI_SIZE",
             read_number<&Config::rank, 0, kLargestWorld - 1>},
    Variable{"TUTTI_SIZE", "number of ranks", read_number<&Config::size, 1, kLargestWorld>},
    Variable{"TUTTI_LOCAL_RANK", "own rank among the ranks of this host",
             read_number<&Config::local_rank, 0, kLargestWorld - 1>},
    Variable{"TUTTI_LOCAL_SIZE", "number of ranks on this host",
             read_number<&Config::local_size, 1, kLargestWorld>},
    Variable{"TUTTI_URL",
             "meeting place of the ranks: tcp://host:port, where rank 0 listens, unix://name, or "
             "file:///path",
             read_string<&Config::url>},
    Variable{"TUTTI_HOSTS", "host of each rank, such as a*2,b*2; names a missing one in errors",
             read_hosts},
    Variable{"TUTTI_SECRET_FILE", "file of mode 0600 with the job's secret",
             read_string<&Config::secret_file>},
    Variable{"TUTTI_ADDRESS",
             "interface or address of this host at which other hosts reach this rank",
             read_string<&Config::address>},
    Variable{"TUTTI_TIMEOUT", "seconds until all ranks must be connected", read_timeout},
    Variable{"TUTTI_MPI_LIBRARY",
             "library of the MPI that the command loads, such as /opt/mpi/lib/libmpi.so.12",
             read_string<&Config::mpi_library>},
    Variable{
        "TUTTI_MPI",
        "collectives of MPI programs that tutti exec serves, such as allreduce,bcast>=64K; or off",
        read_string<&Config::mpi>},
    Variable{
        "TUTTI_MPI_NATIVE",
        "calls that tutti exec leaves to the MPI where that is faster: exact (the default: those "
        "whose results stay the same), all, or off",
        read_string<&Config::mpi_native>},
    Variable{"TUTTI_MPI_STRICT", "1: tutti exec ends a job whose ranks tutti cannot connect",
             read_flag<&Config::mpi_strict>},
    Variable{"TUTTI_REPORT", "1: tutti exec prints the calls that tutti served, and their times",
             read_flag<&Config::report>},
    Variable{"TUTTI_REPORT_FILE", "file to which rank 0 of tutti exec writes the times of calls",
             read_string<&Config::report_file>},
    Variable{"TUTTI_SHARED_HEAP",
             "1: tutti exec puts large arrays of the program in memory that its ranks share",
             read_flag<&Config::shared_heap>},
    Variable{"TUTTI_TUNING", "tuning file of rank 0; or none", read_string<&Config::tuning>},
    Variable{"TUTTI_TOPOLOGY", "network between hosts: a family, or rank 0's file",
             read_string<&Config::topology>},
};

// Adds "name=value".
void add_entry(std::string_view text, Environment& environment) {
  const std::size_t equals = text.find('=');
  if (equals != std::string_view::npos && equals > 0)
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
}

// A misspelt variable would change nothing, without any sign of it. Returns the names that are
// nobody's.
std::vector<std::string> unknown_names(const Environment& environment) {
  const auto rest_of = [](std::string_view name) { return name.substr(kPrefix.size()); };
  std::array<std::string_view, kVariables.size()> rests{};
  std::ranges::transform(kVariables, rests.begin(), rest_of, &Variable::name);
  std::vector<std::string> unknown;
  for (auto entry = environment.lower_bound(kPrefix);
       entry != environment.end() && entry->first.starts_with(kPrefix); ++entry) {
    const auto& [name, value] = *entry;
    if (std::ranges::find(rests, rest_of(name)) != rests.end()) continue;
    const std::string_view nearest = nearest_word(rest_of(name), rests);
    if (!nearest.empty())
      throw Error{ErrorCode::invalid_argument, "there is no variable " + name + "; did you mean " +
                                                   std::string{kPrefix} + std::string{nearest} +
                                                   "?"};
    if (!is_of_others(name, value)) unknown.push_back(name);
  }
  return unknown;
}

}  // namespace

std::span<const Variable> variables() noexcept {
  return kVariables;
}

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry)
    add_entry(*entry, environment);
  return environment;
}

Environment initial_environment(::pid_t process) {
  std::ifstream file{"/proc/" + std::to_string(process) + "/environ"};
  Environment environment;
  for (std::string entry; std::getline(file, entry, '\0');) add_entry(entry, environment);
  return environment;
}

std::optional<std::string_view> value_of(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return {};
  return found->second;
}

std::optional<int> number_of(const Environment& environment, std::string_view name, int least,
                             int most) {
  return number_between(environment, name, least, most);
}

std::optional<std::uint32_t> number_of_32_bits(const Environment& environment,
                                               std::string_view name) {
  return number_between(environment, name, std::uint32_t{0},
                        std::numeric_limits<std::uint32_t>::max());
}

Config read_config(const Environment& environment) {
  Config config;
  config.unknown = unknown_names(environment);
  for (const Variable& variable : kVariables)
    if (const auto value = value_of(environment, variable.name))
      variable.read(variable.name, *value, config);
  return config;
}

}  // namespace tutti::runtime
