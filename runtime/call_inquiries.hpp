/// @file
/// CallInquiries: what this process asks others about their calls, and what those that have left
/// reported last.
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

/// Questions to other processes, until they are answered. One thread at a time.
class CallInquiries {
 public:
  /// A question to one process.
  struct Inquiry {
    ControlPeer* peer = nullptr;     ///< Null: nobody watches it here.
    std::uint64_t communicator = 0;  ///< Its id.
    std::uint64_t call = 0;          ///< As CallCounter::tell.
    std::uint64_t question = 0;      ///< Its number, or 0 where the process cannot be asked.
  };
  /// Sends a question. @param peer or null. @param communicator its id. @param call as
  /// CallCounter::tell. @return the question; it lasts until `close`.
  [[nodiscard]] Inquiry open(ControlPeer* peer, std::uint64_t communicator, std::uint64_t call);
  /// @return whether no answer will come any more, or one has come.
  [[nodiscard]] bool is_complete(const Inquiry& inquiry) const;
  /// @return what is known of the process's calls.
  [[nodiscard]] CallStatus close(const Inquiry& inquiry);

  /// @param answer to a question of this process; ignored where nobody waits for it any more.
  /// Throws Error{transport} where it is malformed.
  void keep_answer(const ControlMessage& answer);
  /// @param peer that is about to leave. @param message one of its last calls. Throws likewise.
  void keep_last_call(const ControlPeer& peer, const ControlMessage& message);

 private:
  [[nodiscard]] CallStatus last_call(const Inquiry& inquiry) const;

  std::map<std::uint64_t, std::optional<ControlMessage>> questions_{};  // and their answers
  std::uint64_t last_question_ = 0;
  // The latest calls of ranks that have left: by rank and communicator, then by number.
  std::map<std::pair<Rank, std::uint64_t>, std::map<std::uint64_t, CallStatus>> last_calls_{};
};

/// @param question of another process. @param calls of its communicator, or null where this process
/// has none. @param is_ended whether the communicator has ended here. @return the answer.
[[nodiscard]] ControlMessage answer_to(const ControlMessage& question, const CallCounter* calls,
                                       bool is_ended);
/// @param communicator its id. @param calls of it. @return reports of the latest calls, so that
/// processes that wait for this one find out whose call differs, after it has left.
[[nodiscard]] std::vector<ControlMessage> last_calls(std::uint64_t communicator,
                                                     const CallCounter& calls);

}  // namespace tutti::runtime
