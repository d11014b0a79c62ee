#include "tests/runtime/control/control_group.hpp"

#include <array>
#include <stdexcept>
#include <thread>

#include <sys/socket.h>
#include <unistd.h>

namespace tutti::test {

using namespace std::chrono_literals;
using runtime::Descriptor;

ControlGroup::ControlGroup(const ControlGroupOptions& options) : voices_(index(options.size)) {
  std::vector<std::vector<runtime::WatchedProcess>> watched(index(options.size));
  for (auto& voices : voices_) voices.resize(index(options.size));
  for (Rank low = 0; low < options.size; ++low)
    for (Rank high = low + 1; high < options.size; ++high) {
      std::array<int, 2> ends{};
      if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data()) != 0)
        throw std::runtime_error{"cannot make a pair of sockets"};
      const auto add = [&](Rank rank, Rank peer, int end) {
        voices_[index(rank)][index(peer)] = Descriptor{dup(end)};
        watched[index(rank)].push_back({.rank = peer,
                                        .host = std::string(1, static_cast<char>(97 + peer)),
                                        .is_local = !options.remote,
                                        .socket = Descriptor{end}});
      };
      add(low, high, ends[0]);
      add(high, low, ends[1]);
    }
  for (Rank rank = 0; rank < options.size; ++rank)
    controls_.push_back(options.impersonated == rank
                            ? nullptr
                            : std::make_unique<runtime::Control>(
                                  rank, std::move(watched[index(rank)]), options.heartbeat));
}

void ControlGroup::kill(Rank rank) {
  for (const Descriptor& voice : voices_[index(rank)]) ::shutdown(voice.get(), SHUT_WR);
}

std::vector<std::shared_ptr<FailureSignal>> ControlGroup::watch(std::uint64_t communicator,
                                                                const std::vector<Rank>& members) {
  std::vector<std::shared_ptr<FailureSignal>> alarms(controls_.size());
  for (const Rank member : members)
    if (controls_[index(member)] != nullptr)
      alarms[index(member)] = controls_[index(member)]->watch(communicator, members);
  return alarms;
}

std::optional<Error> heard(const FailureSignal& failure_signal, milliseconds patience) {
  const auto deadline = in(patience);
  while (!failure_signal.is_raised() && Clock::now() < deadline) std::this_thread::sleep_for(100us);
  try {
    failure_signal.check();
  } catch (const Error& error) {
    return error;
  }
  return {};
}

std::string text_of(const FailureSignal& failure_signal) {
  const auto error = heard(failure_signal, 0ms);
  return error ? error->what() : "";
}

}  // namespace tutti::test
