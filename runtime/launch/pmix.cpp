#include "pmix.hpp"

#include <dlfcn.h>
#include <pmix.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/sockets/interruptible.hpp"

#include "channel_rules.hpp"

namespace tutti::runtime {

namespace {

[[noreturn]] void reject_pmix(const std::string& what) {
  throw Error{ErrorCode::transport, "PMIx: " + what};
}

// The functions of the library, found at run time.
struct Library {
  decltype(&PMIx_Init) init = nullptr;
  decltype(&PMIx_Finalize) finalize = nullptr;
  decltype(&PMIx_Initialized) is_initialized = nullptr;
  decltype(&PMIx_Put) put = nullptr;
  decltype(&PMIx_Commit) commit = nullptr;
  decltype(&PMIx_Fence_nb) fence = nullptr;
  decltype(&PMIx_Get) get = nullptr;
  decltype(&PMIx_Get_nb) get_nonblocking = nullptr;
  decltype(&PMIx_Error_string) error_text = nullptr;
};

template <class Function>
void look_up(void* handle, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(handle, name));
  if (function == nullptr) reject_pmix(std::string{"its library has no "} + name);
}

// The library stays loaded, since it runs threads of its own. Loading it again is a table look-up.
Library load_library() {
  void* handle = dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (handle == nullptr) reject_pmix(std::string{"its library cannot be loaded: "} + dlerror());
  Library library;
  look_up(handle, "PMIx_Init", library.init);
  look_up(handle, "PMIx_Finalize", library.finalize);
  look_up(handle, "PMIx_Initialized", library.is_initialized);
  look_up(handle, "PMIx_Put", library.put);
  look_up(handle, "PMIx_Commit", library.commit);
  look_up(handle, "PMIx_Fence_nb", library.fence);
  look_up(handle, "PMIx_Get", library.get);
  look_up(handle, "PMIx_Get_nb", library.get_nonblocking);
  look_up(handle, "PMIx_Error_string", library.error_text);
  return library;
}

// A directive with the value true.
pmix_info_t directive(const char* key) {
  pmix_info_t info{};
  std::strncpy(info.key, key, sizeof info.key - 1);
  info.value.type = PMIX_BOOL;
  info.value.data.flag = true;
  return info;
}

// A result that the library's thread stores and another thread waits for.
struct PendingResult {
  std::mutex mutex{};
  std::condition_variable changed{};
  std::optional<pmix_status_t> status{};
  std::optional<std::string> text{};

  // Returns the status, or nothing at the deadline.
  std::optional<pmix_status_t> wait(Deadline deadline) {
    std::unique_lock lock{mutex};
    while (!changed.wait_until(lock, next_look(deadline), [this] { return status.has_value(); }))
      if (std::chrono::steady_clock::now() >= deadline) break;
    return status;
  }
};

using Reference = std::unique_ptr<std::shared_ptr<PendingResult>>;

void on_value(pmix_status_t status, pmix_value_t* value, void* data) {
  // Owns a reference, since the waiting thread may have given up.
  const Reference result{static_cast<std::shared_ptr<PendingResult>*>(data)};
  const std::lock_guard lock{(*result)->mutex};
  if (status == PMIX_SUCCESS && value != nullptr && value->type == PMIX_BYTE_OBJECT)
    (*result)->text.emplace(value->data.bo.bytes, value->data.bo.size);
  (*result)->status = status;
  (*result)->changed.notify_all();
}

void on_arrival(pmix_status_t status, void* data) {
  on_value(status, nullptr, data);
}

// Ends the session of the process with the given id: a forked child has none.
void end_session(int, void* process) {
  if (static_cast<std::intptr_t>(getpid()) != reinterpret_cast<std::intptr_t>(process)) return;
  load_library().finalize(nullptr, 0);
}

// A connection to the launcher. The library counts its users. The first connection lasts until the
// process exits: Open MPI 4 cannot start another one after the last has ended, and the launcher
// takes the end of a session for the end of the rank, which would fail exchanges of other ranks.
class Session {
 public:
  Session() : library_{load_library()} {
    // The library's thread inherits the signal mask of this one; it must not handle the program's
    // signals.
    is_first_ = library_.is_initialized() == 0;
    sigset_t all;
    sigset_t before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const pmix_status_t status = library_.init(&self_, nullptr, 0);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    check(status, "no launcher answers");
    if (is_first_) on_exit(end_session, reinterpret_cast<void*>(std::intptr_t{getpid()}));
  }
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() {
    if (!is_first_) library_.finalize(nullptr, 0);
  }

