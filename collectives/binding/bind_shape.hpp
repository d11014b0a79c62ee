/// @file
/// Binds a checked call to its choice, and describes in words and numbers what all ranks
/// must have alike.
#pragma once

#include <string>
#include <string_view>

#include "collectives/execution/execution.hpp"
#include "selector/selector.hpp"

namespace tutti::v0::detail {

/// @param problem a checked call. @param chosen for it. @param transport whose ranks call.
/// @param in_flight as CommunicatorOptions::segments_in_flight. @return what its calls share.
[[nodiscard]] Binding bind_shape(const Problem& problem, const Candidate& chosen,
                                 const Transport& transport, int in_flight);
/// The same for streams, where nothing is combined while it comes, and there is one segment.
/// Where the problem is visible messages are read where their senders have them. @param self the
/// own rank.
[[nodiscard]] Binding bind_for_streams(const Problem& problem, const Candidate& chosen, Rank self);
/// The same of a call that a library has, which knows no schedule. @param native that call.
/// @param name of the algorithm.
[[nodiscard]] Binding bind_native(const Problem& problem, Rank self, const NativeCall& native,
                                  std::string_view name);
/// @param problem a checked call. @param chosen for it. @param binding of both.
/// @param in_flight as bind_shape. @return all that the binding's fingerprint is made of, for a
/// person, but for very many counts.
[[nodiscard]] std::string words_of(const Problem& problem, const Candidate& chosen,
                                   const Binding& binding, int in_flight);

}  // namespace tutti::v0::detail
