/// @file
/// Control: the thread that sleeps until something happens to another process.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <tutti/alarm.hpp>

#include "control_message.hpp"
#include "socket.hpp"

namespace tutti::runtime {

/// How closely other hosts are watched. Processes of the own host need no watching: the system says
/// at once when one ends.
struct Vigilance {
  std::chrono::milliseconds heartbeat{250};  ///< A rank that has nothing to say says that so often.
  std::chrono::milliseconds lost{5000};      ///< A rank silent for so long is given up.
};

/// Another process, as control sees it.
struct Watched {
  Rank rank = 0;         ///< In the world.
  std::string name{};    ///< For a person, such as "rank 3 (host b)".
  bool is_local = true;  ///< Whether it shares the host, and so needs no heartbeats.
  Descriptor socket{};   ///< Connected and authenticated.
};

/// Watches the other processes of a world over one socket each, and carries what communicators have
/// to say when they fail. Payload never passes here. Its thread blocks all signals and sleeps
/// unless a message comes or a heartbeat is due. Methods may be called from any thread.
class Control {
 public:
  /// Starts the thread. Throws Error{transport}. @param self own rank in the world.
  /// @param peers the other processes. @param vigilance see Vigilance.
  Control(Rank self, std::vector<Watched> peers, const Vigilance& vigilance);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;
  /// Says goodbye, for half a second at the most, and ends the thread.
  ~Control();

  /// The alarm of a new communicator: goes off when one of its ranks fails, ends, or is lost, on
  /// every rank with the same cause; what is raised here is told there. Forgotten with the last
  /// owner.
  /// @param communicator its id. @param members ranks in the world, in the communicator's order.
  [[nodiscard]] std::shared_ptr<Alarm> watch(std::uint64_t communicator, std::vector<Rank> members);

 private:
  enum class State : std::uint8_t { here, left, dead };
  struct Peer {
    Watched watched;
    State state = State::here;
    std::string incoming{};
    std::string outgoing{};
    std::chrono::steady_clock::time_point heard{};
    std::string cause{};  // why it is dead
  };
  struct Communicator {
    std::vector<Rank> members;
    std::weak_ptr<Alarm> alarm;
  };

  void serve() noexcept;
  void wait();
  void beat();
  void read(Peer& peer);
  void write(Peer& peer);
  void take(Peer& peer, const ControlMessage& message);
  void lose(Peer& peer, const std::string& cause);
  void tell(std::uint64_t communicator, const Error& cause);
  void send(Peer& peer, const ControlMessage& message);
  void wake() noexcept;
  [[nodiscard]] Error death_of(const Peer& peer, const Communicator& communicator) const;
  [[nodiscard]] Peer* find(Rank rank) noexcept;
  [[nodiscard]] bool has_said_all() const;

  using Clock = std::chrono::steady_clock;
  const Rank self_;
  const Vigilance vigilance_;
  std::mutex mutex_{};  // of all below
  std::vector<Peer> peers_{};
  std::map<std::uint64_t, Communicator> communicators_{};
  // Failures of communicators that this process has not made yet.
  std::deque<std::pair<std::uint64_t, Error>> early_{};
  Descriptor bell_{};
  bool is_closing_ = false;
  bool has_remote_ = false;
  Clock::time_point next_beat_{};
  std::thread thread_{};
};

}  // namespace tutti::runtime
