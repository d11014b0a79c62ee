/// @file
/// How the ranks of a communicator find each other and connect, each with each.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "mesh.hpp"

namespace tutti::nccl_standin {

/// A rank listens at a name made of the communicator's and its own number; it connects to those
/// with lower numbers. Both ends of a connection then say who they are.
class Bootstrap {
 public:
  Bootstrap(Membership membership, const Device& device);

  /// Does what can be done without waiting. @return whether all connections stand. Throws Failure.
  bool progress();
  /// Throws Failure if two ranks have the same device, unless NCCL_MULTI_RANK_GPU_ENABLE is 1.
  void check_devices() const;
  /// @return the connections, by rank.
  std::vector<Link> take_links();
  /// @return the connections for notes, by rank.
  std::vector<Socket> take_sockets();

 private:
  static constexpr std::size_t kChannels = 3;  ///< For data, for control, for notes.

  struct Hello {
    std::uint64_t magic = 0;
    std::int32_t size = 0;
    std::int32_t rank = 0;
    std::uint64_t channel = 0;
    std::array<char, sizeof(CUuuid)> device{};
  };
  /// A connection whose other end has not yet said who it is.
  struct Greeting {
    Socket socket;
    bool accepted = false;  ///< This end answers.
    std::size_t received = 0;
    std::array<std::byte, sizeof(Hello)> bytes{};
  };
  struct Peer {
    std::array<bool, kChannels> asked{};
    std::array<Socket, kChannels> sockets;
    Hello hello;
  };

  void ask();
  void accept();
  bool listen(Greeting& greeting);
  void complete(Greeting& greeting);
  void say_hello(const Socket& socket, std::uint64_t channel) const;
  void expect(const Hello& hello) const;

  const Membership membership_;
  const Hello own_;
  Socket listener_;
  std::vector<Greeting> greetings_;
  std::vector<Peer> peers_;
  std::size_t missing_;  ///< Connections that do not stand yet.
};

}  // namespace tutti::nccl_standin
