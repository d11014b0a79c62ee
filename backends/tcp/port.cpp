#include "port.hpp"

#include <string>

namespace tutti::tcp {
namespace {

/// Numbers of ended communicators that are kept. No frame is so late that this many communicators
/// have ended since.
constexpr std::size_t kMostEnded = 65536;

}  // namespace

void Ports::add(Port& port) {
  if (ended_.contains(port.id) || !ports_.emplace(port.id, &port).second)
    throw Error{ErrorCode::invalid_argument, "a communicator's number was used before"};
}

void Ports::remove(const Port& port) noexcept {
  ports_.erase(port.id);
  if (last_found_ == &port) last_found_ = nullptr;
  ended_.insert(port.id);
  ended_order_.push_back(port.id);
  if (ended_order_.size() <= kMostEnded) return;
  ended_.erase(ended_order_.front());
  ended_order_.pop_front();
}

Port* Ports::find(std::uint64_t id) noexcept {
  if (last_found_ != nullptr && last_found_->id == id) return last_found_;
  const auto found = ports_.find(id);
  if (found == ports_.end()) return nullptr;
  return last_found_ = found->second;
}

}  // namespace tutti::tcp
