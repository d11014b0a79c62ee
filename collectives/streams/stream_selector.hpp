/// @file
/// The choice of an algorithm for a collective on a stream.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <tutti/spi/streams.hpp>

#include "collectives/lowering/binding.hpp"
#include "selector/selectors.hpp"

namespace tutti::v0::detail {

/// Chooses between the library's own call and the schedules of a catalog. Equal problems give equal
/// choices on all ranks.
class StreamSelector {
 public:
  /// @param streams of the communicator, which outlive this. @param catalog as Selectors.
  /// @param hosts of the ranks, as CommunicatorParts::hosts.
  StreamSelector(StreamTransport& streams, const std::shared_ptr<const Catalog>& catalog,
                 const std::vector<int>& hosts);

  /// @param problem checked. @return the binding of the chosen call or schedule. Throws
  /// Error{invalid_argument} if a forced algorithm cannot run it.
  [[nodiscard]] Binding bind(const Problem& problem, Rank self);
  /// @return the choice among schedules, with its reasons.
  [[nodiscard]] Selection select(const Problem& problem) {
    return selectors_.select(as_seen(problem));
  }
  /// @return a text that states the choice for a problem.
  [[nodiscard]] std::string explain(const Problem& problem);

 private:
  [[nodiscard]] std::string why_not_native(const Problem& problem) const;
  [[nodiscard]] bool sees_peers(const Problem& problem) const;
  [[nodiscard]] Problem as_seen(const Problem& problem) const;

  StreamTransport& streams_;
  Selectors selectors_;
};

}  // namespace tutti::v0::detail
