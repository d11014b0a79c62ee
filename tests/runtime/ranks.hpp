/// @file
/// Several ranks as threads of one process, and what a test asks about them.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <tutti/error.hpp>
#include <tutti/spi/channel.hpp>

#include "runtime/security/secret.hpp"
#include "runtime/sockets/socket.hpp"
#include "tests/support/patience.hpp"

namespace tutti::test {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

/// The outcome of a rank.
struct Outcome {
  std::optional<Error> error{};
  milliseconds elapsed{};

  /// @return the error's text, or nothing.
  [[nodiscard]] std::string text() const { return error ? error->what() : ""; }
};

/// Runs a function once per rank, each in a thread. @return what came of each.
std::vector<Outcome> run_ranks(int n, const std::function<void(Rank)>& body);

/// Expects that no rank failed.
void expect_no_error(const std::vector<Outcome>& outcomes);

/// @return memory to offer, which says whose it is.
runtime::Descriptor memory_of(Rank rank);
/// @return how many descriptors this process has open.
int open_descriptors();
/// @return the memory this process has in use, in KiB; 0 in instrumented builds, where freed memory
/// stays in use for a while and leaks are found otherwise.
long resident_kib();
/// @return an instant from now. @param time from now.
Deadline in(milliseconds time);
/// @return a secret that differs for each seed; nothing without OpenSSL, so that tests that do not
/// care run there too.
std::optional<runtime::Secret> secret_of(int seed);

/// In-process channels of n ranks. They live as long as any of them.
std::vector<std::unique_ptr<Channel>> local_channels(int n, bool is_private);

}  // namespace tutti::test
