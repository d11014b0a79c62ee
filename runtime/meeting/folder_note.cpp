#include "folder_note.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/sockets/interruptible.hpp"
#include "runtime/sockets/missing_ranks.hpp"

#include "peer_info.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kNote = "rank0";
constexpr std::string_view kFormat = "tutti-file-3";
constexpr std::string_view kNone = "-";

/// The time in which a rank 0 waits for an earlier one, which may be reporting its failure.
constexpr std::chrono::milliseconds kHandOver{2000};

/// Pauses between two reads of the folder, each longer than the last. File systems of several hosts
/// send no event when a file appears.
class Pauses {
 public:
  void wait(Deadline deadline) {
    sleep_until(std::min(deadline, Clock::now() + next_));
    next_ = std::min(next_ + next_ / 2, kLongest);
  }

 private:
  static constexpr std::chrono::microseconds kLongest{20'000};
  std::chrono::microseconds next_{200};
};

/// The fields of a note.
struct NoteFields {
  std::string format;
  Host host{};
  std::string local_name;
  std::string address;  // for other hosts, or "-"
  std::string secret;   // if rank 0 generated one, or "-"
};

std::string text_of(const StoreOptions& options) {
  const Host host = this_host();
  const std::string none{kNone};
  return std::string{kFormat} + "\n" + host.boot + " " + host.network + " " + options.host + "\n" +
         options.local_name + "\n" +
         (options.address.host.empty() ? none : text_of(options.address)) + "\n" +
         (options.is_secret_generated ? digits_of(*options.secret) : none) + "\n";
}

/// Removes the first word of a text. @return the word.
std::string take_word(std::string_view& text) {
  constexpr std::string_view kBlanks = " \n";
  text.remove_prefix(std::min(text.find_first_not_of(kBlanks), text.size()));
  const std::string word{text.substr(0, text.find_first_of(kBlanks))};
  text.remove_prefix(word.size());
  return word;
}

NoteFields parse_note(const std::string& text) {
  NoteFields note;
  std::string_view rest{text};
  for (std::string* const word : {&note.format, &note.host.boot, &note.host.network,
                                  &note.host.name, &note.local_name, &note.address, &note.secret})
    *word = take_word(rest);
  return note;
}

/// @return the note of a live rank 0, if there is one.
std::optional<NoteFields> read_live_note(const std::string& path) {
  if (::access(path.c_str(), F_OK) != 0) return {};  // Folder would create it
  const Folder folder{path};
  const auto text = folder.read(kNote);
  if (!text || (!folder.is_locked(kNote) && folder.has_locks())) return {};
  return parse_note(*text);
}

std::string rank_0_of(const StoreOptions& options) {
  return "rank 0 of " + std::to_string(options.size) + " over " + url_of(options);
}

void apply_note(const NoteFields& note, StoreOptions& options) {
  if (note.format != kFormat)
    throw Error{ErrorCode::mismatch,
                "the note in the folder of " + url_of(options) + " is of " + note.format +
                    ", and rank " + std::to_string(options.rank) + " reads " + std::string{kFormat},
                0};
  if (note.secret != kNone) options.secret = secret_of_digits(note.secret);
  if (share_loopback(note.host, this_host())) {
    options.local_name = note.local_name;
    return;
  }
  if (note.address == kNone)
    throw Error{ErrorCode::transport,
                "rank " + std::to_string(options.rank) + " is on another host than " +
                    rank_0_of(options) + " (host " + note.host.name +
                    "), which has no network address",
                0};
  options.address = parse_host_and_port(note.address);
}

/// Chooses a name on this host, and, if peers can be authenticated, an address for other hosts.
void choose_addresses(StoreOptions& options) {
  options.local_name = "tutti-" + random_name();
  if (!options.secret) {
    options.secret = generate_secret();
    options.is_secret_generated = options.secret.has_value();
  }
  if (!options.secret) return;
  try {
    const Endpoint own =
        options.interface.empty() ? outward_address() : configured_address(options.interface);
    options.address = parse_host_and_port(runtime::text_of(own));
    options.interface.clear();
  } catch (const Error& error) {  // no other host can connect
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
  if (options.rank == 0) return choose_addresses(options);
  const auto start = Clock::now();
  for (Pauses pauses;;) {
    if (const auto note = read_live_note(options.folder)) return apply_note(*note, options);
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
  for (Pauses pauses; !(lock_ = folder_->create_locked(kNote, text_of(options)));) {
    if (folder_->is_gone()) {  // an earlier world of this path removed it
      folder_.emplace(options.folder);
      continue;
    }
    if (!folder_->is_locked(kNote)) {  // its writer was killed
      folder_->remove(kNote);
      continue;
    }
    if (Clock::now() >= end) {
      const NoteFields other = parse_note(folder_->read(kNote).value_or(""));
      throw Error{ErrorCode::mismatch,
                  "two processes started as rank 0 of the world at " + url_of(options) +
                      ", this one on host " + options.host + " and another one on host " +
                      other.host.name + ": duplicate rank; start each rank once",
                  0};
    }
    pauses.wait(end);
  }
}

void FolderNote::remove() noexcept {
  if (!lock_) return;
  folder_->remove(kNote);
  folder_->remove_if_empty();
  lock_.reset();
}

}  // namespace tutti::runtime
