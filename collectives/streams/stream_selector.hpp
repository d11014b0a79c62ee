/// @file
/// The choice of what a collective runs on streams.
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
  /// @param streams of the communicator, which live longer. @param catalog as Selectors.
  /// @param hosts of the ranks, as CommunicatorParts::hosts.
  StreamSelector(StreamTransport& streams, const std::shared_ptr<const Catalog>& catalog,
                 const std::vector<int>& hosts);

  /// @param problem checked. @param self the own rank. @return what it runs. Throws
  /// Error{invalid_argument} where a forced algorithm cannot serve.
  [[nodiscard]] Binding bind(const Problem& problem, Rank self);
  /// @return what it would run by schedules, and why.
  [[nodiscard]] Selection select(const Problem& problem) {
    return selectors_.select(as_seen(problem));
  }
  /// @return what it would run, in words.
  [[nodiscard]] std::string explain(const Problem& problem);

 private:
  [[nodiscard]] std::string why_not_native(const Problem& problem) const;
  [[nodiscard]] bool sees_peers(const Problem& problem) const;
  [[nodiscard]] Problem as_seen(const Problem& problem) const;

  StreamTransport& streams_;
  Selectors selectors_;
};

}  // namespace tutti::v0::detail
