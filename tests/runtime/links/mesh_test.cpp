// Connecting all ranks: the link of each pair, and the errors if a rank does not come.
#include "runtime/links/mesh.hpp"

#include <unistd.h>

#include <gtest/gtest.h>

#include <thread>

#include "runtime/links/memory_domain.hpp"
#include "runtime/security/tls.hpp"
#include "runtime/sockets/fields.hpp"
#include "tests/runtime/intruders.hpp"
#include "tests/runtime/links/forwarding_channel.hpp"
#include "tests/runtime/ranks.hpp"

namespace tutti::test {
namespace {

using namespace std::chrono_literals;
using namespace tutti::runtime;

MeshOptions options_of(const Descriptor& memory) {
  MeshOptions options;
  options.memory = memory.get();
  return options;
}

/// Each end sends its rank and the purpose of this connection.
void check_socket(const Descriptor& socket, Rank self, Rank peer, Purpose purpose) {
  const std::array<int, 2> said{self, static_cast<int>(purpose)};
  std::array<int, 2> heard{};
  send_all(socket.get(), std::as_bytes(std::span{said}), in(kAmple));
  receive_all(socket.get(), std::as_writable_bytes(std::span{heard}), in(kAmple));
  EXPECT_EQ(heard, (std::array<int, 2>{peer, static_cast<int>(purpose)}));
}

/// Checks that every link leads where it says.
void check_mesh(const Mesh& mesh, const Channel& channel,
                const std::function<bool(Rank)>& is_local) {
  const Rank self = channel.rank();
  ASSERT_EQ(mesh.links.size(), static_cast<std::size_t>(channel.size() - 1));
  ASSERT_EQ(mesh.infos.size(), static_cast<std::size_t>(channel.size()));
  Rank expected = 0;
  for (const MeshLink& link : mesh.links) {
    if (expected == self) ++expected;
    EXPECT_EQ(link.peer, expected++);
    EXPECT_EQ(link.local, is_local(link.peer));
    ASSERT_EQ(static_cast<bool>(link.data), !link.local);
    ASSERT_EQ(static_cast<bool>(link.memory), link.local);
    check_socket(link.control, self, link.peer, Purpose::control);
    if (link.data) check_socket(link.data, self, link.peer, Purpose::data);
    if (!link.local) continue;
    Rank owner = -1;
    EXPECT_EQ(::pread(link.memory.get(), &owner, sizeof owner, 0), ssize_t{sizeof owner});
    EXPECT_EQ(owner, link.peer);
  }
}

TEST(Mesh, UsesTheNetworkWhereOneHasNoMemory) {
  const auto channels = local_channels(3, true);
  expect_no_error(run_ranks(3, [&](Rank rank) {
    Channel& channel = *channels[static_cast<std::size_t>(rank)];
    const Descriptor memory = rank == 1 ? Descriptor{} : memory_of(rank);
    const Mesh mesh = connect_mesh(channel, options_of(memory), in(kAmple));
    check_mesh(mesh, channel, [&](Rank peer) { return rank != 1 && peer != 1; });
    EXPECT_EQ(mesh.memory_domains, (std::vector<Rank>{0, 1, 0}));
    EXPECT_EQ(first_remote_rank(mesh.infos), -1);
  }));
}

TEST(Mesh, EncryptsWhatGoesOverTheNetwork) {
  if (!has_tls()) GTEST_SKIP() << "built without OpenSSL";
  const auto channels = local_channels(3, true);
  expect_no_error(run_ranks(3, [&](Rank rank) {
    const Descriptor memory = rank == 1 ? Descriptor{} : memory_of(rank);
    MeshOptions options = options_of(memory);
    options.tls = true;
    const Mesh mesh = connect_mesh(*channels[static_cast<std::size_t>(rank)], options, in(kAmple));
    for (const MeshLink& link : mesh.links) {
      EXPECT_EQ(link.control_cipher != nullptr, !link.local);
      EXPECT_EQ(link.data_cipher != nullptr, !link.local);
    }
  }));
}

// Every link must be there, else each of the ranks could take another host for its own.
TEST(Mesh, CountsRanksThatDoNotAllShareMemoryAsAlone) {
  using Ranks = std::vector<Rank>;
  const auto memory_domains = [](const std::vector<Ranks>& shared) {
    std::vector<MemoryDomain> said(shared.size());
    for (std::size_t rank = 0; rank < shared.size(); ++rank)
      for (const Rank member : shared[rank]) said[rank].add(member);
    return memory_domains_of(said);
  };
  EXPECT_EQ(memory_domains({{0, 2}, {1}, {0, 2}, {3, 4}, {3, 4}}), (Ranks{0, 1, 0, 3, 3}));
  EXPECT_EQ(memory_domains({{0, 1, 2}, {0, 1}, {0, 2}}), (Ranks{0, 1, 2}));  // 1 and 2 share none
  EXPECT_EQ(memory_domains({{0, 1}, {0, 1, 2}, {1, 2}}), (Ranks{0, 1, 2}));  // nor 0 and 2 here
  EXPECT_EQ(memory_domains({{0, 1, 2}, {0, 1, 3}, {0, 2, 4}, {1, 3}, {2, 4}}),
            (Ranks{0, 1, 2, 3, 4}));
}

TEST(Mesh, UsesTheNetworkBetweenUsers) {
  const auto channels = local_channels(2, true);
  expect_no_error(run_ranks(2, [&](Rank rank) {
    Channel& channel = *channels[static_cast<std::size_t>(rank)];
    const Descriptor memory = memory_of(rank);
    MeshOptions options = options_of(memory);
    options.host.user += static_cast<std::uint32_t>(rank);
    const Mesh mesh = connect_mesh(channel, options, in(kAmple));
    check_mesh(mesh, channel, [](Rank) { return false; });
  }));
}

/// All ranks fail, with a text that holds this.
void expect_told(const std::vector<Outcome>& outcomes, const std::string& text,
                 milliseconds bound = kLongBefore) {
  for (const Outcome& outcome : outcomes) {
    EXPECT_NE(outcome.text().find(text), std::string::npos) << outcome.text();
    EXPECT_LT(outcome.elapsed, bound);
  }
}

TEST(Mesh, TellsEveryoneOfAnotherVersion) {
  const auto channels = local_channels(3, true);
  expect_told(run_ranks(3,
                        [&](Rank rank) {
                          MeshOptions options;
                          if (rank == 1) options.versions = {2, 3};
                          (void)connect_mesh(*channels[static_cast<std::size_t>(rank)], options,
                                             in(kAmple));
                        }),
              "uses version 1 of tutti's protocol, but rank 1 uses versions 2 to 3");
}

TEST(Mesh, TellsEveryoneOfAnotherSecret) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  for (const bool is_private : {false, true})
    for (const Rank odd : {0, 2}) {
      const auto channels = local_channels(3, is_private);
      const auto outcomes = run_ranks(3, [&](Rank rank) {
        MeshOptions options;
        options.secret = secret_of(rank == odd ? 2 : 1);
        if (odd == 2 && rank == odd && is_private) options.secret.reset();
        (void)connect_mesh(*channels[static_cast<std::size_t>(rank)], options, in(kAmple));
      });
      expect_told(outcomes, "do not share a secret: wrong secret");
      for (const Outcome& outcome : outcomes) {
        EXPECT_EQ(outcome.error->code(), ErrorCode::mismatch);
        EXPECT_EQ(outcome.error->culprit(), odd);
      }
    }
}

TEST(Mesh, TellsEveryoneOfAWrongInterface) {
  const auto channels = local_channels(3, true);
  const auto outcomes = run_ranks(3, [&](Rank rank) {
    MeshOptions options;
    if (rank == 1) options.interface = "nonsense0";
    (void)connect_mesh(*channels[static_cast<std::size_t>(rank)], options, in(kAmple));
  });
  expect_told(outcomes,
              "TUTTI_ADDRESS, or InitOptions::address, is 'nonsense0', but must be an interface");
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error->culprit(), 1);
}

