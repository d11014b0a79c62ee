/// @file
/// Steps that all ranks take together, and that fail on all ranks or on none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tutti/spi/channel.hpp>

#include "peer_info.hpp"

namespace tutti::runtime {

/// Collective: every rank does its part and says how it went. @param channel of all ranks.
/// @param host where this rank runs. @param deadline of the exchange. @param part returns what to
/// tell the others. @return what they told, by rank. If any failed, all throw the error that tells
/// most of what began it; among equal ones that of the lowest rank.
std::vector<std::string> all_or_none(Channel& channel, const Host& host, Deadline deadline,
                                     const std::function<std::string()>& part);

}  // namespace tutti::runtime
