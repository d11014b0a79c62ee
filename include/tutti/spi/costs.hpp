/// @file
/// What messages and bytes are taken to cost: what choices of algorithms rest on.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// A length of time in femtoseconds: fine enough for a byte, and two hours fit. Sums saturate.
using Femtoseconds = std::int64_t;

/// What a network with one switch charges.
struct LinkCosts {
  Femtoseconds alpha = 0;  ///< Per message.
  Femtoseconds beta = 0;   ///< Per byte of the larger of in and out.
  Femtoseconds gamma = 0;  ///< Per byte reduced.
  Femtoseconds round = 0;  ///< Per round of the schedule: waiting for others to have their turn.
  /// Whether bytes move by themselves, as over a wire, while a rank sends and reduces what belongs
  /// to other segments; over memory the rank that sends moves them.
  bool overlaps = false;
  /// Whether a rank moves what comes in and what goes out one after the other, as processors do
  /// over memory, and pays for both.
  bool half_duplex = false;
  /// How many cores the ranks share, where they outnumber them: then no rank gets on faster than
  /// all that all do leaves time for. 0: each rank has one.
  int shared_cores = 0;
  /// The longest message that its sender copies and forgets. A longer one waits until its receiver
  /// reads it where it lies, and costs no other rank a thing. 0: no message is read so.
  std::int64_t buffered_bytes = 0;
  /// Per byte reduced of a message that is read so, which is copied before it is. 0: gamma.
  Femtoseconds gamma_read = 0;
  /// Whether all that is reduced into a place in one round is read in one pass, where it lies: then
  /// what is read so costs a byte's price where it is stored, and not once for each sender.
  bool fuses = false;
  /// Equality of all members.
  friend bool operator==(const LinkCosts&, const LinkCosts&) = default;
};

/// Four microseconds per message, which is what a message too long to be sent at once costs between
/// processes of one host; 10 GB/s; reductions at 20 GB/s.
inline constexpr LinkCosts kDefaultCosts{.alpha = 4'000'000'000, .beta = 100'000, .gamma = 50'000};

/// Between GPUs that NVLink joins: ten microseconds for a message, which is a kernel; 200 GB/s; a
/// byte that is reduced is three accesses to memory of 3 TB/s.
inline constexpr LinkCosts kNvlinkCosts{.alpha = 10'000'000'000, .beta = 5'000, .gamma = 1'000};
/// Between GPUs of a host that only PCIe joins: 20 GB/s.
inline constexpr LinkCosts kPcieCosts{.alpha = 10'000'000'000, .beta = 50'000, .gamma = 1'000};
/// Between GPUs of different hosts, each on a rail of 25 GB/s, which is 200 Gbit/s.
inline constexpr LinkCosts kRailCosts{.alpha = 15'000'000'000, .beta = 40'000, .gamma = 1'000};

/// Costs, and where they come from. The costs are equal on all ranks, since ranks that took
/// different ones would choose different algorithms.
struct CostModel {
  LinkCosts costs = kDefaultCosts;             ///< What is charged.
  std::string origin = "assumed of any host";  ///< For a person, such as "measured at the start".
  /// What is charged for Options::visible, if something else.
  std::optional<LinkCosts> visible{};
  /// If the above was measured or counted: what to charge where every run must choose alike.
  std::optional<LinkCosts> lasting{};
  /// What is charged between ranks of one host, where `costs` are those of the network between
  /// hosts, which ranks of one host then share.
  std::optional<LinkCosts> inside{};
  /// Of GPUs: what is charged between islands of one host, where `inside` is within an island. If
  /// not said: as `inside`.
  std::optional<LinkCosts> across{};
};

}  // namespace tutti::v0
