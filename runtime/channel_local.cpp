#include "runtime/channel_local.hpp"

#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/channel_rules.hpp"

namespace tutti::runtime {

namespace {

// The state that the threads share.
struct Meeting {
  explicit Meeting(int size) : texts(static_cast<std::size_t>(size)), gone(texts.size(), false) {}

  std::mutex mutex{};
  std::condition_variable changed{};
  std::vector<std::optional<std::string>> texts;  // in the current round
  std::vector<bool> gone;                         // by rank: its channel is destroyed
  std::vector<std::string> heard{};               // in the last round
  std::uint64_t rounds = 0;                       // that are complete
  std::optional<Error> failure{};
};

class LocalChannel final : public Channel {
 public:
  LocalChannel(Rank rank, std::shared_ptr<Meeting> meeting)
      : rank_{rank}, meeting_{std::move(meeting)} {}
  ~LocalChannel() override {
    const std::lock_guard lock{meeting_->mutex};
    meeting_->gone[static_cast<std::size_t>(rank_)] = true;
    meeting_->changed.notify_all();
  }

  Rank rank() const noexcept override { return rank_; }
  int size() const noexcept override { return static_cast<int>(meeting_->gone.size()); }
  std::string describe() const override { return "this process"; }
  bool is_private() const noexcept override { return true; }

  std::vector<std::string> all_gather(std::string_view own, Deadline deadline) override {
    check_text(own);
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock{meeting_->mutex};
    if (meeting_->failure) throw Error{*meeting_->failure};
    const std::uint64_t round = meeting_->rounds;
    meeting_->texts[static_cast<std::size_t>(rank_)] = own;
    finish_if_complete();
    while (meeting_->rounds == round) {
      fail_if_gone();
      if (meeting_->failure) throw Error{*meeting_->failure};
      // A complete round counts, however late this thread wakes.
      if (meeting_->changed.wait_until(lock, deadline) == std::cv_status::timeout &&
          meeting_->rounds == round && !meeting_->failure)
        fail(absence(*this, start, missing()));
    }
    return meeting_->heard;
  }

 private:
  void finish_if_complete() {
    if (!missing().empty()) return;
    meeting_->heard.clear();
    for (auto& text : meeting_->texts) meeting_->heard.push_back(*std::exchange(text, {}));
    ++meeting_->rounds;
    meeting_->changed.notify_all();
  }

  std::vector<Rank> missing() const {
    std::vector<Rank> ranks;
    for (Rank rank = 0; rank < size(); ++rank)
      if (!meeting_->texts[static_cast<std::size_t>(rank)]) ranks.push_back(rank);
    return ranks;
  }

  void fail_if_gone() {
    for (const Rank rank : missing())
      if (meeting_->gone[static_cast<std::size_t>(rank)])
        fail({ErrorCode::peer_dead, "rank " + std::to_string(rank) + " has left", rank});
  }

  void fail(const Error& error) {
    if (!meeting_->failure) meeting_->failure = error;
    meeting_->changed.notify_all();
  }

  Rank rank_;
  std::shared_ptr<Meeting> meeting_;
};

}  // namespace

std::vector<std::unique_ptr<Channel>> local_channels(int size) {
  check_place(0, size);
  const auto meeting = std::make_shared<Meeting>(size);
  std::vector<std::unique_ptr<Channel>> channels;
  for (Rank rank = 0; rank < size; ++rank)
    channels.push_back(std::make_unique<LocalChannel>(rank, meeting));
  return channels;
}

}  // namespace tutti::runtime
