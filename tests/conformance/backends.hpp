/// @file
/// The backends that are held to what Transport promises. To add one: derive from Links, and name
/// it in backends.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tutti/spi/failure_signal.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::conformance {

/// The shared memory of a process. All ranks map all segments into this one process, whose
/// addresses are few under a sanitizer.
inline constexpr std::size_t kSegmentBytes = std::size_t{1} << 30;

/// A communicator to be made, on each of its members.
struct Membership {
  std::uint64_t communicator = 1;  ///< Its number.
  std::vector<Rank> members{};     ///< Ranks in the world, in the communicator's order.
  std::shared_ptr<FailureSignal>
      failure_signal{};  ///< One for all ranks: it stands for the control plane.
};

/// Several processes, in one, with links between all of them. Or this process among others which
/// run the same test, each of them one rank.
class Links {
 public:
  Links() = default;
  Links(const Links&) = delete;
  Links& operator=(const Links&) = delete;
  virtual ~Links() = default;

  /// @param world a rank. @return whether it is in this process; else another one drives it.
  [[nodiscard]] virtual bool is_here(Rank world) const {
    (void)world;
    return true;
  }
  /// @param world the rank that makes its end. @param membership of what. @return its transport.
  [[nodiscard]] virtual std::unique_ptr<Transport> transport(Rank world,
                                                             const Membership& membership) = 0;
  /// Called when no rank made progress: lets virtual time pass.
  virtual void idle() {}
  /// The process is gone. Its transports have been destroyed, or are not used any more.
  /// @param world its rank.
  virtual void kill(Rank world) = 0;
};

/// Parameters of links.
struct LinksOptions {
  int size = 1;      ///< Number of processes.
  Rank mortal = -1;  ///< The one that a test will kill.
};

/// A backend, and what it cannot express.
struct Backend {
  std::string name{};        ///< Such as "tcp".
  std::string variant{};     ///< Distinguishes backends of one name, such as "_process".
  bool bounded = true;       ///< Whether messages without a receive take bounded memory.
  bool one_process = true;   ///< Whether all ranks are in this process, to be killed, too.
  bool threads = true;       ///< Whether different ranks may be driven by different threads.
  bool helps_others = true;  ///< Whether polling one communicator moves another one's messages.
  bool heeds_alarm = true;   ///< Whether it goes by the alarm it is given; else by one of its own.
  bool finds_unmatched = true;               ///< Whether find_unmatched does.
  std::vector<int> sizes{1, 2, 3, 4, 7, 8};  ///< Numbers of ranks it is tested on.
  /// Connects processes.
  std::function<std::unique_ptr<Links>(const LinksOptions&)> connect{};
};

/// @return all backends of this program.
[[nodiscard]] const std::vector<Backend>& backends();

/// @return the simulated cluster.
[[nodiscard]] Backend sim_backend();
/// @return shared memory.
[[nodiscard]] Backend shm_backend();
/// @return shared memory, where ranks also outnumber cores.
[[nodiscard]] Backend shm_crowded_backend();
/// @return TCP over the loopback interface.
[[nodiscard]] Backend tcp_backend();
/// @return encrypted TCP, if this build has it.
[[nodiscard]] std::vector<Backend> tls_backends();
/// @return shared memory inside a host and TCP between hosts, by placement of the ranks.
[[nodiscard]] std::vector<Backend> hybrid_backends();

}  // namespace tutti::conformance
