/// @file
/// Steps that all ranks take together, and that fail on all ranks or on none.
#pragma once

#include <cstring>
#include <functional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tutti/error.hpp>

namespace tutti::v0 {

class Communicator;

namespace detail {

/// An Error whose only content is that another rank left or was late. The other rank knows why.
struct Departure : Error {
  using Error::Error;
};

/// Collective: passes the own bytes to all ranks. @return the bytes of all ranks, by rank. Throws
/// Error.
using Exchange = std::function<std::vector<std::string>(std::string_view own)>;

/// Collective. If no rank passes more than 16 bytes, this is one all_gather of 24 bytes from each
/// rank, and else a second call carries the bytes.
/// @param timeout as of Options. @return the texts of all ranks, by rank. Throws Error.
[[nodiscard]] TUTTI_API std::vector<std::string> gather_texts(Communicator& world,
                                                              std::string_view own,
                                                              Duration timeout);
/// @param world outlives the result. @return gather_texts over it.
[[nodiscard]] inline Exchange exchange_over(Communicator& world, Duration timeout) {
  return [&world, timeout](std::string_view own) { return gather_texts(world, own, timeout); };
}

/// all_or_none for results that are bytes.
[[nodiscard]] TUTTI_API std::vector<std::string> exchange_outcomes(
    const Exchange& exchange, const std::function<std::string()>& part, std::string_view failure);

/// Collective: every rank runs its part, which may throw anything, and all ranks exchange the
/// outcomes.
/// @param exchange of all ranks. A success without a result exchanges one byte.
/// @param part returns nothing, a std::string, or a value that is trivially copyable.
/// @param failure begins the text, after the rank: "rank 1 cannot share memory: why"; if empty, the
/// text is that of the Error alone.
/// @return the results by rank, if parts have results. If parts failed, all ranks throw the Error
/// that tells most about the cause; if several tell as much, the lowest rank's. If it names no
/// culprit, the culprit is the rank that threw it, or -1 if all ranks failed and are several.
template <class Part>
auto all_or_none(const Exchange& exchange, Part part, std::string_view failure = {}) {
  using Own = std::invoke_result_t<Part>;
  if constexpr (std::is_void_v<Own>) {
    const auto without_result = [&part] { return part(), std::string{}; };
    static_cast<void>(exchange_outcomes(exchange, without_result, failure));
  } else if constexpr (std::is_same_v<Own, std::string>) {
    return exchange_outcomes(exchange, std::ref(part), failure);
  } else {
    static_assert(std::is_trivially_copyable_v<Own>);
    const auto as_bytes = [&part] {
      const Own own = part();
      return std::string{reinterpret_cast<const char*>(&own), sizeof own};
    };
    std::vector<Own> all;
    for (const std::string& bytes : exchange_outcomes(exchange, as_bytes, failure)) {
      expects(bytes.size() == sizeof(Own), "results of all ranks have one type");
      std::memcpy(static_cast<void*>(&all.emplace_back()), bytes.data(), sizeof(Own));
    }
    return all;
  }
}

}  // namespace detail
}  // namespace tutti::v0
