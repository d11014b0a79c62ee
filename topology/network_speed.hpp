/// @file
/// How fast the network between hosts is, in classes that every start of a job finds alike.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tutti/types.hpp>

namespace tutti::v0 {

/// Decades, so wide that what disturbs a measurement does not move it to another class: else the
/// same job would choose other algorithms the next time, and round differently. More than 10 Gbit/s
/// is not told apart, because one TCP connection is then bound by processors.
enum class NetworkSpeed : std::uint8_t {
  unknown,       ///< It could not be measured.
  megabits_100,  ///< 100 Mbit/s: less than 316 Mbit/s.
  gigabit_1,     ///< 1 Gbit/s: less than 3.16 Gbit/s.
  gigabits_10    ///< 10 Gbit/s, or more.
};

/// The sizes of the two probes that speed_between compares, in bytes: what shapers and switches let
/// pass as a burst must not count for much.
inline constexpr std::size_t kShortProbeBytes = std::size_t{256} << 10;
/// The longer one.
inline constexpr std::size_t kLongProbeBytes = std::size_t{1280} << 10;

/// @param bytes that a connection carried. @param time that it took, beside what a message takes
/// that has none. @return the class.
[[nodiscard]] NetworkSpeed speed_of(std::size_t bytes, Duration time) noexcept;
/// @param short_probe time until kShortProbeBytes were there and answered. @param long_probe of
/// kLongProbeBytes. @return the class.
[[nodiscard]] NetworkSpeed speed_between(Duration short_probe, Duration long_probe) noexcept;

}  // namespace tutti::v0
