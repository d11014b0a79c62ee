/// @file
/// CallInquiries: inquiries to other processes about their calls, and the last calls of processes
/// that have left.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include <tutti/spi/call_status.hpp>

#include "control_peer.hpp"

namespace tutti::runtime {

/// Inquiries until they are answered. Not safe to use from several threads.
class CallInquiries {
 public:
  /// An inquiry to one process.
  struct Inquiry {
    ControlPeer* peer = nullptr;  ///< Null: this process does not watch it.
    std::uint64_t communicator = 0;
    std::uint64_t call = 0;    ///< Number of the call, as CallCounter::status_of.
    std::uint64_t number = 0;  ///< Its number, or 0 if the process cannot be asked.
  };
  /// Sends an inquiry. @param peer or null. @param call as CallCounter::status_of. @return the
  /// inquiry; it lasts until `close`.
  [[nodiscard]] Inquiry open(ControlPeer* peer, std::uint64_t communicator, std::uint64_t call);
  /// @return whether a reply has arrived, or none will.
  [[nodiscard]] bool is_complete(const Inquiry& inquiry) const;
  /// @return the status of the process's call.
  [[nodiscard]] CallStatus close(const Inquiry& inquiry);

  /// @param reply ignored if no inquiry waits for it. Throws Error{transport} if it is malformed.
  void store_reply(const ControlMessage& reply);
  /// @param peer that leaves. @param message one of its last calls. Throws Error{transport} if it
  /// is malformed.
  void store_last_call(const ControlPeer& peer, const ControlMessage& message);

 private:
  [[nodiscard]] CallStatus last_call(const Inquiry& inquiry) const;

  std::map<std::uint64_t, std::optional<ControlMessage>> replies_{};  // by number of the inquiry
  std::uint64_t last_inquiry_ = 0;
  // The latest calls of ranks that have left: by rank and communicator, then by number.
  std::map<std::pair<Rank, std::uint64_t>, std::map<std::uint64_t, CallStatus>> last_calls_{};
};

/// @param calls of the inquiry's communicator, or null if this process has none. @param is_ended
/// whether the communicator has ended here.
[[nodiscard]] ControlMessage reply_to(const ControlMessage& inquiry, const CallCounter* calls,
                                      bool is_ended);
/// @return reports of the latest calls. They let processes that wait for this one find the call
/// that differs after this one has left.
[[nodiscard]] std::vector<ControlMessage> last_calls(std::uint64_t communicator,
                                                     const CallCounter& calls);

}  // namespace tutti::runtime