  Rank rank() const noexcept { return static_cast<Rank>(self_.rank); }

  int size() const {
    pmix_value_t* value = nullptr;
    const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
    check(library_.get(&all, PMIX_JOB_SIZE, nullptr, 0, &value), "cannot read the number of ranks");
    const std::unique_ptr<pmix_value_t, decltype(&std::free)> owner{value, &std::free};
    if (value->type != PMIX_UINT32) reject_pmix("the number of ranks is not a number");
    return static_cast<int>(value->data.uint32);
  }

  // The launcher's name of a rank's host, whether the rank has started or not; empty if unknown.
  std::string host_of(Rank rank) const {
    pmix_value_t* value = nullptr;
    const pmix_info_t at_once = directive(PMIX_OPTIONAL);
    const pmix_proc_t of = process(static_cast<pmix_rank_t>(rank));
    if (library_.get(&of, PMIX_HOSTNAME, &at_once, 1, &value) != PMIX_SUCCESS) return {};
    const std::unique_ptr<pmix_value_t, decltype(&std::free)> owner{value, &std::free};
    if (value->type != PMIX_STRING) return {};
    const std::unique_ptr<char, decltype(&std::free)> host{value->data.string, &std::free};
    return host.get();
  }

  // Whether this process has stored a value under this key, in any session.
  bool has_put(const std::string& key) const {
    pmix_value_t* value = nullptr;
    const pmix_info_t at_once = directive(PMIX_OPTIONAL);
    const pmix_status_t status = library_.get(&self_, key.c_str(), &at_once, 1, &value);
    if (status == PMIX_ERR_NOT_FOUND) return false;
    check(status, "cannot read the value of this rank");
    if (value->type == PMIX_BYTE_OBJECT) std::free(value->data.bo.bytes);
    std::free(value);
    return true;
  }

  // Requests a rank's value of this key. The result may arrive when the rank has stored it.
  std::shared_ptr<PendingResult> request(Rank rank, const std::string& key) const {
    auto result = std::make_shared<PendingResult>();
    const pmix_proc_t from = process(static_cast<pmix_rank_t>(rank));
    auto reference = std::make_unique<std::shared_ptr<PendingResult>>(result);
    check(library_.get_nonblocking(&from, key.c_str(), nullptr, 0, on_value, reference.get()),
          "cannot read the value of a rank");
    static_cast<void>(reference.release());  // owned by on_value
    return result;
  }

  // Returns a rank's value of this key, or nothing at the deadline.
  std::optional<std::string> get(Rank rank, const std::string& key, Deadline deadline) const {
    const auto result = request(rank, key);
    const std::optional<pmix_status_t> status = result->wait(deadline);
    if (!status) return {};
    check(*status, "cannot read the value of a rank");
    if (!result->text || result->text->empty())
      reject_pmix("a rank stored a value that is not tutti's");
    return result->text;
  }

  void put(const std::string& key, std::string text) const {
    pmix_value_t value{};
    value.type = PMIX_BYTE_OBJECT;
    value.data.bo.bytes = text.data();
    value.data.bo.size = text.size();
    check(library_.put(PMIX_GLOBAL, key.c_str(), &value), "the launcher rejects a value");
    check(library_.commit(), "the launcher does not publish a value");
  }

