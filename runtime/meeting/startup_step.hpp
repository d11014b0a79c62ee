/// @file
/// Steps of starting up that all ranks take together, over a Channel.
#pragma once

#include <string>

#include <tutti/spi/channel.hpp>

#include "base/all_or_none.hpp"
#include "runtime/sockets/descriptors.hpp"

#include "peer_info.hpp"

namespace tutti::runtime {

/// Collective: detail::all_or_none, in which a DescriptorShortage names the rank and its host.
/// @param host where this rank runs. @param deadline of the exchange.
template <class Part>
auto all_or_none(Channel& channel, const Host& host, Deadline deadline, Part part) {
  const auto with_host = [&](auto step) {
    try {
      return step();
    } catch (const DescriptorShortage& shortage) {
      throw shortage.with_rank(channel.rank(), host.name);
    }
  };
  return detail::all_or_none(
      [&](std::string_view own) {
        return with_host([&] { return channel.all_gather(own, deadline); });
      },
      [&] { return with_host(part); });
}

}  // namespace tutti::runtime
