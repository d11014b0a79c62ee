#include "pmi.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <optional>

#include "runtime/sockets/socket.hpp"

#include "channel_rules.hpp"

namespace tutti::runtime {

namespace {

constexpr std::string_view kName = "PMI of Hydra";

[[noreturn]] void reject_pmi(const std::string& what) {
  throw Error{ErrorCode::transport, std::string{kName} + ": " + what};
}

// PMI's values are words of a line, so each byte is written as two letters.
std::string letters_of(std::string_view bytes) {
  std::string letters;
  letters.reserve(2 * bytes.size());
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    letters += static_cast<char>('a' + (value >> 4U));
    letters += static_cast<char>('a' + (value & 15U));
  }
  return letters;
}

std::string bytes_of(std::string_view letters) {
  const auto is_letter = [](char letter) { return letter >= 'a' && letter <= 'p'; };
  if (letters.size() % 2 != 0 || !std::all_of(letters.begin(), letters.end(), is_letter))
    reject_pmi("a rank stored a value that is not tutti's: do all ranks run the same program?");
  std::string bytes;
  for (std::size_t at = 0; at < letters.size(); at += 2)
    bytes += static_cast<char>(((letters[at] - 'a') << 4) | (letters[at + 1] - 'a'));
  return bytes;
}

// The value of "name=value" in a line, or nothing.
std::optional<std::string> field_of(const std::string& line, const std::string& name) {
  std::size_t at = 0;
  while (at < line.size()) {
    const std::size_t end = std::min(line.find(' ', at), line.size());
    if (line.compare(at, name.size() + 1, name + "=") == 0)
      return line.substr(at + name.size() + 1, end - at - name.size() - 1);
    at = end + 1;
  }
  return {};
}

// Notifies the launcher when the process exits; without that notice the launcher kills all other
// ranks. If MPI_Finalize sent it before, the launcher has closed the socket, and nothing is lost.
// The argument contains the process, since a forked child must not notify, and the socket.
void send_finalize(int, void* argument) {
  constexpr int kMilliseconds = 1000;
  constexpr std::string_view kFinalize = "cmd=finalize\n";
  const auto packed = reinterpret_cast<std::uintptr_t>(argument);
  const int descriptor = static_cast<int>(packed & 0xffffffffU);
  if (packed >> 32U != static_cast<std::uintptr_t>(getpid())) return;
  if (send(descriptor, kFinalize.data(), kFinalize.size(), MSG_NOSIGNAL) < 0) return;
  pollfd readable{.fd = descriptor, .events = POLLIN, .revents = 0};
  poll(&readable, 1, kMilliseconds);  // wait for the acknowledgement; without it nothing changes
}

class PmiChannel final : public Channel {
 public:
  explicit PmiChannel(const PmiPlace& place) : place_{place} { check_rank(place.rank, place.size); }

  Rank rank() const noexcept override { return place_.rank; }
  int size() const noexcept override { return place_.size; }
  std::string describe() const override { return std::string{kName}; }
  bool is_private() const noexcept override { return true; }
  std::vector<std::string> all_gather(std::string_view own, Deadline deadline) override;

 private:
  void open(Deadline deadline);
  void register_finalize() const;
  void send(const std::string& line);
  std::string receive(const std::string& expected, Deadline deadline);
  std::optional<std::string> get(const std::string& key, Deadline deadline);
  void put(const std::string& key, const std::string& value, Deadline deadline);
  std::string read_text(Rank rank, Deadline deadline);

  std::string key(Rank rank, std::size_t part) const {
    return "tutti." + std::to_string(round_) + "." + std::to_string(rank) + "." +
           std::to_string(part);
  }

