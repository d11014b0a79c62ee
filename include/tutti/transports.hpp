/// @file
/// The table of transports that a program or a user may name.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>

#include <tutti/version.hpp>

namespace tutti::v0 {

/// The facts of a transport.
struct TransportTraits {
  std::string_view name;  ///< As in InitOptions::transport.
  std::string_view help;  ///< The paths of its messages.
  bool is_of_mpi;         ///< Its messages, or some of them, are an MPI's: tutti::mpi makes it.
  bool shares_memory;     ///< Ranks of one host can see each other's memory.
};

/// All transports.
inline constexpr std::array kTransports{
    TransportTraits{"auto", "shared memory inside a host, TCP between hosts", false, true},
    TransportTraits{"shm", "shared memory; all ranks are on one host", false, true},
    TransportTraits{"tcp", "TCP between all ranks", false, false},
    TransportTraits{"mpi", "the MPI's messages between all ranks", true, false},
    TransportTraits{"shm+mpi", "shared memory inside a host, the MPI's messages between hosts",
                    true, true},
    TransportTraits{"fastest",
                    "shared memory inside a host; between hosts TCP or the MPI's messages, as "
                    "predicted for each call",
                    true, true},
};

/// The names, separated by commas, for help texts; ends with a zero.
inline constexpr auto kTransportNames = [] {
  constexpr std::string_view between = ", ";
  constexpr std::size_t length = [between] {
    std::size_t bytes = 0;
    for (const TransportTraits& transport : kTransports)
      bytes += transport.name.size() + between.size();
    return bytes;
  }();
  std::array<char, length> text{};
  char* end = text.data();
  for (const TransportTraits& transport : kTransports) {
    if (end != text.data()) end = std::ranges::copy(between, end).out;
    end = std::ranges::copy(transport.name, end).out;
  }
  return text;
}();

/// @return the transport of that name, or null.
[[nodiscard]] constexpr const TransportTraits* find_transport(std::string_view name) noexcept {
  const auto found = std::ranges::find(kTransports, name, &TransportTraits::name);
  return found == kTransports.end() ? nullptr : &*found;
}

}  // namespace tutti::v0
