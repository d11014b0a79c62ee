/// @file
/// How fast the network between hosts is, in classes that every start of a job finds alike.
#pragma once

#include <cstdint>
#include <optional>

#include <tutti/communicator.hpp>
#include <tutti/spi/costs.hpp>

namespace tutti::runtime {

/// Decades, so wide that what disturbs a measurement does not move it to another class: else the
/// same job would choose other algorithms the next time, and round differently. More than 10 Gbit/s
/// is not told apart, because one TCP connection is then bound by processors.
enum class NetworkSpeed : std::uint8_t {
  unknown,       ///< It could not be measured.
  megabits_100,  ///< 100 Mbit/s: less than 316 Mbit/s.
  gigabit_1,     ///< 1 Gbit/s: less than 3.16 Gbit/s.
  gigabits_10    ///< 10 Gbit/s, or more.
};

/// @param bytes that a connection carried. @param time that it took, beside what a message takes
/// that has none. @return the class.
[[nodiscard]] NetworkSpeed speed_of(std::size_t bytes, Duration time) noexcept;
/// @param short_probe time until 256 KiB were there and answered. @param long_probe of 1,280 KiB.
/// @return the class.
[[nodiscard]] NetworkSpeed speed_between(Duration short_probe, Duration long_probe) noexcept;
/// Collective: rank 0 sends to rank 1, some MiB at the most.
/// @param pair two ranks on different hosts. @return what rank 0 measured, unknown on rank 1.
/// Throws what its collectives throw.
[[nodiscard]] NetworkSpeed measure_network(Communicator& pair);

/// @return what links through memory are taken to cost.
/// @param shared_cores how many the ranks share; 0: each has one.
/// @param buffered_bytes as LinkCosts has it, where they share some.
[[nodiscard]] Tariff memory_tariff(int shared_cores, std::size_t buffered_bytes);
/// @param shared_cores how many the ranks share; 0: each has one.
/// @return what links over the loopback are taken to cost.
[[nodiscard]] Tariff loopback_tariff(int shared_cores);
/// @param speed as measured. @return what links between hosts are taken to cost.
[[nodiscard]] Tariff network_tariff(NetworkSpeed speed);
/// @param megabits per second, more than zero, that somebody says. @return as above.
[[nodiscard]] Tariff network_tariff(int megabits);

}  // namespace tutti::runtime