  PmiPlace place_;
  std::string space_{};      // the job's key-value space
  std::size_t longest_ = 0;  // the longest value
  bool is_broken_ = false;
  std::uint64_t round_ = 0;  // the number of exchanges of this process over all its channels
};

void PmiChannel::send(const std::string& text) {
  const std::string line = text + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t length =
        ::send(place_.descriptor, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (length < 0 && errno != EINTR)
      reject_pmi(std::string{"cannot send to the launcher: "} + std::strerror(errno));
    if (length > 0) sent += static_cast<std::size_t>(length);
  }
}

// Receives one line. The launcher only sends answers, so all input is the answer to the last
// command.
std::string PmiChannel::receive(const std::string& expected, Deadline deadline) {
  std::string line;
  while (!line.ends_with('\n')) {
    if (!wait_for(place_.descriptor, POLLIN, deadline))
      throw Error{ErrorCode::timeout, std::string{kName} + ": no " + expected + " by the deadline"};
    std::array<char, 4096> part{};
    const ssize_t length = recv(place_.descriptor, part.data(), part.size(), MSG_DONTWAIT);
    if (length == 0)
      reject_pmi(
          "the launcher has closed its socket; after MPI_Finalize it does so, and no world can "
          "start");
    if (length < 0 && errno != EINTR && errno != EAGAIN) reject_pmi(std::strerror(errno));
    if (length > 0) line.append(part.data(), static_cast<std::size_t>(length));
  }
  line.pop_back();
  if (field_of(line, "cmd") != expected) reject_pmi("'" + line + "' is not " + expected);
  return line;
}

std::optional<std::string> PmiChannel::get(const std::string& key, Deadline deadline) {
  send("cmd=get kvsname=" + space_ + " key=" + key);
  const std::string line = receive("get_result", deadline);
  if (field_of(line, "rc") != "0") return {};
  return field_of(line, "value");
}

void PmiChannel::put(const std::string& key, const std::string& value, Deadline deadline) {
  send("cmd=put kvsname=" + space_ + " key=" + key + " value=" + value);
  const std::string line = receive("put_result", deadline);
  if (field_of(line, "rc") != "0") reject_pmi("the launcher rejects a value: " + line);
}

// Reads the limits, and finds the first exchange that no earlier channel of this process used. An
// exchange is collective, so all ranks find the same number without any state of their own.
void PmiChannel::open(Deadline deadline) {
  send("cmd=get_my_kvsname");
  space_ = field_of(receive("my_kvsname", deadline), "kvsname").value_or("");
  send("cmd=get_maxes");
  const std::string limits = receive("maxes", deadline);
  const std::string longest = field_of(limits, "vallen_max").value_or("");
  std::from_chars(longest.data(), longest.data() + longest.size(), longest_);
  constexpr std::size_t kRoom = 8;  // some launchers count a final zero, some cut at the limit
  if (longest_ < 64) reject_pmi("'" + limits + "' has no usable limit of values");
  longest_ = (longest_ - kRoom) / 2 * 2;
  const auto is_used = [&](std::uint64_t round) {
    round_ = round;
    return get(key(place_.rank, 0), deadline).has_value();
  };
  std::uint64_t unused = 1;
  while (is_used(unused - 1)) unused *= 2;
  std::uint64_t first = unused / 2;
  std::uint64_t last = unused - 1;
  while (first < last) {
    const std::uint64_t middle = (first + last) / 2;
    if (is_used(middle)) first = middle + 1;
    else last = middle;
  }
  round_ = first;
  if (round_ == 0) register_finalize();
}

// MPI_Finalize closes the socket, and its number may then belong to another file: hence a
// duplicate.
void PmiChannel::register_finalize() const {
  static_assert(sizeof(void*) == 8);
  const int own = fcntl(place_.descriptor, F_DUPFD_CLOEXEC, 3);
  if (own < 0) reject_pmi(std::strerror(errno));
  const auto process = static_cast<std::uintptr_t>(getpid());
  const std::uintptr_t packed = process << 32U | static_cast<std::uintptr_t>(own);
  if (on_exit(send_finalize, reinterpret_cast<void*>(packed)) != 0)
    reject_pmi("cannot register a function for the exit of the process");
}

// A text takes as many values as it needs. The first one starts with their number.
std::string PmiChannel::read_text(Rank rank, Deadline deadline) {
  std::string letters;
  std::size_t parts = 1;
  for (std::size_t part = 0; part < parts; ++part) {
    const auto value = get(key(rank, part), deadline);
    if (!value) reject_pmi("rank " + std::to_string(rank) + " stored no value");
    std::string_view text{*value};
    if (part == 0) {
      const std::size_t end = text.find('_');
      std::from_chars(text.data(), text.data() + std::min(end, text.size()), parts);
      constexpr std::size_t kMostParts = 1U << 16U;
      if (end == std::string_view::npos || parts < 1 || parts > kMostParts)
        reject_pmi("rank " + std::to_string(rank) + " stored a value that is not tutti's");
      text.remove_prefix(end + 1);
    }
    letters += text;
  }
  return bytes_of(letters);
}

std::vector<std::string> PmiChannel::all_gather(std::string_view own, Deadline deadline) {
  check_text(own);
  // A failed exchange may leave an answer in the socket that belongs to no later command.
  if (is_broken_) reject_pmi("an earlier exchange failed");
  is_broken_ = true;
  const auto start = std::chrono::steady_clock::now();
  if (space_.empty()) open(deadline);
  const std::string letters = letters_of(own);
  constexpr std::size_t kHead =
      8;  // room in the first value for the number of values and a separator
  const std::size_t size = longest_ - kHead;
  const std::size_t parts = std::max<std::size_t>(1, (letters.size() + size - 1) / size);
  for (std::size_t part = 0; part < parts; ++part)
    put(key(place_.rank, part),
        (part == 0 ? std::to_string(parts) + "_" : "") + letters.substr(part * size, size),
        deadline);
  send("cmd=barrier_in");
  try {
    receive("barrier_out", deadline);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    throw Error{error.code(), absence(*this, start, {}).what() +
                                  std::string{"; the missing ranks are unknown, since PMI "
                                              "reveals nothing before all have entered"}};
  }
  std::vector<std::string> values;
  for (Rank rank = 0; rank < place_.size; ++rank) values.push_back(read_text(rank, deadline));
  ++round_;
  is_broken_ = false;
  return values;
}

}  // namespace

std::unique_ptr<Channel> pmi_channel(const PmiPlace& place) {
  return std::make_unique<PmiChannel>(place);
}

}  // namespace tutti::runtime
