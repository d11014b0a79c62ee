/// @file
/// Binds a checked call to its choice. Describes the facts that must be equal on all ranks, as
/// text and as a fingerprint.
#pragma once

#include <string>
#include <string_view>

#include "collectives/execution/execution.hpp"
#include "selector/selector.hpp"

namespace tutti::v0::detail {

/// @param problem a checked call. @param chosen the candidate that was selected for it.
/// @param in_flight as CommunicatorOptions::segments_in_flight. @return the binding that all calls
/// of this shape share.
[[nodiscard]] Binding bind_shape(const Problem& problem, const Candidate& chosen,
                                 const Transport& transport, int in_flight);
/// Binds a call on a stream: it has one segment, and combines no message while it arrives. If the
/// problem is visible, receivers read messages in the memory of their senders. @param self the own
/// rank.
[[nodiscard]] Binding bind_for_streams(const Problem& problem, const Candidate& chosen, Rank self);
/// Binds a call that the library of a backend (an MPI or NCCL) implements, so that it has no
/// schedule. @param native that call. @param name of the algorithm.
[[nodiscard]] Binding bind_native(const Problem& problem, Rank self, const NativeCall& native,
                                  std::string_view name);
/// @param binding as bind_shape made it of the other arguments. @return all that the binding's
/// fingerprint is made of, as text for people. A long list of counts is replaced by its hash.
[[nodiscard]] std::string words_of(const Problem& problem, const Candidate& chosen,
                                   const Binding& binding, int in_flight);

}  // namespace tutti::v0::detail
