/// @file
/// A transport around another one: what a test's own transport changes is all it has to say.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <utility>

#include <tutti/spi/transport.hpp>

namespace tutti::harness {

/// Forwards everything.
class Wrapper : public Transport {
 public:
  /// @param inner the transport that does the work.
  explicit Wrapper(std::unique_ptr<Transport> inner) : inner_{std::move(inner)} {}
  [[nodiscard]] Rank self() const noexcept override { return inner_->self(); }
  [[nodiscard]] int size() const noexcept override { return inner_->size(); }
  [[nodiscard]] const Capabilities& capabilities() const noexcept override {
    return inner_->capabilities();
  }
  [[nodiscard]] Duration now() const noexcept override { return inner_->now(); }
  void post(std::span<const Transfer> transfers) override {
    inner_->post(transfers);
    take_all();
  }
  using Transport::poll;
  void poll() override {
    inner_->poll();
    unexpected_ = inner_->has_unexpected() ? 1 : 0;
    take_all();
  }
  void find_unmatched(std::uint64_t pending, bool thoroughly) override {
    inner_->find_unmatched(pending, thoroughly);
  }
  [[nodiscard]] std::byte* open_result(AccessId access, std::uint32_t ordinal,
                                       std::size_t bytes) override {
    return inner_->open_result(access, ordinal, bytes);
  }
  [[nodiscard]] std::optional<Unexpected> probe(Rank from, std::uint32_t tag) override {
    return inner_->probe(from, tag);
  }
  void idle_wait() override { inner_->idle_wait(); }
  void expect_idle_waits() override { inner_->expect_idle_waits(); }
  void end_idle_wait() noexcept override { inner_->end_idle_wait(); }
  void signal(AccessId access, bool is_stored) override { inner_->signal(access, is_stored); }
  bool abort(const Error& cause) noexcept override { return inner_->abort(cause); }

 private:
  void take_all() {
    for (; inner_->completed() > 0; inner_->pop_oldest()) complete(inner_->oldest_completed());
  }

  std::unique_ptr<Transport> inner_;
};

}  // namespace tutti::harness