  // Returns whether all ranks have entered by the deadline.
  bool fence(Deadline deadline) const {
    const auto result = std::make_shared<PendingResult>();
    const pmix_proc_t all = process(PMIX_RANK_WILDCARD);
    const pmix_info_t collect = directive(PMIX_COLLECT_DATA);
    auto reference = std::make_unique<std::shared_ptr<PendingResult>>(result);
    const pmix_status_t status = library_.fence(&all, 1, &collect, 1, on_arrival, reference.get());
    if (status == PMIX_OPERATION_SUCCEEDED) return true;
    check(status, "cannot start an exchange");
    static_cast<void>(reference.release());  // owned by on_arrival
    const std::optional<pmix_status_t> arrived = result->wait(deadline);
    if (!arrived) return false;
    check(*arrived, "the exchange failed");
    return true;
  }

 private:
  pmix_proc_t process(pmix_rank_t rank) const {
    pmix_proc_t process = self_;
    process.rank = rank;
    return process;
  }
  void check(pmix_status_t status, const char* what) const {
    if (status != PMIX_SUCCESS) reject_pmix(std::string{what} + ": " + library_.error_text(status));
  }

  Library library_;
  pmix_proc_t self_{};
  bool is_first_ = false;
};

class PmixChannel final : public Channel {
 public:
  PmixChannel() { find_round(); }

  Rank rank() const noexcept override { return session_.rank(); }
  int size() const noexcept override { return size_; }
  std::string describe() const override { return "PMIx"; }
  bool is_private() const noexcept override { return true; }

  std::vector<std::string> all_gather(std::string_view own, Deadline deadline) override {
    check_text(own);
    // A fence that is still pending would complete with the next one.
    if (is_broken_) reject_pmix("an earlier exchange failed");
    is_broken_ = true;
    const auto start = std::chrono::steady_clock::now();
    session_.put(key(), std::string{own} + kEnd);
    if (!session_.fence(deadline)) throw missing_ranks_error(start);
    std::vector<std::string> values;
    for (Rank rank = 0; rank < size_; ++rank) {
      std::optional<std::string> text = session_.get(rank, key(), deadline);
      if (!text) throw absence(*this, start, {rank});
      text->pop_back();
      values.push_back(*std::move(text));
    }
    ++round_;
    is_broken_ = false;
    return values;
  }

 private:
  static constexpr char kEnd = '.';  // PMIx rejects empty values

  std::string key() const { return "tutti." + std::to_string(round_); }

  // Finds the ranks without a value. Values can be read without the fence.
  Error missing_ranks_error(std::chrono::steady_clock::time_point start) const {
    constexpr std::chrono::milliseconds kWaitForReport{500};
    const Deadline deadline = std::chrono::steady_clock::now() + kWaitForReport;
    std::vector<std::shared_ptr<PendingResult>> answers;
    for (Rank rank = 0; rank < size_; ++rank) answers.push_back(session_.request(rank, key()));
    std::vector<Rank> missing;
    for (Rank rank = 0; rank < size_; ++rank)
      if (answers[static_cast<std::size_t>(rank)]->wait(deadline) != PMIX_SUCCESS)
        missing.push_back(rank);
    std::vector<std::string> hosts;
    for (Rank rank = 0; rank < size_; ++rank) hosts.push_back(session_.host_of(rank));
    const Error error = absence(*this, start, missing, hosts);
    if (!missing.empty()) return error;
    return {error.code(), error.what() + std::string{"; all have entered since"}};
  }

  // Finds the first exchange that no earlier channel of this process used. An exchange is
  // collective, so all ranks find the same number.
  void find_round() {
    const auto is_used = [this](std::uint64_t round) {
      round_ = round;
      return session_.has_put(key());
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
  }

  Session session_{};
  int size_ = session_.size();
  std::uint64_t round_ = 0;
  bool is_broken_ = false;
};

}  // namespace

bool has_pmix() noexcept {
  return true;
}

std::unique_ptr<Channel> pmix_channel() {
  return std::make_unique<PmixChannel>();
}

}  // namespace tutti::runtime
