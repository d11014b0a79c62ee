/// @file
/// Assumed costs of links that were not measured.
#pragma once

#include <cstddef>

#include <tutti/spi/costs.hpp>

#include "topology/network_speed.hpp"

namespace tutti::v0::detail {

/// Costs between ranks of one host that outnumber its cores: a wait lets another rank run, which
/// costs more than a small message. The user must set shared_cores and buffered_bytes.
inline constexpr LinkCosts kCrowdedCosts{.alpha = 200'000'000,
                                         .beta = 100'000,
                                         .gamma = 50'000,
                                         .round = 3'600'000'000,
                                         .gamma_read = 100'000};

/// Costs of messages of any length inside a host, if other messages go between hosts.
inline constexpr LinkCosts kInsideCosts{
    .alpha = 300'000'000, .beta = 80'000, .gamma = 12'500, .half_duplex = true};

/// The time for which a message between hosts occupies the link of its host, besides its bytes:
/// both operating systems handle it, on cores that no rank uses.
inline constexpr Femtoseconds kMessageOnLink = 1'000'000'000;
/// The same time if ranks outnumber cores: the cost of a message over the loopback of such a host.
inline constexpr Femtoseconds kCrowdedMessageOnLink = 7'600'000'000;

/// Costs with Options::visible: half a microsecond per message, which waits for its receiver and is
/// reduced in place.
inline constexpr LinkCosts kVisibleCosts{.alpha = 500'000'000, .beta = 100'000, .gamma = 400'000};

/// Costs with Options::visible if ranks outnumber cores: messages longer than buffered_bytes are
/// read in place.
inline constexpr LinkCosts kCrowdedVisibleCosts{.alpha = 90'000'000,
                                                .beta = 68'000,
                                                .gamma = 26'000,
                                                .round = 1'570'000'000,
                                                .half_duplex = true,
                                                .gamma_read = 8'000,
                                                .fuses = true};

/// @return assumed costs of links through memory.
/// @param shared_cores the number of cores that the ranks share; 0: each rank has one.
/// @param buffered_bytes as LinkCosts, if ranks share cores.
[[nodiscard]] CostModel memory_costs(int shared_cores, std::size_t buffered_bytes);
/// @param shared_cores as memory_costs. @return assumed costs of links over the loopback.
[[nodiscard]] CostModel loopback_costs(int shared_cores);
/// @param speed as measured. @return assumed costs of links between hosts.
[[nodiscard]] CostModel network_costs(NetworkSpeed speed);
/// @param megabits per second, as configured; more than 0. @return costs of links between hosts.
[[nodiscard]] CostModel network_costs(int megabits);

}  // namespace tutti::v0::detail
