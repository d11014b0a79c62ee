/// @file
/// A communicator: one rank's connections, and what it has enqueued on streams.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "driver.hpp"
#include "mesh.hpp"
#include "operation.hpp"
#include "processors.hpp"
#include "tokens.hpp"

namespace tutti::nccl_standin {

class Failure;

class Communicator {
 public:
  /// @param maker the function of NCCL that makes it.
  Communicator(Membership membership, const Device& device, bool blocking, std::string_view maker);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  /// Once it is connected.
  const Membership& membership() const noexcept { return mesh_.membership(); }
  const Device& device() const noexcept { return device_; }
  bool is_blocking() const noexcept { return blocking_; }
  std::string_view maker() const noexcept { return maker_; }

  /// @return ncclInProgress for one that does not block, else what became of the connections.
  ncclResult_t wait_until_connected();
  /// @return the result of ncclCommGetAsyncError.
  ncclResult_t state();
  /// @return why it has failed, or null. It stays valid as long as the communicator lives.
  const char* reason() const;
  /// Throws Failure if nothing may be enqueued.
  void require_ready();
  /// Throws Failure if it is not known yet which rank this is.
  void require_connected();

  /// Launched operations that wait for their turn.
  struct Launch {
    std::shared_ptr<Communicator> communicator;
    std::vector<Operation> operations;
    std::uint64_t ticket = 0;
  };
  /// Enqueues operations, as one host function, or lets the stream record them. @return
  /// ncclInProgress if this does not block: the state has to be asked for before anything else.
  /// Throws Failure.
  static ncclResult_t enqueue(std::shared_ptr<Communicator> communicator,
                              std::vector<Operation> operations, CUstream stream);

  /// From now on nothing can be enqueued. @return ncclInProgress if this does not block.
  ncclResult_t finalize();
  /// Waits for what is enqueued and for the end of graphs that have operations of it, and tells the
  /// peers that this rank leaves. Throws Failure if it is still connecting.
  void destroy();
  /// Begins to end everything.
  void stop() noexcept {
    is_ending_ = true;
    mesh_.stop();
  }
  /// Ends everything. Host functions have ended when this returns, and later ones do nothing. As
  /// NCCL's, it waits for the end of graphs that have operations of it.
  void abort();
  /// The same, but waits for no graph: when the process ends.
  void end();

  /// Lets all ranks register a window of that size. @param then called when they all have.
  void register_window(std::size_t bytes, const std::function<void()>& then);
  /// @return ncclInProgress for one that does not block, else what became of what ranks agree on.
  ncclResult_t wait_until_agreed();

  /// Throws Failure if another thread calls something of this communicator, which then has failed.
  [[nodiscard]] std::unique_ptr<OneAtATime::Scope> enter();
  /// @param recorded whether a graph has the operation, for which NCCL registers memory by itself.
  /// @return how the buffers of an operation are known. Throws Failure if they differ in it.
  Registered registered(const Operation& operation, bool recorded) const;

  Tokens& registrations() noexcept { return registrations_; }
  Tokens& windows() noexcept { return windows_; }

 private:
  enum class Phase { connecting, connected, finalized };

  /// The operation of a graph at each launch.
  struct Recorded {
    std::shared_ptr<Communicator> communicator;
    std::vector<Operation> operations;
  };

  void connect(const Membership& membership) noexcept;
  bool is_agreeing();
  void agree_apart(const Note& own, const std::function<void()>& then);
  bool meet_once();
  std::uint64_t begin_agreement();
  std::vector<Note> agree(
      std::uint64_t ticket, const Note& own, const Mesh& other,
      const std::function<void()>& then = [] {});
  void fail(const Failure& failure);
  static void* add_launch(std::shared_ptr<Communicator> communicator,
                          std::vector<Operation> operations);
  void remove_launch(void* launch);
  static void record(std::unique_ptr<Recorded> recorded, CUstream stream);
  static void run(void* launch) noexcept;
  [[nodiscard]] bool knows(const void* data, bool recorded) const;
  void perform(const Launch& launch) noexcept;
  void perform(const std::vector<Operation>& operations);
  void wait_until_idle(std::unique_lock<std::mutex>& lock);
  void check_context(std::unique_lock<std::mutex>& lock);

  std::atomic<bool> is_ending_{false};
  OneAtATime calling_;
  std::mutex enqueuing_;  ///< Held between taking a ticket and enqueueing what has it.
  const bool blocking_;
  const Device device_;
  const std::string_view maker_;
  std::atomic<bool> is_to_meet_;  ///< Before its first call.
  Mesh mesh_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Phase phase_ = Phase::connecting;
  ncclResult_t error_ = ncclSuccess;  ///< The first failure, and why.
  std::string reason_;
  bool announced_ = false;  ///< The state is in progress when it is asked for next.
  bool running_ = false;    ///< A host function is exchanging messages.
  std::uint64_t next_ticket_ = 0;
  std::uint64_t turn_ = 0;  ///< Operations of one communicator are done in order, on any stream.
  std::set<std::uint64_t> pending_;  ///< The tickets of what is enqueued and has not ended.
  int recorded_ = 0;                 ///< Operations of this in graphs.
  std::uint64_t next_agreement_ = 0;
  std::uint64_t agreement_ = 0;  ///< All ranks agree on one thing after the other, in this order.
  std::vector<std::thread> agreeing_;
  Tokens registrations_;
  Tokens windows_;
  std::thread connecting_;
};

}  // namespace tutti::nccl_standin
