/// @file
/// The sender's choice of the path by which a message reaches its receiver.
#pragma once

#include "peers.hpp"

namespace tutti::shm {

/// @param peer that receives. @param transfer a send. @return whether the peer sees all its pieces.
[[nodiscard]] bool is_visible(const Domain& domain, const Peer& peer,
                              const Transfer& transfer) noexcept;
/// @param peer that receives. @param transfer a send. @return whether both ranks see the message
/// and the memory for its result, so that the message stays, and the result is stored there.
[[nodiscard]] bool is_in_place(const Domain& domain, const Peer& peer,
                               const Transfer& transfer) noexcept;
/// @param peer that receives. @param record of a send. @return the receiver's access to it.
[[nodiscard]] AccessMode access_mode_of(const Domain& domain, const Peer& peer,
                                        const Record& record) noexcept;

}  // namespace tutti::shm
