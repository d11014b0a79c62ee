// Facts that all ranks of a communicator must agree on: windows, and the first call.
#include <utility>

#include "communicator.hpp"
#include "failure.hpp"

namespace tutti::nccl_standin {

// The lock is held.
bool Communicator::is_agreeing() {
  return agreement_ != next_agreement_;
}

std::uint64_t Communicator::begin_agreement() {
  const std::scoped_lock lock{mutex_};
  return next_agreement_++;
}

// Each is reported once all those before it have ended, in whatever way.
std::vector<Note> Communicator::agree(std::uint64_t ticket, const Note& own, const Mesh& other,
                                      const std::function<void()>& then) {
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [&] { return agreement_ == ticket; });
  lock.unlock();
  std::vector<Note> notes;
  std::optional<Failure> failure;
  try {
    notes = mesh_.exchange(own, other);
    require_agreement(notes);
    then();
  } catch (const Failure& error) {
    failure = error;
    fail(error);
  }
  lock.lock();
  ++agreement_;
  changed_.notify_all();
  lock.unlock();
  if (failure) throw *failure;
  return notes;
}

void Communicator::register_window(std::size_t bytes, const std::function<void()>& then) {
  agree_apart({.purpose = Note::Purpose::window, .bytes = bytes}, then);
}

// Whether this is the first call, and such calls connect.
bool Communicator::meet_once() {
  if (!is_to_meet_.exchange(false)) return false;
  agree_apart({.purpose = Note::Purpose::call}, [] {});
  return true;
}

// In a thread of its own.
void Communicator::agree_apart(const Note& own, const std::function<void()>& then) {
  const auto run = [this, own, then, ticket = begin_agreement()] {
    try {
      agree(ticket, own, mesh_, then);
    } catch (const Failure&) {
      return;  // the state has the error
    }
  };
  const std::scoped_lock lock{mutex_};
  agreeing_.emplace_back(run);
}

ncclResult_t Communicator::wait_until_agreed() {
  if (!blocking_) return ncclInProgress;
  std::unique_lock lock{mutex_};
  changed_.wait(lock, [this] { return agreement_ == next_agreement_; });
  return error_;
}

}  // namespace tutti::nccl_standin
