#include "store.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

#include "missing_ranks.hpp"
#include "store_frame.hpp"
#include "store_server.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// How long after its deadline a rank still waits for rank 0, which knows who is missing.
constexpr std::chrono::milliseconds kGrace{1000};

/// Between two looks whether rank 0 listens at its Unix socket.
constexpr std::chrono::milliseconds kPause{1};

/// Any rank but 0.
class StoreClient final : public Channel {
 public:
  StoreClient(StoreOptions options, std::vector<Endpoint> addresses)
      : options_{std::move(options)}, self_{.job = options_.job,
                                            .size = options_.size,
                                            .rank = options_.rank,
                                            .secret = options_.secret,
                                            .versions = options_.versions},
        addresses_{std::move(addresses)} {}

  [[nodiscard]] Rank rank() const noexcept override { return options_.rank; }
  [[nodiscard]] int size() const noexcept override { return options_.size; }
  [[nodiscard]] std::string describe() const override { return url_of(options_); }
  [[nodiscard]] bool is_private() const noexcept override { return !options_.local_name.empty(); }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override;

 private:
  void join(Deadline deadline);
  void say(std::string_view own, Deadline deadline);
  [[nodiscard]] std::vector<std::string> hear(Deadline deadline);
  [[nodiscard]] std::string receive(std::size_t bytes, Deadline deadline);
  [[nodiscard]] Error no_word() const;
  [[nodiscard]] std::string rank_0() const { return "rank 0 at " + describe(); }

  const StoreOptions options_;
  const Party self_;
  const std::vector<Endpoint> addresses_;
  Descriptor socket_;
  std::uint32_t round_ = 0;
  Clock::time_point start_{};
  std::optional<Error> failed_;
};

std::vector<std::string> StoreClient::all_gather(std::string_view own, Deadline deadline) {
  if (failed_) throw Error{*failed_};
  if (own.size() > frame::kLongestValue)
    throw Error{ErrorCode::invalid_argument, "a rank may say at most 64 KiB at once"};
  start_ = Clock::now();
  try {
    if (!socket_) join(deadline);
    say(own, deadline);
    auto values = hear(deadline);
    ++round_;
    return values;
  } catch (const Error& error) {
    failed_ = error;
    socket_.reset();
    throw;
  }
}

void StoreClient::join(Deadline deadline) {
  const Target target{.addresses = addresses_, .local_name = options_.local_name, .peer = rank_0()};
  while (!(socket_ = dial(self_, target, deadline))) {
    if (Clock::now() >= deadline) throw no_word();
    std::this_thread::sleep_for(kPause);
  }
  const std::string_view host = std::string_view{options_.host}.substr(0, frame::kLongestHost);
  send_all(socket_.get(), frame::bytes_of(frame::make({frame::Kind::host, 0, 0, 0}, host)),
           deadline);
}

void StoreClient::say(std::string_view own, Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  const auto most = milliseconds::rep{std::numeric_limits<std::uint32_t>::max()};
  const auto told = static_cast<std::uint32_t>(std::clamp<milliseconds::rep>(left, 0, most));
  const std::string value = frame::make({frame::Kind::value, 0, round_, told}, own);
  try {
    send_all(socket_.get(), frame::bytes_of(value), deadline);
  } catch (const Error& error) {
    // A rank 0 that failed has closed the connection, but may have said why before.
    if (error.code() != ErrorCode::peer_dead) throw;
  }
}

std::string StoreClient::receive(std::size_t bytes, Deadline deadline) {
  std::string content(bytes, '\0');
  try {
    const Deadline end = deadline < Deadline::max() - kGrace ? deadline + kGrace : deadline;
    receive_all(socket_.get(), std::as_writable_bytes(std::span{content}), end);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::timeout) throw no_word();
    throw Error{ErrorCode::peer_dead, rank_0() + " went away while the world started", 0};
  }
  return content;
}

