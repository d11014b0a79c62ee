#include "channel_local.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/sockets/interruptible.hpp"

#include "channel_rules.hpp"

namespace tutti::runtime {

namespace {

// The state that the threads share.
struct SharedState {
  explicit SharedState(int size)
      : texts(static_cast<std::size_t>(size)), destroyed(texts.size(), false) {}

  std::mutex mutex{};
  std::condition_variable changed{};
  std::vector<std::optional<std::string>> texts;  // in the current round
  std::vector<bool> destroyed;                    // by rank: its channel is destroyed
  std::vector<std::string> gathered{};            // in the last round
  std::uint64_t rounds = 0;                       // that are complete
  std::optional<Error> failure{};
};

class LocalChannel final : public Channel {
 public:
  LocalChannel(Rank rank, std::shared_ptr<SharedState> state)
      : rank_{rank}, state_{std::move(state)} {}
  ~LocalChannel() override {
    const std::lock_guard lock{state_->mutex};
    state_->destroyed[static_cast<std::size_t>(rank_)] = true;
    state_->changed.notify_all();
  }

  Rank rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(state_->destroyed.size()); }
  std::string describe() const override { return "this process"; }
  bool is_private() const noexcept override { return true; }

  std::vector<std::string> all_gather(std::string_view own, Deadline deadline) override {
    check_text(own);
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock{state_->mutex};
    if (state_->failure) throw Error{*state_->failure};
    const std::uint64_t round = state_->rounds;
    state_->texts[static_cast<std::size_t>(rank_)] = own;
    finish_if_complete();
    while (state_->rounds == round) {
      fail_if_destroyed();
      if (state_->failure) throw Error{*state_->failure};
      // A complete round counts, however late this thread wakes.
      state_->changed.wait_until(lock, next_look(deadline));
      if (std::chrono::steady_clock::now() >= deadline && state_->rounds == round &&
          !state_->failure)
        fail(absence(*this, start, missing()));
    }
    return state_->gathered;
  }

 private:
  void finish_if_complete() {
    if (!missing().empty()) return;
    state_->gathered.clear();
    for (auto& text : state_->texts) state_->gathered.push_back(*std::exchange(text, {}));
    ++state_->rounds;
    state_->changed.notify_all();
  }

  std::vector<Rank> missing() const {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < size(); ++rank)
      if (!state_->texts[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
    return ranks;
  }

  void fail_if_destroyed() {
    for (const Rank rank : missing())
      if (state_->destroyed[static_cast<std::size_t>(rank)])
        fail({ErrorCode::peer_dead, "rank " + std::to_string(rank) + " has left", rank});
  }

  void fail(const Error& error) {
    if (!state_->failure) state_->failure = error;
    state_->changed.notify_all();
  }

  Rank rank_;
  std::shared_ptr<SharedState> state_;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> local_channels(int size) {
  check_rank(0, size);
  const auto state = std::make_shared<SharedState>(size);
  std::vector<std::unique_ptr<Channel>> channels;
  for (Rank rank = 0; rank < size; ++rank)
    channels.push_back(std::make_unique<LocalChannel>(rank, state));
  return channels;
}

}  // namespace tutti::runtime
