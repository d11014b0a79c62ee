/// @file
/// Ends of NCCL's communicators, which are waited for, but not for ever: as long as there is a CUDA
/// graph with a call of a communicator, NCCL does not end it, also not by ncclCommAbort.
#pragma once

#include <memory>

#include "device.hpp"
#include "nccl.hpp"

namespace tutti::v0::cuda {

/// Finalizes and destroys a communicator when all that is enqueued on it is done, and aborts it
/// where that takes too long. What then has not ended some seconds later is left to a thread of its
/// own, which ends it as soon as NCCL can. @param nccl whose. @param device its own. @param
/// communicator null: nothing to do. @param patience how long calls have.
void end_nccl(const std::shared_ptr<const Nccl>& nccl, const std::shared_ptr<const Device>& device,
              ncclComm_t communicator, Duration patience) noexcept;

/// Aborts a communicator, likewise: streams go on. @param nccl whose. @param device its own. @param
/// communicator null: nothing to do. @param held kept until it has ended.
void abort_nccl(const std::shared_ptr<const Nccl>& nccl,
                const std::shared_ptr<const Device>& device, ncclComm_t communicator,
                std::shared_ptr<const void> held = nullptr) noexcept;

}  // namespace tutti::v0::cuda
