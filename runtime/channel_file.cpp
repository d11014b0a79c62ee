// How a world comes together in a folder:
//   every rank r leaves hello.r: job, size, its host, and a random name (a nonce) of its own
//   rank 0 leaves world: a random name of the world, and everybody's nonce and host; anew if a
//     hello changes
//   rank r finds its nonce in it and leaves w.WORLD.ok.r
//   rank 0 finds all of these and leaves w.WORLD.go
//   every rank takes its hello away and goes on
// So nobody goes on with what an earlier run left: its world lists none of today's nonces. After
// that, exchange k is the files w.WORLD.k.r.
// A hello is held (locked) as long as its writer lives and waits; what others left is not:
//   who finds a hello.r of the living for its own r takes it away and leaves rival.NONCE. Its
//     writer misses it, at the latest when it wants to go on
//   who finds a hello.0 of the living with which it does not agree leaves refused.NONCE.r. Rank 0
//     gives up a moment later, if it is about the size, and says why in failed.NONCE
//   a launcher that knows that a rank has ended leaves failed.NONCE for each of the others
#include "runtime/channel_file.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "runtime/channel_rules.hpp"
#include "runtime/failure_note.hpp"
#include "runtime/fields.hpp"
#include "runtime/folder.hpp"
#include "runtime/hello.hpp"
#include "runtime/refused.hpp"

namespace tutti::runtime {

namespace {

// Notes to a process, by its nonce.
constexpr std::string_view kRival = "rival.";

// How long a rank may still come after a stray process of its number that counts other ranks.
constexpr std::chrono::milliseconds kDoubt{500};
// How long rank 0 stays to be heard.
constexpr std::chrono::milliseconds kFarewell{1000};

std::string note_to(std::string_view kind, const std::string& nonce) {
  return std::string{kind} + nonce;
}

// Sleeps between two looks into the folder, longer and longer. File systems of several hosts tell
// nobody when a file appears.
class Patience {
 public:
  explicit Patience(Deadline deadline) : deadline_{deadline} {}
  // Returns false once the deadline has passed.
  bool wait() {
    const auto now = std::chrono::steady_clock::now();
    if (now >= deadline_) return false;
    std::this_thread::sleep_until(std::min(deadline_, now + pause_));
    pause_ = std::min(pause_ + pause_ / 2, kLongest);
    return true;
  }

 private:
  static constexpr std::chrono::microseconds kLongest{20'000};
  Deadline deadline_;
  std::chrono::microseconds pause_{200};
};

class FileChannel final : public Channel {
 public:
  FileChannel(std::string path, FilePlace place)
      : path_{std::move(path)}, place_{std::move(place)}, folder_{std::in_place, path_} {
    check_rank(place_.rank, place_.size);
    place_.hosts.resize(static_cast<std::size_t>(place_.size));
  }
  ~FileChannel() override;

  Rank rank() const noexcept override { return place_.rank; }
  int size() const noexcept override { return place_.size; }
  std::string describe() const override { return "file://" + path_; }
  bool is_private() const noexcept override { return true; }
  std::vector<std::string> all_gather(std::string_view own, Deadline deadline) override;

 private:
  void join(Deadline deadline);
  void greet();
  void contest();
  std::optional<Error> rivalry() const;
  Error duplicate(const std::string& host) const;
  bool lead();
  bool follow();
  void sweep_up();
  void check_agreement();
  void check_failure() const;
  [[noreturn]] void fail(const Error& error);
  Error absentees(std::chrono::steady_clock::time_point start) const;
  void check_chances();
  bool waits(Rank rank) const;
  [[noreturn]] void leave_with(const Error& error);
  std::optional<Hello> hello_from(Rank rank) const;

  std::string note(const std::string& what) const { return "w." + world_ + "." + what; }
  std::string note(const std::string& what, Rank rank) const {
    return note(what + "." + std::to_string(rank));
  }

