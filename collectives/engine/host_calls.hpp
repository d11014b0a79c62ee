/// @file
/// Calls of the host, from their arguments to their end.
#pragma once

#include <optional>
#include <string>

#include <tutti/communicator.hpp>

#include "collectives/binding/call_binder.hpp"
#include "collectives/diagnosis/diagnosis.hpp"

#include "progress.hpp"

namespace tutti::v0::detail {

/// Finds an idle execution for each call, starts it, and puts it back into the cache when it is
/// done.
class HostCalls {
 public:
  /// All of them live longer. @param binder has what calls run. @param diagnosis whether they may.
  /// @param progress runs them.
  HostCalls(CallBinder& binder, Diagnosis& diagnosis, Progress& progress) noexcept
      : binder_{binder}, diagnosis_{diagnosis}, progress_{progress} {}

  [[nodiscard]] CallBinder& binder() noexcept { return binder_; }
  [[nodiscard]] Diagnosis& diagnosis() noexcept { return diagnosis_; }
  [[nodiscard]] Progress& progress() noexcept { return progress_; }

  /// @return an idle execution for this shape, from the cache or made. Throws
  /// Error{invalid_argument} for wrong arguments, and the first failure of a failed communicator.
  [[nodiscard]] Execution* acquire(const Call& call, const Options& options);
  /// The same for a plan, which is numbered. Throws as acquire.
  [[nodiscard]] Execution* acquire_plan(const Call& call, const Options& options);
  /// A call that blocks. Throws as acquire, and the first failure.
  void run(const Call& call, const Options& options);
  /// Checks where the buffers of a run lie. Throws Error{invalid_argument}, and the first failure.
  void check_start(const Execution& execution, const void* in, const void* out) const;
  /// Starts an execution that acquire gave, or holds it until the window has room for it.
  /// `timeout` zero takes the communicator's. Throws as check_start.
  void start(Execution& execution, const void* in, void* out, Duration timeout);
  /// Takes the next position for a call that this rank does not make. @param words why.
  void skip(const std::string& words);
  /// Gives an execution back. If it is pending, the communicator fails.
  void release(Execution* execution) noexcept;

  /// Looks for a message that nobody receives yet. @param from its sender, or any_rank. @param tag
  /// the user's. @return what it is, if one has come. Throws the first failure.
  [[nodiscard]] std::optional<Arrival> probe(Rank from, int tag);
  /// Waits for such a message. @param timeout zero takes the communicator's. Throws also
  /// Error{timeout}, of which the communicator fails.
  [[nodiscard]] Arrival await_message(Rank from, int tag, Duration timeout);

 private:
  using Shape = ProgramCache::Shape;
  using CachedExecution = ProgramCache::CachedExecution;
  CachedExecution& ready_for(const Call& call, const Options& options);
  void run_later(Shape& shape, const Call& call, const Options& options);

  CallBinder& binder_;
  Diagnosis& diagnosis_;
  Progress& progress_;
};

}  // namespace tutti::v0::detail
