/// @file
/// A communicator: one rank's connections, and what it has enqueued on streams.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "driver.hpp"
#include "mesh.hpp"
#include "operation.hpp"

namespace tutti::nccl_standin {

class Failure;

class Communicator {
 public:
  Communicator(Seat seat, const Device& device, bool blocking);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  ~Communicator();

  const Seat& seat() const noexcept { return mesh_.seat(); }
  bool is_blocking() const noexcept { return blocking_; }

  /// @return ncclInProgress for one that does not block, else what became of the connections.
  ncclResult_t wait_until_connected();
  /// @return what ncclCommGetAsyncError tells.
  ncclResult_t state();
  /// @return why it has failed, or null. It stays valid as long as the communicator lives.
  const char* reason() const;
  /// Throws Failure if nothing may be enqueued.
  void require_ready();

  /// Where the launched operations find out when it is their turn.
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
  /// Waits for what is enqueued, and tells the peers that this rank leaves. Throws Failure if it is
  /// still connecting, or if graphs have operations of it, for which NCCL would wait without end.
  void destroy();
  /// Ends everything. Host functions have ended when this returns, and later ones do nothing.
  void abort();

  void* add_registration();
  bool remove_registration(void* handle);

 private:
  enum class Phase { connecting, connected, finalized };

  /// What a graph does at each launch.
  struct Recorded {
    std::shared_ptr<Communicator> communicator;
    std::vector<Operation> operations;
  };

  void connect(const Device& device) noexcept;
  void fail(const Failure& failure);
  static void* add_launch(std::shared_ptr<Communicator> communicator,
                          std::vector<Operation> operations);
  void remove_launch(void* launch);
  static void record(std::unique_ptr<Recorded> recorded, CUstream stream);
  static void run(void* launch) noexcept;
  void perform(const Launch& launch) noexcept;
  void perform(const std::vector<Operation>& operations);
  void wait_until_idle(std::unique_lock<std::mutex>& lock);
  void check_context(std::unique_lock<std::mutex>& lock);

  std::mutex enqueuing_;  ///< Held between taking a ticket and enqueueing what has it.
  const bool blocking_;
  const CUcontext context_;
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
  int recorded_ = 0;                 ///< What graphs have of this.
  std::set<std::unique_ptr<char>> registrations_;
  std::thread connecting_;
};

}  // namespace tutti::nccl_standin
