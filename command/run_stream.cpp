#include "command/run_stream.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace tutti::command {

namespace {

// Starts a message between two `tutti run`. Programs do not write the character "record separator".
constexpr std::string_view kWord = "\x1etutti-run ";
// A longer line or message is passed on in parts.
constexpr std::size_t kLongestLine = 1U << 16U;

// Length of the longest end of `text` that can be the start of a message.
std::size_t begun(std::string_view text) {
  std::size_t letters = std::min(text.size(), kWord.size() - 1);
  while (!text.ends_with(kWord.substr(0, letters))) --letters;
  return letters;
}

}  // namespace

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t length = write(file, text.data(), text.size());
    if (length < 0 && errno != EINTR) return false;
    if (length > 0) text.remove_prefix(static_cast<std::size_t>(length));
  }
  return true;
}

void report_to_leader(const std::string& word) {
  write_all(STDOUT_FILENO, std::string{kWord} + word + "\n");
}

bool Stream::pass_on(std::vector<std::string>& words) {
  constexpr int kParts =
      32;  // twice what a pipe holds: all output of a member that has ended is read
  std::array<char, 4096> part{};
  for (int i = 0; i < kParts; ++i) {
    const ssize_t length = read(source_.get(), part.data(), part.size());
    if (length < 0) return errno == EINTR || errno == EAGAIN;
    held_.append(part.data(), static_cast<std::size_t>(length));
    const bool is_end = length == 0;
    if (!(label_.empty() ? pass_bytes(is_end, words) : pass_lines(is_end)) || is_end) return false;
  }
  return true;
}

// Passes on the first `bytes` bytes that are held.
bool Stream::pass(std::size_t bytes) {
  is_refused_ = !write_all(target_, label_ + held_.substr(0, bytes));
  held_.erase(0, bytes);
  return !is_refused_;
}

bool Stream::pass_lines(bool is_end) {
  if (is_end && !held_.empty()) held_ += '\n';
  while (!held_.empty()) {
    const std::size_t end = held_.find('\n');
    if (end == std::string::npos && held_.size() < kLongestLine) break;
    if (!pass(std::min(end, held_.size() - 1) + 1)) return false;
  }
  return true;
}

bool Stream::pass_bytes(bool is_end, std::vector<std::string>& words) {
  for (;;) {
    const std::size_t word = held_.find(kWord);
    const std::size_t end = word == std::string::npos ? word : held_.find('\n', word);
    if (end == std::string::npos) {
      std::size_t kept = word == std::string::npos ? begun(held_) : held_.size() - word;
      if (is_end || kept > kLongestLine) kept = 0;
      return pass(held_.size() - kept);
    }
    const std::size_t text = word + kWord.size();
    words.push_back(held_.substr(text, end - text));
    held_.erase(word, end + 1 - word);
  }
}

}  // namespace tutti::command
