// Checks of a process among others: its launch, variables, address and secret.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/transport.hpp>

#include "command/doctor_check.hpp"
#include "command/features.hpp"
#include "perf/measured_world.hpp"
#include "runtime/security/cryptography.hpp"
#include "runtime/security/secret.hpp"
#include "runtime/sockets/address.hpp"

namespace tutti::command::doctor {

namespace {

std::string first_line_of(const std::exception& error) {
  const std::string text = error.what();
  return text.substr(0, text.find('\n'));
}

std::string value_of(const Subject& subject, std::string_view variable) {
  return std::string{runtime::value_of(subject.environment, variable).value_or("")};
}

std::string host_of(const runtime::Endpoint& endpoint) {
  std::string text = runtime::text_of(endpoint);
  text.resize(text.rfind(':'));
  return text;
}

Check check_launch(const Subject& subject) {
  if (subject.launch_error.empty())
    return {.name = "launch", .found = launch_in_words(subject.launch)};
  return check_of_error("launch", Verdict::fault, subject.launch_error,
                        "unset the variables that no launcher of this job has set; tutti info "
                        "--launch prints them");
}

Check check_variables(const Subject& subject) {
  const std::string name = "variables";
  try {
    const runtime::Config config = runtime::read_config(subject.environment);
    if (config.unknown.empty()) return {.name = name, .found = "all TUTTI_ variables are known"};
    return {.name = name,
            .verdict = Verdict::warning,
            .found = fmt::format("tutti has no {}", fmt::join(config.unknown, ", ")),
            .cure = fmt::format("unset {}, or correct the name", fmt::join(config.unknown, " "))};
  } catch (const Error& error) {
    return check_of_error(name, Verdict::fault, first_line_of(error),
                          "correct the value, or unset the variable");
  }
}

Check check_host_name() {
  constexpr std::chrono::seconds kPatience{3};
  const std::string host = perf::host_name();
  std::vector<std::string> numbers;
  bool is_local = true;
  try {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    for (const runtime::Endpoint& found :
         runtime::resolve({.host = host}, Deadline{deadline_after(now, kPatience)})) {
      numbers.push_back(host_of(found));
      is_local = is_local && runtime::is_loopback(found);
    }
  } catch (const Error& error) {
    return check_of_error("host name", Verdict::warning, first_line_of(error),
                          fmt::format("add {} and the host's address to /etc/hosts or the name "
                                      "server: torchrun, Slurm and --hosts need names",
                                      host));
  }
  return {.name = "host name",
          .found = fmt::format("{} is {}{}", host, fmt::join(numbers, ", "),
                               is_local ? ", which this host alone reaches; ranks then announce "
                                          "the address of the default route"
                                        : "")};
}

Check check_address(const Subject& subject) {
  const std::string chosen = value_of(subject, "TUTTI_ADDRESS");
  const std::string interfaces = runtime::interfaces_text();
  try {
    const runtime::Endpoint own =
        chosen.empty() ? runtime::outward_address() : runtime::configured_address(chosen);
    const std::string found = fmt::format(
        "other hosts reach {}{}; this host has {}", host_of(own),
        chosen.empty() ? ", of the default route" : ", as TUTTI_ADDRESS demands", interfaces);
    if (!runtime::is_loopback(own)) return {.name = "address", .found = found};
    return {.name = "address",
            .verdict = Verdict::warning,
            .found = fmt::format("TUTTI_ADDRESS is {}: only ranks of this host reach it", chosen),
            .cure = fmt::format("unset TUTTI_ADDRESS, or set it to another of {}", interfaces)};
  } catch (const Error& error) {
    if (chosen.empty())
      return {.name = "address",
              .verdict = Verdict::warning,
              .found = first_line_of(error),
              .cure = "give the host a network, for jobs on several hosts: ip address"};
    return {.name = "address",
            .verdict = Verdict::fault,
            .found = first_line_of(error),
            .cure = "unset TUTTI_ADDRESS, or set it to one of these"};
  }
}

// The mode or the content is wrong, so the cure is not that of a missing secret.
Check check_secret_file(const std::string& file) {
  try {
    static_cast<void>(runtime::read_secret(file));
    return {.name = "secret", .found = "ranks authenticate by the secret in " + file};
  } catch (const Error& error) {
    const std::string found = first_line_of(error);
    const bool is_open = found.find("0600") != std::string::npos;
    return {.name = "secret",
            .verdict = Verdict::fault,
            .found = found,
            .cure = is_open ? "close it to others: chmod 600 " + file
                            : std::string{runtime::kSecretHint}};
  }
}

Check check_secret(const Subject& subject) {
  if (!runtime::has_cryptography())
    return {.name = "secret",
            .verdict = Verdict::warning,
            .found = "built without OpenSSL: ranks cannot authenticate, so jobs run on one host",
            .cure = "install libssl-dev, then build again"};
  const std::string file = value_of(subject, "TUTTI_SECRET_FILE");
  if (!file.empty()) return check_secret_file(file);
  if (!subject.launch.url.starts_with("tcp://"))
    return {.name = "secret",
            .found = subject.launch.size == 1
                         ? "none is set: tutti run and MPIs make one per job; tcp://, torchrun and "
                           "Slurm need TUTTI_SECRET_FILE on several hosts"
                         : "the job's own, made when it starts"};
  return {.name = "secret",
          .verdict = Verdict::warning,
          .found = "none: ranks can meet on one host only, where other users can take their places",
          .cure = std::string{runtime::kSecretHint}};
}

}  // namespace

std::string_view name_of(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::ok: return "ok";
    case Verdict::warning: return "warning";
    case Verdict::fault: return "fault";
  }
  return "";
}

Check check_of_error(std::string name, Verdict verdict, const std::string& message,
                     std::string cure) {
  const std::size_t end = message.rfind("; ");
  if (!cure.empty() || end == std::string::npos || message.ends_with('?'))
    return {std::move(name), verdict, message, std::move(cure)};
  return {std::move(name), verdict, message.substr(0, end), message.substr(end + 2)};
}

Subject subject_of(int asked) {
  Subject subject{.environment = runtime::process_environment(),
                  .launch = {.source = "none", .rank = 0, .size = 1}};
  try {
    subject.launch = runtime::detect_launch(subject.environment);
  } catch (const Error& error) {
    subject.launch_error = first_line_of(error);
  }
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int launched = subject.launch.size;
  subject.ranks = launched > 1 ? launched : asked > 0 ? asked : cores;
  subject.ranks_here = subject.launch.local_size > 1 ? subject.launch.local_size : subject.ranks;
  subject.is_first_here =
      (subject.launch.local_rank < 0 ? subject.launch.rank : subject.launch.local_rank) == 0;
  return subject;
}

std::vector<Check> checks_of_network(const Subject& subject) {
  std::vector<Check> checks{check_variables(subject), check_host_name(), check_address(subject),
                            check_secret(subject)};
  // A wrong variable of tutti is an error of the launch too.
  if (checks.front().verdict != Verdict::fault)
    checks.insert(checks.begin(), check_launch(subject));
  return checks;
}

}  // namespace tutti::command::doctor
