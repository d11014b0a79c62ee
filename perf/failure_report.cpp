#include "perf/failure_report.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <span>

#include <tutti/error.hpp>

#include "perf/environment.hpp"
#include "perf/failure.hpp"

namespace tutti::perf {

namespace {

ExitCode exit_code_for(ErrorCode cause) noexcept {
  switch (cause) {
    case ErrorCode::invalid_argument: return ExitCode::usage;
    case ErrorCode::mismatch:
    case ErrorCode::object:
    case ErrorCode::bug: return ExitCode::wrong_data;
    case ErrorCode::transport: return ExitCode::environment;
    case ErrorCode::timeout:
    case ErrorCode::peer_dead:
    case ErrorCode::aborted: break;
  }
  return ExitCode::deadline;
}

int complain(const std::string& who, const std::exception& error) {
  const std::string what = error.what();
  fmt::print(stderr, "{}: {}\n", who, what.substr(0, what.find('\n')));
  return static_cast<int>(exit_code_of(error));
}

}  // namespace

ExitCode exit_code_of(const std::exception& error) noexcept {
  if (const auto* failure = dynamic_cast<const Failure*>(&error)) return failure->code();
  if (const auto* ours = dynamic_cast<const Error*>(&error)) return exit_code_for(ours->cause());
  return ExitCode::environment;
}

int report_on_all(const std::string& who, const std::exception& error) {
  if (launched_rank().value_or(0) != 0) return static_cast<int>(ExitCode::good);
  return complain(who, error);
}

int report_on_one(const std::string& who, std::optional<int> rank, const std::exception& error) {
  return complain(rank ? fmt::format("{} (rank {})", who, *rank) : who, error);
}

int on_rank_zero(MeasuredWorld& world, const std::string& who, const std::function<int()>& task) {
  std::int64_t code = 0;
  if (world.communicator().rank() == 0) {
    try {
      code = task();
    } catch (const std::exception& error) {
      code = report_on_all(who, error);
    }
  }
  from_rank_zero(world.communicator(), std::span{&code, 1});
  return static_cast<int>(code);
}

}  // namespace tutti::perf
