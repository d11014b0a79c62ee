/// @file
/// Output of a job's members, on its way to the output of this process.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sockets/socket.hpp"

namespace tutti::command {

/// Writes all of a text to a descriptor. @return whether it succeeded.
bool write_all(int file, std::string_view text);

/// Sends a message to the leading `tutti run`: a line of standard output that it removes from the
/// output of ranks. @param word without a line end.
void report_to_leader(const std::string& word);

/// Output of a member.
class Stream {
 public:
  /// @param source must not block. @param target descriptor of the output. @param label prefix of
  /// each line; empty: bytes are passed on as they arrive, except messages.
  Stream(runtime::Descriptor source, int target, std::string label)
      : source_{std::move(source)}, target_{target}, label_{std::move(label)} {}

  /// @return the descriptor to poll.
  [[nodiscard]] int source() const noexcept { return source_.get(); }
  /// Passes on the bytes that have arrived. @param words receives the messages of a follower.
  /// @return false at the end of the output.
  bool pass_on(std::vector<std::string>& words);
  /// @return the descriptor of the output.
  [[nodiscard]] int target() const noexcept { return target_; }
  /// @return whether a write to the output has failed.
  [[nodiscard]] bool is_refused() const noexcept { return is_refused_; }

 private:
  bool pass_lines(bool is_end);
  bool pass_bytes(bool is_end, std::vector<std::string>& words);
  bool pass(std::size_t bytes);

  runtime::Descriptor source_;
  int target_;
  std::string label_;
  std::string held_{};  // not passed on yet
  bool is_refused_ = false;
};

}  // namespace tutti::command