  std::string path_;
  FilePlace place_;  // its hosts are those of the ranks themselves, once these are known
  std::optional<Folder> folder_;
  const std::string nonce_ = random_name();
  const Hello hello_ = own_hello(place_.job, place_.size, nonce_);
  Descriptor held_{};                        // the own hello, until all have come
  std::string world_{};                      // empty until rank 0 has named it
  std::string members_{};                    // nonces and hosts, as last published; rank 0 only
  std::optional<Deadline> doubted_since_{};  // since when not all can come; rank 0 only
  bool joined_ = false;
  std::uint64_t rounds_ = 0;
};

void FileChannel::greet() {
  while (!(held_ = folder_->claim(hello_name(place_.rank), text_of(hello_))))
    if (folder_->is_gone()) folder_.emplace(path_);  // an earlier world of this path removed it
    else contest();
}

// There is a hello of this rank. One that the dead have left is removed. A living process is told.
void FileChannel::contest() {
  const auto other = hello_from(place_.rank);
  if (!other) return;
  const bool is_alive = folder_->is_held(hello_name(place_.rank));
  if (is_alive) folder_->write(note_to(kRival, other->nonce), hello_.host);
  const bool is_told = folder_->remove(hello_name(place_.rank)) && is_alive;
  if (is_told) throw duplicate(other->host);
  if (is_alive) folder_->remove(note_to(kRival, other->nonce));  // its world has begun
}

// Whether another process took the own hello away.
std::optional<Error> FileChannel::rivalry() const {
  const auto hello = hello_from(place_.rank);
  if ((hello && hello->nonce == nonce_) || folder_->is_gone()) return {};
  const auto host = hello ? hello->host : folder_->read(note_to(kRival, nonce_));
  return duplicate(host.value_or("unknown"));
}

Error FileChannel::duplicate(const std::string& host) const {
  const std::string rank = std::to_string(place_.rank);
  return {ErrorCode::mismatch,
          "two processes came as rank " + rank + " of the world at " + describe() +
              ", this one on host " + hello_.host + " and another one on host " + host +
              ": duplicate rank; start each rank once",
          place_.rank};
}

std::optional<Hello> FileChannel::hello_from(Rank rank) const {
  const auto text = folder_->read(hello_name(rank));
  if (!text) return {};
  return hello_of(*text);
}

// A rank 0 that waits, and not just what an earlier one left, decides who belongs to its world.
void FileChannel::check_agreement() {
  const auto first = hello_from(0);
  if (!first || first->agrees_with(hello_) || !folder_->is_held(hello_name(0))) return;
  const std::string self = "rank " + std::to_string(place_.rank);
  const std::string claim = claim_of(hello_, *first);
  leave_refusal(*folder_, first->nonce, {place_.rank, hello_});
  throw Error{ErrorCode::mismatch,
              self + " " + claim + ", but rank 0 (host " + first->host + ") at " + describe() +
                  " " + claim_of(*first, hello_),
              0};
}

// Nobody need wait for a rank that has ended, or in whose place one came that counts other ranks,
// unless it was a stray one.
void FileChannel::check_chances() {
  if (const auto error = failure_left(*folder_, nonce_)) leave_with(*error);
  if (const auto first = hello_from(0); first && place_.rank != 0)
    if (const auto error = failure_left(*folder_, first->nonce)) leave_with(*error);
  std::vector<Refused> refused;
  if (place_.rank == 0) refused = refusals(*folder_, nonce_);
  std::erase_if(refused, [this](const Refused& one) { return waits(one.rank); });
  if (refused.empty()) return doubted_since_.reset();
  std::size_t agreeing = 0;
  for (Rank rank = 0; rank < place_.size; ++rank) agreeing += waits(rank) ? 1 : 0;
  const auto error = wrong_sizes(refused, hello_, agreeing);
  if (!error) return doubted_since_.reset();
  const auto now = std::chrono::steady_clock::now();
  if (!doubted_since_) doubted_since_ = now;
  if (now - *doubted_since_ < kDoubt) return;
  leave_failure(*folder_, nonce_, *error);
  leave_with(*error);
}

// Whether a living process has come as a rank and agrees.
bool FileChannel::waits(Rank rank) const {
  const auto hello = hello_from(rank);
  return hello && hello->agrees_with(hello_) && folder_->is_held(hello_name(rank));
}

// Rank 0 stays until the others have read why, or are gone.
void FileChannel::leave_with(const Error& error) {
  if (place_.rank != 0) folder_->remove(hello_name(place_.rank));
  Patience patience{std::chrono::steady_clock::now() + kFarewell};
  for (Rank rank = 1; place_.rank == 0 && rank < place_.size;)
    if (!waits(rank) || !patience.wait()) ++rank;
  throw Error{error};
}

// Rank 0: names a world of those who are there. Returns whether all of them have seen it.
bool FileChannel::lead() {
  std::string members;
  std::vector<std::string> hosts;
  for (Rank rank = 0; rank < place_.size; ++rank) {
    const auto hello = hello_from(rank);
    if (!hello || !hello->agrees_with(hello_)) return false;
    members += hello->nonce + " " + hello->host + "\n";
    hosts.push_back(hello->host);
  }
  if (members != members_) {
    members_ = members;
    world_ = random_name();
    folder_->write("world", world_ + "\n" + members_);
  }
  for (Rank rank = 1; rank < place_.size; ++rank)
    if (!folder_->has(note("ok", rank))) return false;
  sweep_up();
  place_.hosts = hosts;
  folder_->write(note("go"), "");
  return true;
}

// The others: agree to a world that lists the own nonce. Returns whether all have.
bool FileChannel::follow() {
  const auto text = folder_->read("world");
  if (!text) return false;
  std::istringstream words{*text};
  std::string world;
  words >> world;
  std::vector<std::string> nonces(place_.hosts.size());
  std::vector<std::string> hosts(place_.hosts.size());
  for (std::size_t rank = 0; rank < hosts.size(); ++rank) words >> nonces[rank] >> hosts[rank];
  if (!words || nonces[static_cast<std::size_t>(place_.rank)] != nonce_) return false;
  if (world != world_) {
    if (!world_.empty()) folder_->remove(note("ok", place_.rank));
    world_ = world;
    folder_->write(note("ok", place_.rank), "");
  }
  if (!folder_->has(note("go"))) return false;
  place_.hosts = hosts;
  return true;
}

// All ranks are here, so nobody is in an earlier world: whatever is left of it can go.
void FileChannel::sweep_up() {
  for (const std::string& name : folder_->names())
    if (name != "world" && !name.starts_with(note("")) &&
        (name.starts_with("w.") || name.starts_with(kRival) || name.starts_with(kRefused) ||
         name.starts_with(kFailed) || name.ends_with(".draft")))
      folder_->remove(name);
}

void FileChannel::join(Deadline deadline) {
  const auto start = std::chrono::steady_clock::now();
  greet();
  for (Patience patience{deadline}; !(place_.rank == 0 ? lead() : follow());) {
    if (folder_->is_gone()) {
      folder_.emplace(path_);
      greet();
    }
    if (const auto error = rivalry()) throw Error{*error};
    check_agreement();
    check_chances();
    if (!patience.wait()) throw absentees(start);
  }
  joined_ = true;
  if (!folder_->remove(hello_name(place_.rank)))
    if (const auto error = rivalry()) fail(*error);
  held_.reset();
}

// Who has not come: who left no note that rank 0 could count.
Error FileChannel::absentees(std::chrono::steady_clock::time_point start) const {
  std::vector<Rank> missing;
  std::vector<std::string> hosts = place_.hosts;
  std::string strangers;
  for (Rank rank = 0; rank < place_.size; ++rank) {
    const auto hello = hello_from(rank);
    const bool has_agreed = !world_.empty() && folder_->has(note("ok", rank));
    const bool is_ours = hello && hello->agrees_with(hello_);
    if (is_ours && folder_->is_held(hello_name(rank)))  // not what an earlier run left
      hosts[static_cast<std::size_t>(rank)] = hello->host;
    if (rank == place_.rank || has_agreed || (is_ours && (world_.empty() || rank == 0))) continue;
    missing.push_back(rank);
    if (hello)
      strangers += "; what rank " + std::to_string(rank) + " left there, from host " + hello->host +
                   ", is of " +
                   (hello->size == hello_.size ? "another run" : "a world of " + hello->size);
  }
  if (missing.empty()) missing.push_back(0);  // all are there, and rank 0 does not say so
  const Error error = absence(*this, start, missing, hosts);
  const auto first = hello_from(0);
  const std::string refused =
      first ? text_of(refusals(*folder_, first->nonce), *first) : std::string{};
  return {error.code(), error.what() + strangers + refused, error.culprit()};
}

// Another rank has failed, most often at its deadline: what it says is the one thing to report.
void FileChannel::check_failure() const {
  if (const auto text = folder_->read(note("failed"))) {
    std::string_view rest = *text;
    throw read_error(rest);
  }
}

void FileChannel::fail(const Error& error) {
  std::string text;
  write_error(text, error);
  folder_->write(note("failed"), text);
  throw Error{error};
}

std::vector<std::string> FileChannel::all_gather(std::string_view own, Deadline deadline) {
  check_text(own);
  if (!joined_) join(deadline);
  const auto start = std::chrono::steady_clock::now();
  const std::string round = std::to_string(rounds_);
  if (!folder_->write(note(round, place_.rank), own))
    throw Error{ErrorCode::transport, "somebody removed the folder of " + describe()};
  std::vector<std::optional<std::string>> texts(static_cast<std::size_t>(place_.size));
  for (Patience patience{deadline};;) {
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < place_.size; ++rank) {
      auto& text = texts[static_cast<std::size_t>(rank)];
      if (!text) text = folder_->read(note(round, rank));
      if (!text) missing.push_back(rank);
    }
    if (missing.empty()) break;
    check_failure();
    if (!patience.wait()) fail(absence(*this, start, missing, place_.hosts));
  }
  // Whoever has begun this exchange has read all of the one before.
  if (rounds_ > 0) folder_->remove(note(std::to_string(rounds_ - 1), place_.rank));
  ++rounds_;
  std::vector<std::string> heard;
  for (auto& text : texts) heard.push_back(std::move(*text));
  return heard;
}

// The last rank to leave removes what is left. Nobody waits for the others.
FileChannel::~FileChannel() {
  try {
    if (const auto mine = hello_from(place_.rank); mine && mine->nonce == nonce_)
      folder_->remove(hello_name(place_.rank));
    for (const std::string& name : folder_->names())
      if (name.starts_with(note_to(kRival, nonce_)) ||
          name.starts_with(note_to(kRefused, nonce_)) || name == note_to(kFailed, nonce_))
        folder_->remove(name);
    if (!world_.empty()) folder_->remove(note("ok", place_.rank));
    if (joined_) {
      folder_->write(note("left", place_.rank), "");
      bool is_last = true;
      for (Rank rank = 0; rank < place_.size; ++rank)
        is_last = is_last && folder_->has(note("left", rank));
      if (is_last) {
        for (const std::string& name : folder_->names())
          if (name.starts_with(note(""))) folder_->remove(name);
        if (const auto world = folder_->read("world"); world && world->starts_with(world_))
          folder_->remove("world");
      }
    }
    folder_->remove_if_empty();
  } catch (const Error&) {
    // The folder is gone or out of reach: then there is nothing of ours to remove.
    return;
  }
}

}  // namespace

std::unique_ptr<Channel> file_channel(const std::string& path, const FilePlace& place) {
  return std::make_unique<FileChannel>(path, place);
}

std::string path_of_url(const std::string& url) {
  constexpr std::string_view kScheme = "file://";
  if (!url.starts_with(std::string{kScheme} + "/") || url.size() == kScheme.size() + 1)
    throw Error{ErrorCode::invalid_argument,
                "'" + url + "' names no folder: write file:///path with three slashes"};
  return url.substr(kScheme.size());
}

}  // namespace tutti::runtime
