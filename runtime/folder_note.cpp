#include "folder_note.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <thread>

#include "missing_ranks.hpp"
#include "peer_info.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kNote = "rank0";
constexpr std::string_view kFormat = "tutti-file-3";
constexpr std::string_view kNone = "-";

/// How long a rank 0 waits for an earlier one, which may be telling its ranks why it failed.
constexpr std::chrono::milliseconds kHandOver{2000};

/// Between two looks into the folder, longer and longer. File systems of several hosts tell nobody
/// when a file appears.
class Pauses {
 public:
  void wait(Deadline deadline) {
    std::this_thread::sleep_until(std::min(deadline, Clock::now() + next_));
    next_ = std::min(next_ + next_ / 2, kLongest);
  }

 private:
  static constexpr std::chrono::microseconds kLongest{20'000};
  std::chrono::microseconds next_{200};
};

/// What a note says.
struct Words {
  std::string format;
  Host host{};
  std::string local_name;
  std::string address;  // of a network; none if rank 0 is on none
  std::string secret;   // if it drew one
};

std::string text_of(const StoreOptions& options) {
  const Host host = this_host();
  std::ostringstream text;
  text << kFormat << '\n'
       << host.boot << ' ' << host.network << ' ' << options.host << '\n'
       << options.local_name << '\n'
       << (options.address.host.empty() ? std::string{kNone} : text_of(options.address)) << '\n'
       << (options.is_secret_drawn ? digits_of(*options.secret) : std::string{kNone}) << '\n';
  return text.str();
}

Words words_of(const std::string& text) {
  Words words;
  std::istringstream{text} >> words.format >> words.host.boot >> words.host.network >>
      words.host.name >> words.local_name >> words.address >> words.secret;
  return words;
}

/// @return the note of a rank 0 that lives, if there is one.
std::optional<Words> note_in(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return {};  // Folder would make it
  const Folder folder{path};
  const auto text = folder.read(kNote);
  if (!text || (!folder.is_held(kNote) && folder.has_locks())) return {};
  return words_of(*text);
}

std::string rank_0_of(const StoreOptions& options) {
  return "rank 0 of " + std::to_string(options.size) + " over " + url_of(options);
}

void adopt(const Words& words, StoreOptions& options) {
  if (words.format != kFormat)
    throw Error{ErrorCode::mismatch,
                "the note in the folder of " + url_of(options) + " is of " + words.format +
                    ", and rank " + std::to_string(options.rank) + " reads " + std::string{kFormat},
                0};
  if (words.secret != kNone) options.secret = secret_of_digits(words.secret);
  if (share_loopback(words.host, this_host())) {
    options.local_name = words.local_name;
    return;
  }
  if (words.address == kNone)
    throw Error{ErrorCode::transport,
                "rank " + std::to_string(options.rank) + " is on another host than " +
                    rank_0_of(options) + " (host " + words.host.name +
                    "), which listens at no network",
                0};
  options.address = parse_host_and_port(words.address);
}

/// At a name of the own host, and, where peers there can be authenticated, at an address of a
/// network.
void choose_where_to_listen(StoreOptions& options) {
  options.local_name = "tutti-" + random_name();
  if (!options.secret) {
    options.secret = draw_secret();
    options.is_secret_drawn = options.secret.has_value();
  }
  if (!options.secret) return;
  try {
    const Endpoint own =
        options.interface.empty() ? outward_address() : chosen_address(options.interface);
    options.address = parse_host_and_port(runtime::text_of(own));
    options.interface.clear();
  } catch (const Error& error) {  // no other host can come
    if (error.code() == ErrorCode::invalid_argument) throw;
  }
}

}  // namespace

std::string path_of_url(const std::string& url) {
  constexpr std::string_view kScheme = "file://";
  if (!url.starts_with(std::string{kScheme} + "/") || url.size() == kScheme.size() + 1)
    throw Error{ErrorCode::invalid_argument,
                "'" + url + "' names no folder: write file:///path with three slashes"};
  return url.substr(kScheme.size());
}

void meet_in_folder(StoreOptions& options, Deadline deadline) {
  if (options.rank == 0) return choose_where_to_listen(options);
  const auto start = Clock::now();
  for (Pauses pauses;;) {
    if (const auto words = note_in(options.folder)) return adopt(*words, options);
    if (Clock::now() >= deadline)
      throw Error{ErrorCode::timeout,
                  "rank " + std::to_string(options.rank) + " waited " +
                      seconds_text(Clock::now() - start) + " for " + rank_0_of(options),
                  0};
    pauses.wait(deadline);
  }
}

FolderNote::FolderNote(const StoreOptions& options, Deadline deadline)
    : folder_{std::in_place, options.folder} {
  const Deadline end = std::min(deadline, Clock::now() + kHandOver);
  folder_->remove_drafts();
  for (Pauses pauses; !(held_ = folder_->claim(kNote, text_of(options)));) {
    if (folder_->is_gone()) {  // an earlier world of this path removed it
      folder_.emplace(options.folder);
      continue;
    }
    if (!folder_->is_held(kNote)) {  // its writer was killed
      folder_->remove(kNote);
      continue;
    }
    if (Clock::now() >= end) {
      const Words other = words_of(folder_->read(kNote).value_or(""));
      throw Error{ErrorCode::mismatch,
                  "two processes came as rank 0 of the world at " + url_of(options) +
                      ", this one on host " + options.host + " and another one on host " +
                      other.host.name + ": duplicate rank; start each rank once",
                  0};
    }
    pauses.wait(end);
  }
}

void FolderNote::remove() noexcept {
  if (!held_) return;
  folder_->remove(kNote);
  folder_->remove_if_empty();
  held_.reset();
}

}  // namespace tutti::runtime