TEST(Mesh, NeedsASecretBetweenHosts) {
  if (!has_cryptography()) GTEST_SKIP() << "built without OpenSSL";
  try {
    (void)outward_address();
  } catch (const Error&) {
    GTEST_SKIP() << "this machine has no network";
  }
  for (const bool insecure : {false, true}) {
    const auto channels = local_channels(2, false);
    const auto outcomes = run_ranks(2, [&](Rank rank) {
      MeshOptions options;
      options.host.boot += std::to_string(rank);
      options.insecure = insecure;
      (void)connect_mesh(*channels[static_cast<std::size_t>(rank)], options, in(kAmple));
    });
    if (insecure) expect_no_error(outcomes);
    else expect_told(outcomes, "without a secret to authenticate its peers");
  }
}

TEST(Mesh, TellsEveryoneWhyARankGaveUp) {
  constexpr int kNoDescriptor = 1'000'000;  // cannot be passed on
  for (Rank odd = 0; odd < 4; ++odd) {
    const auto channels = local_channels(4, true);
    const auto outcomes = run_ranks(4, [&](Rank rank) {
      const Descriptor memory = memory_of(rank);
      MeshOptions options = options_of(memory);
      if (rank == odd) options.memory = kNoDescriptor;
      (void)connect_mesh(*channels[static_cast<std::size_t>(rank)], options, in(kAmple));
    });
    expect_told(outcomes, "failed: cannot send a descriptor: Bad file descriptor");
    for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error->code(), ErrorCode::transport);
  }
}