Error StoreClient::no_word() const {
  return {ErrorCode::timeout,
          "rank " + std::to_string(rank()) + " waited " + seconds_text(Clock::now() - start_) +
              " for " + rank_0(),
          0};
}

std::vector<std::string> StoreClient::hear(Deadline deadline) {
  const std::string head = receive(sizeof(frame::Header), deadline);
  std::string_view rest = head;
  const auto header = take<frame::Header>(rest);
  const bool failure = header.kind == frame::Kind::failure;
  const std::size_t limit = failure ? frame::kLongestFailure : frame::kLongestTotal;
  if ((!failure && (header.kind != frame::Kind::gathered || header.round != round_)) ||
      header.length > limit)
    throw Error{ErrorCode::transport, rank_0() + " sent a frame that is not allowed", 0};
  const std::string content = receive(header.length, deadline);
  rest = content;
  if (failure) throw take_error(rest);
  std::vector<std::string> values;
  for (int i = 0; i < size(); ++i) values.emplace_back(take_text(rest));
  return values;
}

/// Listens at a name of this host, of which there can be one listener only.
Descriptor listen_at_name(const StoreOptions& options) {
  try {
    return listen_locally(options.local_name);
  } catch (const Error&) {
    const Descriptor other = connect_locally(options.local_name, Clock::now() + kGrace);
    if (!other) throw;
    const auto process = peer_process(other.get());
    throw Error{ErrorCode::mismatch,
                "rank 0 cannot listen at " + url_of(options) + ": " +
                    (process ? "process " + std::to_string(*process) : "another process") +
                    " listens there already. Either two processes were started as rank 0: start "
                    "each rank once, with a TUTTI_RANK of its own; or another job meets at this "
                    "name: give each job a name of its own",
                0};
  }
}

/// Where rank 0 listens.
Endpoint listening_address(const StoreOptions& options, Deadline deadline) {
  if (!options.interface.empty())
    return with_port(chosen_address(options.interface), options.address.port);
  const Endpoint found = resolve(options.address, deadline).front();
  // Debian lets a host look up its own name as 127.0.1.1; other hosts know it otherwise.
  const bool own_name =
      text_of(found).starts_with("127.0.1.1:") && options.address.host != "127.0.1.1";
  return own_name ? with_port(outward_address(), options.address.port) : found;
}

}  // namespace

std::string url_of(const StoreOptions& options) {
  if (!options.local_name.empty()) return "unix://" + options.local_name;
  return "tcp://" + options.address.host + ":" + std::to_string(options.address.port);
}

std::unique_ptr<Channel> open_store(StoreOptions options, Deadline deadline) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    throw Error{ErrorCode::invalid_argument, "rank " + std::to_string(options.rank) +
                                                 " does not exist among " +
                                                 std::to_string(options.size)};
  if (options.host.empty()) {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) == 0) options.host = name.data();
  }
  if (!options.local_name.empty()) {
    options.hosts.assign(static_cast<std::size_t>(options.size), options.host);
    if (options.rank != 0)
      return std::make_unique<StoreClient>(std::move(options), std::vector<Endpoint>{});
    Descriptor listener = listen_at_name(options);
    return std::make_unique<StoreServer>(std::move(options), std::move(listener));
  }
  if (options.rank != 0) {
    if (options.address.port == 0)
      throw Error{ErrorCode::invalid_argument,
                  url_of(options) + " has no port, so that only rank 0 can know it"};
    auto addresses = resolve(options.address, deadline);
    return std::make_unique<StoreClient>(std::move(options), std::move(addresses));
  }
  const Endpoint address = listening_address(options, deadline);
  require_protection(address, options.secret, options.insecure);
  Descriptor listener = listen_on(address);
  options.address.port = port_of(bound_endpoint(listener.get()));
  return std::make_unique<StoreServer>(std::move(options), std::move(listener));
}

}  // namespace tutti::runtime
