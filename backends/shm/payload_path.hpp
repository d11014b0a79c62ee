/// @file
/// How a message reaches its receiver: the decisions of its sender.
#pragma once

#include "peers.hpp"

namespace tutti::shm {

/// @param domain of this process. @param peer that receives. @param transfer a send. @return
/// whether the peer sees all its pieces.
[[nodiscard]] bool is_visible(const Domain& domain, const Peer& peer,
                              const Transfer& transfer) noexcept;
/// @param domain of this process. @param peer that receives. @param transfer a send. @return
/// whether both ranks see the message and the memory for its result, so that the message stays and
/// the result is stored there.
[[nodiscard]] bool is_in_place(const Domain& domain, const Peer& peer,
                               const Transfer& transfer) noexcept;
/// @param domain of this process. @param peer that receives. @param record of a send. @return how
/// the receiver may get at it.
[[nodiscard]] AccessMode access_mode_of(const Domain& domain, const Peer& peer,
                                        const Record& record) noexcept;

}  // namespace tutti::shm
