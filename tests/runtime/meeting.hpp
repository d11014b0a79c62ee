/// @file
/// Ranks that meet at a store on the loopback.
#pragma once

#include <future>
#include <string>

#include <gtest/gtest.h>

#include "runtime/meeting/store.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {

/// The options of a rank at a known address, without a secret.
inline runtime::StoreOptions options_at(const runtime::HostAndPort& address, Rank rank, int n) {
  runtime::StoreOptions options;
  options.rank = rank;
  options.size = n;
  options.address = address;
  return options;
}

/// A world that meets at a port of rank 0's choice.
class Meeting {
 public:
  explicit Meeting(int n) : n_{n} {}

  /// The options of a rank; for all but rank 0 it waits until rank 0 listens.
  runtime::StoreOptions options(Rank rank) {
    runtime::StoreOptions options = options_at({"127.0.0.1", 0}, rank, n_);
    options.job = 7;
    options.secret = secret_of(1);
    options.host = "host" + std::to_string(rank);
    if (rank == 0) options.listening = [this](std::uint16_t port) { port_.set_value(port); };
    else options.address.port = port();
    return options;
  }
  std::uint16_t port() { return known_.get(); }

 private:
  int n_;
  std::promise<std::uint16_t> port_;
  std::shared_future<std::uint16_t> known_ = port_.get_future().share();
};

/// Says the own rank in a few rounds and checks what everyone said.
inline void talk(Channel& channel, milliseconds patience = kAmple, int rounds = 3) {
  for (int round = 0; round < rounds; ++round) {
    const auto text_of = [&](Rank rank) {
      return std::string(static_cast<std::size_t>(rank * 100), 'x') + std::to_string(round);
    };
    const auto all = channel.all_gather(text_of(channel.rank()), in(patience));
    ASSERT_EQ(all.size(), static_cast<std::size_t>(channel.size()));
    for (Rank rank = 0; rank < channel.size(); ++rank)
      EXPECT_EQ(all[static_cast<std::size_t>(rank)], text_of(rank));
  }
}

}  // namespace tutti::test
