/// @file
/// Group: all ranks of a communicator, driven by one thread, and the messages between them. Of
/// ranks in other processes it does what becomes visible: there the same test runs.
#pragma once

#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "backends.hpp"

namespace tutti::conformance {

/// Bytes of a message. They are compared at once, which std::vector does one by one: most of the
/// time of a build that is not optimised.
struct Bytes : std::vector<std::byte> {
  using vector::vector;
  friend bool operator==(const Bytes& a, const Bytes& b) {
    return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }
};

/// @param bytes how many. @param seed another one gives others. @return bytes to recognise.
[[nodiscard]] Bytes pattern(std::size_t bytes, std::uint64_t seed);

/// The properties of a message.
struct Envelope {
  std::uint32_t tag = 0;          ///< As Transfer::tag.
  std::uint64_t fingerprint = 7;  ///< As Transfer::fingerprint.
  std::size_t piece = 0;          ///< Cut the bytes into pieces of about this size; 0: into one.
  Combiner* combiner = nullptr;   ///< As Transfer::combiner.
  bool reduced = false;           ///< As Transfer::reduced.
  bool accepts_shorter = false;   ///< As Transfer::accepts_shorter.
};

/// All ranks of a communicator.
class Group {
 public:
  /// @param links between the processes. @param membership an alarm is added where there is none.
  Group(Links& links, Membership membership);
  /// The world's communicator. @param links see above. @param size of the world.
  Group(Links& links, int size);

  /// @return the number of ranks.
  [[nodiscard]] int size() const noexcept { return static_cast<int>(sides_.size()); }
  /// @param rank which. @return whether it is in this process.
  [[nodiscard]] bool is_here(Rank rank) const {
    return sides_[static_cast<std::size_t>(rank)].is_here;
  }
  /// @param rank which, in this process. @return its transport.
  [[nodiscard]] Transport& operator[](Rank rank) { return *side(rank).transport; }
  /// @return what the transports can do.
  [[nodiscard]] const Capabilities& capabilities() const;

  /// Posts a send. @param rank who. @param peer to whom. @param bytes what; not copied.
  /// @param envelope see Envelope. @return the cookie.
  std::uint64_t send(Rank rank, Rank peer, const Bytes& bytes, const Envelope& envelope = {});
  /// Posts a receive. @param rank who. @param peer from whom. @param bytes where to.
  /// @param envelope see Envelope. @return the cookie.
  std::uint64_t receive(Rank rank, Rank peer, Bytes& bytes, const Envelope& envelope = {});
  /// Posts a transfer and expects its completion. @param rank who. @param transfer what.
  /// @return the cookie, which is set here.
  std::uint64_t post(Rank rank, Transfer transfer);

  /// Polls every rank that has not failed once. @return whether anything completed or failed.
  bool step();
  /// Polls one rank once. @param rank which. @return as step.
  bool step(Rank rank);
  /// Steps until a condition holds; past the deadline the test fails. @param over the condition.
  /// @return whether it came to hold.
  bool run_until(const std::function<bool()>& over);
  /// @return whether every transfer of every rank that has not failed is complete.
  [[nodiscard]] bool settled() const;
  /// Steps until it is so; the test fails where a rank does. @return whether all went well.
  bool finish();
  /// Steps until a rank has failed, or, where it is in another process, until this one has heard of
  /// it. @param rank which. @return whether it has failed, here.
  bool await_failure(Rank rank);
  /// Steps for a while, to see that something does not happen.
  void linger();

  /// @param rank which. @param cookie of a transfer. @return whether it is complete.
  [[nodiscard]] bool complete(Rank rank, std::uint64_t cookie) const;
  /// @param rank which. @return how it failed, if it did.
  [[nodiscard]] const std::optional<Error>& error(Rank rank) const {
    return sides_[static_cast<std::size_t>(rank)].error;
  }
  /// Destroys a rank's transport; it is not polled any more. @param rank which.
  void destroy(Rank rank);

 private:
  struct Side {
    std::unique_ptr<Transport> transport{};
    std::map<std::uint64_t, bool> done{};  // by cookie
    std::size_t pending = 0;
    std::optional<Error> error{};
    bool is_here = true;
  };
  /// One end of a message to or from another process.
  struct End {
    Rank rank = 0;
    std::uint64_t cookie = 0;
    std::span<const Piece> pieces{};
  };
  /// Messages of the other processes for one sender, receiver and tag.
  struct Route {
    std::deque<End> sends{};
    std::deque<End> receives{};
  };
  [[nodiscard]] Side& side(Rank rank) { return sides_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool poll(Side& side);
  void follow(Rank rank, const Transfer& transfer);
  static void end(Side& side, std::uint64_t cookie);
  std::span<const Piece> pieces(std::byte* data, std::size_t bytes, std::size_t piece);

  Links& links_;
  std::shared_ptr<FailureSignal> failure_signal_{};
  std::deque<std::vector<Piece>> pieces_{};  // which transports look at until they are gone
  std::vector<Side> sides_{};
  bool are_all_here_ = true;
  std::map<std::array<std::int64_t, 3>, Route> routes_{};
  std::uint64_t cookies_ = 0;
};

/// A backend on a number of ranks.
struct Setting {
  Backend backend{};  ///< Which.
  int size = 1;       ///< How many.
};
/// How GoogleTest shows a setting. @param setting which. @param stream where.
inline void PrintTo(const Setting& setting, std::ostream* stream) {
  *stream << setting.backend.name << setting.backend.variant << " on " << setting.size;
}
/// @param least ranks. @return every backend on every number of ranks.
[[nodiscard]] std::vector<Setting> settings(int least = 1);
/// @param info of a parameterised test. @return such as "tcp_on_4".
[[nodiscard]] std::string name_of(const ::testing::TestParamInfo<Setting>& info);

}  // namespace tutti::conformance
