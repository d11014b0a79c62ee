// Registered memory of communicators: by calls, and by graphs.
#include "communicator.hpp"
#include "failure.hpp"
#include "library.hpp"

namespace tutti::nccl_standin {

void require_same(const Registered& sender, const Registered& receiver) {
  const auto same = [](std::uint64_t a, std::uint64_t b) {
    return a == b || a == Registered::kAnywhere || b == Registered::kAnywhere;
  };
  require(!sender.is_registered || receiver.is_registered, ncclInvalidUsage,
          "registered and other memory are mixed: the sender's is registered, the receiver's not");
  require(sender.is_registered || !receiver.is_registered, ncclInvalidUsage,
          "registered and other memory are mixed: the receiver's is registered, the sender's not");
  require(same(sender.in, receiver.in) && same(sender.out, receiver.out), ncclInvalidUsage,
          "the ranks have their buffers at different offsets of symmetric windows");
}

std::unique_ptr<OneAtATime::Scope> Communicator::enter() try {
  std::unique_lock lock{mutex_};
  require(blocking_ || (!announced_ && !is_agreeing()), ncclInvalidUsage,
          "a function is called while another one of the communicator is in progress");
  lock.unlock();
  return std::make_unique<OneAtATime::Scope>(
      calling_, "two threads call functions of one communicator at the same time");
} catch (const Failure& failure) {
  fail(failure);
  throw;
}

// A graph registers all memory that can be exported, which here is that of ncclMemAlloc.
bool Communicator::knows(const void* data, bool recorded) const {
  return windows_.offset_of(data) || registrations_.offset_of(data) ||
         (recorded && library().memory.has(data));
}

// A rank reads the input of a gather, and writes the output of a scatter, by itself: these may be
// its blocks of a larger buffer.
Registered Communicator::registered(const Operation& operation, bool recorded) const {
  Registered registered;
  const bool reads = bytes_read(operation, membership()) > 0;
  const bool writes = bytes_written(operation, membership()) > 0;
  const bool in = reads && knows(operation.from, recorded);
  const bool out = writes && knows(operation.into, recorded);
  require(!reads || !writes || in == out, ncclInvalidUsage,
          "registered and other memory are mixed: one of the input and the output is registered");
  registered.is_registered = in || out;
  if (operation.kind == OperationType::send || operation.kind == OperationType::receive)
    return registered;
  const bool gathers =
      operation.kind == OperationType::all_gather || operation.kind == OperationType::gather;
  const bool scatters =
      operation.kind == OperationType::reduce_scatter || operation.kind == OperationType::scatter;
  if (reads && !gathers)
    registered.in = windows_.offset_of(operation.from).value_or(Registered::kAnywhere);
  if (writes && !scatters)
    registered.out = windows_.offset_of(operation.into).value_or(Registered::kAnywhere);
  return registered;
}

}  // namespace tutti::nccl_standin
