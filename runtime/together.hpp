/// @file
/// Steps that all ranks take together, and that fail on all ranks or on none.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tutti/channel.hpp>

namespace tutti::runtime {

/// Collective: every rank does its part and says how it went. @param channel of all ranks.
/// @param deadline of the exchange. @param part returns what to tell the others. @return what they
/// told, by rank. If any failed, all throw the error of the lowest one.
std::vector<std::string> do_together(Channel& channel, Deadline deadline,
                                     const std::function<std::string()>& part);

}  // namespace tutti::runtime
