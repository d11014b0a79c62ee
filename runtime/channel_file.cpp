// How a world comes together in a folder:
//   every rank r leaves hello.r: job, size, its host, and a random name (a nonce) of its own
//   rank 0 leaves world: a random name of the world, and everybody's nonce; anew if a hello changes
//   rank r finds its nonce in it and leaves w.WORLD.ok.r
//   rank 0 finds all of these and leaves w.WORLD.go
// So nobody goes on with what an earlier run left: its world lists none of today's nonces. After
// that, exchange k is the files w.WORLD.k.r.
#include "runtime/channel_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <sstream>
#include <thread>
#include <utility>

#include "runtime/channel_rules.hpp"
#include "runtime/folder.hpp"

namespace tutti::runtime {

namespace {

constexpr std::string_view kFormat = "tutti-file-1";

std::string host_name() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

// What a rank says of itself. A line each.
struct Hello {
  std::string format{};
  std::string job{};
  std::string size{};
  std::string nonce{};
  std::string host{};
};

std::string text_of(const Hello& hello) {
  return hello.format + "\n" + hello.job + "\n" + hello.size + "\n" + hello.nonce + "\n" +
         hello.host + "\n";
}

Hello hello_of(const std::string& text) {
  Hello hello;
  std::istringstream lines{text};
  for (std::string* line : {&hello.format, &hello.job, &hello.size, &hello.nonce, &hello.host})
    std::getline(lines, *line);
  return hello;
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
    check_place(place_.rank, place_.size);
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
  bool lead();
  bool follow();
  void sweep_up();
  void check_alone() const;
  void check_failure() const;
  [[noreturn]] void fail(const Error& error);
  Error absentees(std::chrono::steady_clock::time_point start) const;
  std::optional<Hello> hello_from(Rank rank) const;

  std::string note(const std::string& what) const { return "w." + world_ + "." + what; }
  std::string note(const std::string& what, Rank rank) const {
    return note(what + "." + std::to_string(rank));
  }

  std::string path_;
  FilePlace place_;
  std::optional<Folder> folder_;
  std::string nonce_ = random_name();
  std::string world_{};                // empty until rank 0 has named it
  std::vector<std::string> nonces_{};  // of all ranks, as last published; rank 0 only
  bool joined_ = false;
  std::uint64_t rounds_ = 0;
};

void FileChannel::greet() {
  const Hello hello{std::string{kFormat}, place_.job, std::to_string(place_.size), nonce_,
                    host_name()};
  while (!folder_->write("hello." + std::to_string(place_.rank), text_of(hello)))
    folder_.emplace(path_);  // an earlier world of this path removed the folder just now
}

std::optional<Hello> FileChannel::hello_from(Rank rank) const {
  const auto text = folder_->read("hello." + std::to_string(rank));
  if (!text) return {};
  return hello_of(*text);
}

// Two processes with one rank would take turns in being heard.
void FileChannel::check_alone() const {
  const auto hello = hello_from(place_.rank);
  if (!hello || hello->nonce == nonce_) return;
  throw Error{ErrorCode::mismatch,
              "another process, on host " + hello->host + ", says that it is rank " +
                  std::to_string(place_.rank) + " of the world at " + describe(),
              place_.rank};
}

// Rank 0: names a world of those who are there. Returns whether all of them have seen it.
bool FileChannel::lead() {
  std::vector<std::string> nonces;
  for (Rank rank = 0; rank < place_.size; ++rank) {
    const auto hello = hello_from(rank);
    if (!hello || hello->format != kFormat || hello->job != place_.job ||
        hello->size != std::to_string(place_.size))
      return false;
    nonces.push_back(hello->nonce);
  }
  if (nonces != nonces_) {
    nonces_ = nonces;
    world_ = random_name();
    std::string text = world_ + "\n";
    for (const std::string& nonce : nonces_) text += nonce + "\n";
    folder_->write("world", text);
  }
  for (Rank rank = 1; rank < place_.size; ++rank)
    if (!folder_->has(note("ok", rank))) return false;
  sweep_up();
  folder_->write(note("go"), "");
  return true;
}

// The others: agree to a world that lists the own nonce. Returns whether all have.
bool FileChannel::follow() {
  const auto text = folder_->read("world");
  if (!text) return false;
  std::istringstream lines{*text};
  std::string world;
  std::string nonce;
  std::getline(lines, world);
  for (Rank rank = 0; rank <= place_.rank; ++rank) std::getline(lines, nonce);
  if (!lines || nonce != nonce_) return false;
  if (world != world_) {
    if (!world_.empty()) folder_->remove(note("ok", place_.rank));
    world_ = world;
    folder_->write(note("ok", place_.rank), "");
  }
  return folder_->has(note("go"));
}

// All ranks are here, so nobody is in an earlier world: whatever is left of it can go.
void FileChannel::sweep_up() {
  for (const std::string& name : folder_->names())
    if (name != "world" && !name.starts_with(note("")) &&
        (name.starts_with("w.") || name.ends_with(".draft")))
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
    check_alone();
    if (!patience.wait()) throw absentees(start);
  }
  joined_ = true;
  folder_->remove("hello." + std::to_string(place_.rank));
}

// Who has not come: who left no note that rank 0 could count.
Error FileChannel::absentees(std::chrono::steady_clock::time_point start) const {
  std::vector<Rank> missing;
  std::string strangers;
  for (Rank rank = 0; rank < place_.size; ++rank) {
    const auto hello = hello_from(rank);
    const bool has_agreed = !world_.empty() && folder_->has(note("ok", rank));
    if (rank == place_.rank || has_agreed) continue;
    if (hello && hello->size == std::to_string(place_.size) && hello->job == place_.job &&
        (world_.empty() || rank == 0))
      continue;
    missing.push_back(rank);
    if (hello)
      strangers += "; what rank " + std::to_string(rank) + " left there, from host " + hello->host +
                   ", is of " +
                   (hello->size == std::to_string(place_.size) ? "another run"
                                                               : "a world of " + hello->size);
  }
  if (missing.empty()) missing.push_back(0);  // all are there, and rank 0 does not say so
  const Error error = absence(*this, start, missing);
  return {error.code(), error.what() + strangers, error.culprit()};
}

// Another rank's deadline has passed: its roll call is the one to report.
void FileChannel::check_failure() const {
  if (const auto text = folder_->read(note("failed"))) {
    std::istringstream words{*text};
    Rank culprit = -1;
    std::string message;
    words >> culprit >> std::ws;
    std::getline(words, message);
    throw Error{ErrorCode::timeout, message, culprit};
  }
}

void FileChannel::fail(const Error& error) {
  folder_->write(note("failed"), std::to_string(error.culprit()) + " " + error.what());
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
    if (!patience.wait()) fail(absence(*this, start, missing));
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
    const std::string hello = "hello." + std::to_string(place_.rank);
    if (const auto mine = hello_from(place_.rank); mine && mine->nonce == nonce_)
      folder_->remove(hello);
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