/// A channel of very many ranks that never send.
class WideChannel final : public Channel {
 public:
  [[nodiscard]] Rank rank() const noexcept override { return 0; }
  [[nodiscard]] int size() const noexcept override { return 2147483647; }
  [[nodiscard]] std::string describe() const override { return "nothing"; }
  [[nodiscard]] bool is_private() const noexcept override { return true; }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view, Deadline) override {
    throw std::bad_alloc{};
  }
};

TEST(Mesh, RefusesSizesThatCannotBe) {
  WideChannel channel;
  const auto outcomes = run_ranks(1, [&](Rank) { (void)connect_mesh(channel, {}, in(kAmple)); });
  EXPECT_EQ(outcomes[0].text(),
            "the channel has 2147483647 ranks, but a world has at most 1048576");
}

/// A channel whose rank dies after some rounds.
class DyingChannel final : public ForwardingChannel {
 public:
  DyingChannel(Channel& inner, int rounds) : ForwardingChannel{inner}, rounds_{rounds} {}
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override {
    auto all = inner_.all_gather(own, deadline);
    if (--rounds_ == 0) throw Error{ErrorCode::bug, "dies"};
    return all;
  }

 private:
  int rounds_;
};

TEST(Mesh, NamesTheRankThatDiedOnTheWay) {
  for (int rounds = 1; rounds <= 2; ++rounds) {
    std::string texts;
    const bool is_named = with_enough_time(1s, [&](milliseconds time) {
      const auto channels = local_channels(4, true);
      const auto outcomes = run_ranks(4, [&](Rank rank) {
        Channel& channel = *channels[static_cast<std::size_t>(rank)];
        const Descriptor memory = memory_of(rank);
        DyingChannel dying{channel, rank == 2 ? rounds : 99};
        (void)connect_mesh(dying, options_of(memory), in(time));
      });
      texts.clear();
      for (const Outcome& outcome : outcomes) texts += outcome.text() + "\n";
      return std::ranges::all_of(std::array{0, 1, 3}, [&](int rank) {
        const Outcome& outcome = outcomes[static_cast<std::size_t>(rank)];
        return outcome.text().find("for rank 2 of 4") != std::string::npos &&
               outcome.error->culprit() == 2;
      });
    });
    EXPECT_TRUE(is_named) << texts;
  }
}

/// A channel whose rank is late to connect, or gives an address without a listener.
class OddChannel final : public ForwardingChannel {
 public:
  OddChannel(Channel& inner, bool is_late, std::string place)
      : ForwardingChannel{inner}, is_late_{is_late}, place_{std::move(place)} {}
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override {
    const bool is_place = ++round_ == 2;
    const std::string said = is_place && !place_.empty() ? place_ : std::string{own};
    auto all = inner_.all_gather(said, deadline);
    if (is_place && is_late_) std::this_thread::sleep_for(300ms);
    return all;
  }

 private:
  bool is_late_;
  std::string place_;
  int round_ = 0;
};

TEST(Mesh, TellsThoseThatAreConnectedToAllOfAFailure) {
  std::string nowhere(1, '\1');
  write_text(nowhere, "127.0.0.1:" + std::to_string(free_port()));
  write_text(nowhere, "tutti-nobody");
  const auto channels = local_channels(3, true);
  const auto outcomes = run_ranks(3, [&](Rank rank) {
    OddChannel channel{*channels[static_cast<std::size_t>(rank)], rank == 2,
                       rank == 1 ? nowhere : ""};
    (void)connect_mesh(channel, {}, in(kAmple));
  });
  expect_told(outcomes, "cannot be reached");
  for (const Outcome& outcome : outcomes) EXPECT_EQ(outcome.error->culprit(), 1);
}

}  // namespace
}  // namespace tutti::test
