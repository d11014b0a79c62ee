/// @file
/// The speed of the network between hosts, in classes that are equal at every start of a job.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// Powers of ten, so wide that disturbances of a measurement do not change the class: otherwise the
/// same job could choose other algorithms at its next start, and round differently. Speeds above 10
/// Gbit/s are one class, because a TCP connection is then limited by processors.
enum class NetworkSpeed : std::uint8_t {
  unknown,       ///< It could not be measured.
  megabits_100,  ///< 100 Mbit/s: less than 316 Mbit/s.
  gigabit_1,     ///< 1 Gbit/s: less than 3.16 Gbit/s.
  gigabits_10    ///< 10 Gbit/s, or more.
};

/// The sizes of the two probes of speed_between, in bytes: large enough that a burst that shapers
/// and switches let pass does not matter.
inline constexpr std::size_t kShortProbeBytes = std::size_t{256} << 10;
inline constexpr std::size_t kLongProbeBytes = std::size_t{1280} << 10;

/// @param bytes that a connection carried. @param time that they took, without the latency.
[[nodiscard]] NetworkSpeed speed_of(std::size_t bytes, Duration time) noexcept;
/// @param short_probe time from sending kShortProbeBytes to the receipt of the answer.
/// @param long_probe this time for kLongProbeBytes.
[[nodiscard]] NetworkSpeed speed_between(Duration short_probe, Duration long_probe) noexcept;

}  // namespace tutti::v0
