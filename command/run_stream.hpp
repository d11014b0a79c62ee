/// @file
/// What members of a job write, on its way to this process's own output.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/sockets/socket.hpp"

namespace tutti::command {

/// Writes all of a text. @param file to write to. @param text any. @return whether it took it.
bool write_all(int file, std::string_view text);

/// Says a word to the `tutti run` that this one follows: a line of standard output that it takes
/// out of what the ranks write. @param word without a line end.
void report_to_leader(const std::string& word);

/// Output of a member.
class Stream {
 public:
  /// @param source does not block. @param target where it goes. @param label stands before each
  /// line; empty: bytes are passed on as they come, but for words.
  Stream(runtime::Descriptor source, int target, std::string label)
      : source_{std::move(source)}, target_{target}, label_{std::move(label)} {}

  /// @return where it comes from, to be polled.
  [[nodiscard]] int source() const noexcept { return source_.get(); }
  /// Passes on what is there. @param words gets the messages of a follower.
  /// @return false once nothing more can come.
  bool pass_on(std::vector<std::string>& words);
  /// @return where it goes.
  [[nodiscard]] int target() const noexcept { return target_; }
  /// @return whether its target has refused something.
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
