/// @file
/// Assumed costs of links that were not measured.
#pragma once

#include <cstddef>

#include <tutti/spi/costs.hpp>

#include "topology/network_speed.hpp"

namespace tutti::v0::detail {

/// What ranks of one host charge that outnumber its cores: to wait is to let another rank run,
/// which costs more than small messages do. Without shared_cores and buffered_bytes, which whoever
/// uses it must say.
inline constexpr LinkCosts kCrowdedCosts{.alpha = 200'000'000,
                                         .beta = 100'000,
                                         .gamma = 50'000,
                                         .round = 3'600'000'000,
                                         .gamma_read = 100'000};

/// What a message within a host costs, long or short, where others go between hosts.
inline constexpr LinkCosts kInsideCosts{
    .alpha = 300'000'000, .beta = 80'000, .gamma = 12'500, .half_duplex = true};

/// How long a message between hosts keeps the link of its host from others, beside its bytes: both
/// systems handle it, on cores that ranks leave to them.
inline constexpr Femtoseconds kMessageOnLink = 1'000'000'000;
/// The same where ranks outnumber cores: as much as a message over the loopback costs of these.
inline constexpr Femtoseconds kCrowdedMessageOnLink = 7'600'000'000;

/// Half a microsecond per message, which waits for its receiver and is worked on where it lies, so
/// that reducing is all there is to a byte.
inline constexpr LinkCosts kVisibleCosts{.alpha = 500'000'000, .beta = 100'000, .gamma = 400'000};

/// The same in memory that all see: what is longer than some bytes is read where it lies.
inline constexpr LinkCosts kCrowdedVisibleCosts{.alpha = 90'000'000,
                                                .beta = 68'000,
                                                .gamma = 26'000,
                                                .round = 1'570'000'000,
                                                .half_duplex = true,
                                                .gamma_read = 8'000,
                                                .fuses = true};

/// @return assumed costs of links through memory.
/// @param shared_cores how many the ranks share; 0: each has one.
/// @param buffered_bytes as LinkCosts has it, where they share some.
[[nodiscard]] CostModel memory_costs(int shared_cores, std::size_t buffered_bytes);
/// @param shared_cores how many the ranks share; 0: each has one.
/// @return assumed costs of links over the loopback.
[[nodiscard]] CostModel loopback_costs(int shared_cores);
/// @param speed as measured. @return assumed costs of links between hosts.
[[nodiscard]] CostModel network_costs(NetworkSpeed speed);
/// @param megabits per second, more than zero, as configured. @return as above.
[[nodiscard]] CostModel network_costs(int megabits);

}  // namespace tutti::v0::detail
