/// @file
/// Costs of messages and bytes, by which algorithms are chosen.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include <tutti/export.hpp>
#include <tutti/version.hpp>

namespace tutti::v0 {

/// A duration in femtoseconds: fine enough for a byte, and two hours fit. Sums saturate.
using Femtoseconds = std::int64_t;

/// Costs of a network with one switch.
struct LinkCosts {
  Femtoseconds alpha = 0;  ///< Per message.
  Femtoseconds beta = 0;   ///< Per byte of the larger of in and out.
  Femtoseconds gamma = 0;  ///< Per byte reduced.
  /// Per round of the schedule: the wait until other ranks have had their turn.
  Femtoseconds round = 0;
  /// Whether bytes move without the rank, as over a wire, so that it sends and reduces other
  /// segments meanwhile; over memory the sending rank moves them.
  bool overlaps = false;
  /// Whether a rank moves incoming and outgoing bytes one after the other, as processors do over
  /// memory, and pays for both.
  bool half_duplex = false;
  /// Number of cores if the ranks outnumber them: then no rank is faster than the work of all ranks
  /// on these cores. 0: each rank has one.
  int shared_cores = 0;
  /// The longest message that the transport buffers, so that its sender continues at once. The
  /// receiver of a longer one reads it in place while the sender waits, at no cost for other ranks.
  /// 0: no message is read in place.
  std::int64_t buffered_bytes = 0;
  /// Per reduced byte of a message that is read in place, and so copied first. 0: gamma.
  Femtoseconds gamma_read = 0;
  /// Whether all operands of a slot in one round are reduced in one pass, in place: then messages
  /// read in place cost a byte's price once at the destination, not once for each sender.
  bool fuses = false;
  /// Equality of all members.
  friend bool operator==(const LinkCosts&, const LinkCosts&) = default;
};

/// Four microseconds per message, the cost of a message that is not buffered between processes of
/// one host; 10 GB/s; reductions at 20 GB/s.
inline constexpr LinkCosts kDefaultCosts{.alpha = 4'000'000'000, .beta = 100'000, .gamma = 50'000};

/// Between GPUs joined by NVLink: ten microseconds for a message, which is a kernel; 200 GB/s; a
/// reduced byte is three accesses to memory of 3 TB/s.
inline constexpr LinkCosts kNvlinkCosts{.alpha = 10'000'000'000, .beta = 5'000, .gamma = 1'000};
/// Between GPUs of a host joined by PCIe only: 20 GB/s.
inline constexpr LinkCosts kPcieCosts{.alpha = 10'000'000'000, .beta = 50'000, .gamma = 1'000};
/// Between GPUs of different hosts, each on a rail of 25 GB/s (200 Gbit/s).
inline constexpr LinkCosts kRailCosts{.alpha = 15'000'000'000, .beta = 40'000, .gamma = 1'000};

/// Costs and their origin. The costs are equal on all ranks, since ranks with different ones would
/// choose different algorithms.
struct CostModel {
  LinkCosts costs = kDefaultCosts;             ///< The default costs.
  std::string origin = "assumed of any host";  ///< For explain(), such as "measured at the start".
  /// Costs of calls with Options::visible, if they differ.
  std::optional<LinkCosts> visible{};
  /// Costs for choices that must be equal in every run, if those above were measured or counted.
  std::optional<LinkCosts> lasting{};
  /// Costs between ranks of one host, if `costs` are those of the network between hosts, which
  /// ranks of one host then share.
  std::optional<LinkCosts> inside{};
  /// Costs between islands of GPUs of one host, if `inside` holds within an island. Empty:
  /// `inside`.
  std::optional<LinkCosts> across{};
};

}  // namespace tutti::v0
