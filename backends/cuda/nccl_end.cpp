#include "nccl_end.hpp"

#include <chrono>
#include <future>
#include <system_error>
#include <thread>
#include <utility>

#include <tutti/error.hpp>
#include <tutti/spi/transport.hpp>

namespace tutti::v0::cuda {
namespace {

using Clock = std::chrono::steady_clock;

/// How long an abort may take that no graph holds up.
constexpr std::chrono::seconds kAbortPatience{2};

/// NCCL remembers the GPU that is current, and makes it current again. @param end called once.
template <class End>
void in_context(const Device& device, const End& end) {
  bool has_run = false;
  device.within([&] {
    has_run = true;
    end();
  });
  if (!has_run) end();
}

/// Waits for a thread, and leaves it alone when the deadline passes. @param end what it runs; it
/// holds all that it needs.
template <class End>
void run_until(Clock::time_point deadline, End end) noexcept {
  const auto done = std::make_shared<std::promise<void>>();
  const std::future<void> ended = done->get_future();
  std::thread thread;
  try {
    thread = std::thread{[end, done] {
      end();
      done->set_value();
    }};
  } catch (const std::system_error&) {
    return end();  // nothing is left but to wait
  }
  if (ended.wait_until(deadline) == std::future_status::ready) thread.join();
  else thread.detach();
}

Clock::time_point in(Duration patience) {
  return Clock::time_point{deadline_after(deadline_after(Clock::now().time_since_epoch(), patience),
                                          Duration{kAbortPatience})};
}

}  // namespace

void end_nccl(const std::shared_ptr<const Nccl>& nccl, const std::shared_ptr<const Device>& device,
              ncclComm_t communicator, Duration patience) noexcept {
  if (communicator == nullptr) return;
  run_until(in(patience), [nccl, device, communicator, patience] {
    in_context(*device, [&] {
      const NcclCalls& calls = nccl->calls();
      try {
        nccl->complete(calls.finalize(communicator), "end NCCL", communicator, patience);
        calls.destroy(communicator);
      } catch (const Error&) {
        calls.abort(communicator);
      }
    });
  });
}

void abort_nccl(const std::shared_ptr<const Nccl>& nccl,
                const std::shared_ptr<const Device>& device, ncclComm_t communicator,
                std::shared_ptr<const void> held) noexcept {
  if (communicator == nullptr) return;
  run_until(in(Duration::zero()), [nccl, device, communicator, held = std::move(held)] {
    in_context(*device, [&] { nccl->calls().abort(communicator); });
  });
}

}  // namespace tutti::v0::cuda
