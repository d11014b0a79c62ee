/// @file
/// Calls on streams of a GPU: what they run, how they start, alone or in a batch, and how their
/// ends are found.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tutti/spi/streams.hpp>

#include "execution.hpp"
#include "failures.hpp"
#include "selector/selectors.hpp"

namespace tutti::v0::detail {

/// A call on a stream, as its handle and its batch know it.
struct StreamedCall {
  std::shared_ptr<const Binding> binding{};  ///< What to do.
  RunBuffers buffers{};                      ///< On which memory.
  Stream stream{};                           ///< Where.
  Duration timeout{0};                       ///< Of a wait for its end.
  bool is_marked = false;                    ///< Whether somebody asks for its end.
  bool is_enlisted = false;                  ///< Whether its batch has not started.
  std::unique_ptr<StreamMark> mark{};        ///< Its end; null: it has not begun, or is done.
};

/// Those of one communicator. Called by the thread that is in its engine.
class StreamCalls {
 public:
  /// @param streams what they are enqueued on; not null. @param catalog as Selectors. @param hosts
  /// of the ranks, as CommunicatorParts::hosts. @param failures of the communicator. @param
  /// poll_host goes on with what its host's calls have pending.
  StreamCalls(std::shared_ptr<StreamTransport> streams,
              const std::shared_ptr<const Catalog>& catalog, const std::vector<int>& hosts,
              Failures& failures, std::function<void()> poll_host);

  [[nodiscard]] const std::shared_ptr<StreamTransport>& transport() const noexcept {
    return streams_;
  }
  /// Refuses a call without a stream whose buffers the host cannot touch. Throws
  /// Error{invalid_argument}.
  void check_on_host(const void* in, const void* out) const;
  /// What a problem runs, as a binding. @param problem checked. @param self the own rank.
  /// Throws Error{invalid_argument} where a forced algorithm cannot serve.
  [[nodiscard]] Binding bind(const Problem& problem, Rank self);
  /// @return what it would run on a stream by schedules, and why.
  [[nodiscard]] Selection select(const Problem& problem) {
    return selectors_.select(as_seen(problem));
  }
  /// @return what it would run, in words.
  [[nodiscard]] std::string explain(const Problem& problem);
  /// Refuses what cannot run on streams. Throws Error{invalid_argument}.
  void check_call(const Call& call, const Options& options) const;
  /// Refuses buffers and streams that cannot serve. @param call with a binding. Throws
  /// Error{invalid_argument}, and what failed before.
  void check(const StreamedCall& call);
  /// Has a call know where its stream is. @param call that is marked. Throws as check.
  void mark(StreamedCall& call);
  /// Enqueues. @param call that was checked. Throws Error, of which the communicator has failed.
  void start(StreamedCall& call);
  /// @return whether it is done. Throws Error, of which the communicator has failed.
  [[nodiscard]] bool test(StreamedCall& call);
  /// Waits until it is. Throws likewise, and Error{timeout}.
  void wait(StreamedCall& call);
  using Clock = std::chrono::steady_clock;
  /// Rests between two looks at what is not done. @param call of whose timeout the communicator
  /// fails. @param since when somebody waits for it. @param looks so far. Throws Error{timeout}.
  void rest(const StreamedCall& call, Clock::time_point since, int looks);

  /// Notes that a call starts with others. @param call that was checked. @param blocks whether the
  /// batch waits for it.
  void enlist(std::shared_ptr<StreamedCall> call, bool blocks);
  /// Enqueues what was enlisted, messages between two ranks as one group. Throws as start.
  void start_enlisted();
  /// Waits for those that block. Throws as wait.
  void wait_awaited();
  /// Forgets those that have not started.
  void end_batch() noexcept;

 private:
  void check_captured(const StreamedCall& call) const;
  [[nodiscard]] bool sees_peers(const Problem& problem) const;
  [[nodiscard]] std::string why_not_native(const Problem& problem) const;
  [[nodiscard]] Problem as_seen(const Problem& problem) const;
  void check_failures() const;
  [[noreturn]] void fail_as_caught();
  template <class Part>
  void attempt(Part part);
  template <class Part>
  void examine(Part part);
  void enqueue_messages(std::span<const std::shared_ptr<StreamedCall>> calls);

  std::shared_ptr<StreamTransport> streams_;
  Selectors selectors_;
  Failures& failures_;
  std::function<void()> poll_host_;
  std::vector<std::shared_ptr<StreamedCall>> enlisted_{};
  std::vector<std::shared_ptr<StreamedCall>> awaited_{};  // by a batch
};

}  // namespace tutti::v0::detail
