#include "store.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <limits>
#include <thread>

#include "runtime/sockets/descriptors.hpp"
#include "runtime/sockets/interruptible.hpp"
#include "runtime/sockets/missing_ranks.hpp"

#include "folder_note.hpp"
#include "store_frame.hpp"
#include "store_server.hpp"

namespace tutti::runtime {
namespace {

using Clock = std::chrono::steady_clock;

/// The time after its deadline in which a rank still waits for rank 0, which knows the missing
/// ranks.
constexpr std::chrono::milliseconds kGrace{1000};

/// The time in which a rank without a secret tries to notify rank 0.
constexpr std::chrono::milliseconds kNoticeTime{500};

/// The interval at which a rank checks whether rank 0 listens at its Unix socket.
constexpr std::chrono::milliseconds kPause{1};

/// The channel of all ranks but 0.
class StoreClient final : public Channel {
 public:
  StoreClient(StoreOptions options, std::vector<Endpoint> addresses)
      : options_{std::move(options)}, self_{identity_of(options_)}, addresses_{
                                                                        std::move(addresses)} {}

  [[nodiscard]] Rank rank() const noexcept override { return options_.rank; }
  [[nodiscard]] int size() const noexcept override { return options_.size; }
  [[nodiscard]] std::string describe() const override { return url_of(options_); }
  [[nodiscard]] bool is_private() const noexcept override { return !options_.local_name.empty(); }
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own,
                                                    Deadline deadline) override;

 private:
  void join(Deadline deadline);
  void join_without_secret(Deadline deadline);
  void send_value(std::string_view own, Deadline deadline);
  [[nodiscard]] std::vector<std::string> receive_values(Deadline deadline);
  [[nodiscard]] std::string receive(std::size_t bytes, Deadline deadline);
  [[nodiscard]] Error timeout_error() const;
  [[nodiscard]] std::string rank_0() const { return "rank 0 at " + describe(); }

  StoreOptions options_;  // of which a folder may give others
  Identity self_;
  const std::vector<Endpoint> addresses_;
  Descriptor socket_;
  std::uint32_t round_ = 0;
  Clock::time_point start_{};
  std::optional<Error> failed_;
};

std::vector<std::string> StoreClient::all_gather(std::string_view own, Deadline deadline) {
  if (failed_) throw Error{*failed_};
  if (own.size() > frame::kLongestValue)
    throw Error{ErrorCode::invalid_argument, "a rank may send at most 64 KiB at once"};
  start_ = Clock::now();
  try {
    if (!socket_) join(deadline);
    send_value(own, deadline);
    auto values = receive_values(deadline);
    ++round_;
    return values;
  } catch (const Error& error) {
    failed_ = error;
    socket_.reset();
    throw;
  }
}

/// Without a secret, no world can connect over a network. Rank 0 is notified, since it may listen
/// for ranks of its own host.
void StoreClient::join_without_secret(Deadline deadline) {
  const Deadline end = std::min(deadline, Clock::now() + kNoticeTime);
  try {
    // A rank 0 with InitOptions::insecure accepts it.
    socket_ = dial(self_, {.addresses = addresses_, .peer = rank_0()}, end);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::timeout) throw;
    throw no_secret(rank(), rank_0());
  }
}

void StoreClient::join(Deadline deadline) {
  const auto is_safe = [&](const Endpoint& address) {
    return is_protected(address, options_.secret, options_.insecure);
  };
  if (!addresses_.empty() && std::ranges::none_of(addresses_, is_safe))
    join_without_secret(deadline);
  Target target{.addresses = addresses_,
                .host = options_.address.host,
                .local_name = options_.local_name,
                .peer = rank_0()};
  while (!socket_ && !(socket_ = dial(self_, target, deadline))) {
    if (Clock::now() >= deadline) throw timeout_error();
    sleep_until(Clock::now() + kPause);
    if (options_.folder.empty()) continue;
    meet_in_folder(options_, deadline);  // that rank 0 has ended, and another one may have come
    self_ = identity_of(options_);
    target.local_name = options_.local_name;
  }
  const std::string_view host = std::string_view{options_.host}.substr(0, frame::kLongestHost);
  send_all(socket_.get(), frame::bytes_of(frame::make({frame::ContentType::host, 0, 0, 0}, host)),
           deadline);
}

void StoreClient::send_value(std::string_view own, Deadline deadline) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(deadline - Clock::now()).count();
  const auto most = milliseconds::rep{std::numeric_limits<std::uint32_t>::max()};
  const auto milliseconds_left =
      static_cast<std::uint32_t>(std::clamp<milliseconds::rep>(left, 0, most));
  const std::string value =
      frame::make({frame::ContentType::value, 0, round_, milliseconds_left}, own);
  try {
    send_all(socket_.get(), frame::bytes_of(value), deadline);
  } catch (const Error& error) {
    // A rank 0 that failed has closed the connection, but may have sent the reason before.
    if (error.code() != ErrorCode::peer_dead) throw;
  }
}

std::string StoreClient::receive(std::size_t bytes, Deadline deadline) {
  std::string content(bytes, '\0');
  try {
    const Deadline end = deadline < Deadline::max() - kGrace ? deadline + kGrace : deadline;
    receive_all(socket_.get(), std::as_writable_bytes(std::span{content}), end);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::timeout) throw timeout_error();
    throw Error{ErrorCode::peer_dead, rank_0() + " disconnected while the world started", 0};
  }
  return content;
}

Error StoreClient::timeout_error() const {
  return {ErrorCode::timeout,
          "rank " + std::to_string(rank()) + " waited " + seconds_text(Clock::now() - start_) +
              " for " + rank_0(),
          0};
}

std::vector<std::string> StoreClient::receive_values(Deadline deadline) {
  const std::string head = receive(sizeof(frame::Header), deadline);
  std::string_view rest = head;
  const auto header = read_field<frame::Header>(rest);
  const bool failure = header.kind == frame::ContentType::failure;
  const std::size_t limit = failure ? frame::kLongestFailure : frame::kLongestTotal;
  if ((!failure && (header.kind != frame::ContentType::gathered || header.round != round_)) ||
      header.length > limit)
    throw Error{ErrorCode::transport, rank_0() + " sent a frame that is not allowed", 0};
  const std::string content = receive(header.length, deadline);
  rest = content;
  if (failure) throw read_error(rest);
  std::vector<std::string> values;
  for (int i = 0; i < size(); ++i) values.emplace_back(read_text(rest));
  return values;
}

/// Listens at a name of this host, which can have one listener only.
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

/// Whether this host is looked up by its own name. Systems such as Debian map that to a loopback
/// address, which other hosts cannot reach.
bool is_own_name(const StoreOptions& options, const Endpoint& found) {
  const std::string& name = options.address.host;
  if (!is_loopback(found) || is_number(name) || name.starts_with("localhost")) return false;
  return text_of(found).starts_with("127.0.1.1:") || name == options.host ||
         name.starts_with(options.host + ".") || options.host.starts_with(name + ".");
}

/// The addresses at which ranks of this host and of others look for rank 0.
std::vector<Endpoint> listening_addresses(const StoreOptions& options, Deadline deadline) {
  constexpr std::chrono::seconds kLookUp{1};
  std::vector<Endpoint> addresses;
  if (options.interface.empty()) {
    addresses = resolve(options.address, deadline);
    const auto own = [&](const Endpoint& found) { return is_own_name(options, found); };
    if (std::ranges::any_of(addresses, own)) try {
        addresses.push_back(with_port(outward_address(), options.address.port));
      } catch (const Error&) {  // no other host can connect
      }
    return addresses;
  }
  addresses.push_back(with_port(configured_address(options.interface), options.address.port));
  try {  // ranks of this host may look up the name as a loopback address
    for (const Endpoint& found :
         resolve(options.address, std::min(deadline, Clock::now() + kLookUp)))
      if (is_loopback(found) && text_of(found) != text_of(addresses.front()))
        addresses.push_back(found);
  } catch (const Error&) {  // other hosts know the name
  }
  return addresses;
}

/// Listens at those of the addresses that this host has, at one port.
std::vector<Listener> listen_at(StoreOptions& options, const std::vector<Endpoint>& addresses) {
  const bool has_loopback = std::ranges::any_of(addresses, is_loopback);
  std::vector<Listener> listeners;
  for (const Endpoint& address : addresses) {
    const bool accepts_ranks = is_protected(address, options.secret, options.insecure);
    if (!has_loopback) require_protection(address, options.secret, options.insecure);
    Descriptor socket = try_listen_on(with_port(address, options.address.port));
    if (!socket) continue;
    options.address.port = port_of(bound_endpoint(socket.get()));
    listeners.push_back({std::move(socket), false, accepts_ranks});
  }
  const auto accepts_ranks = [](const Listener& listener) { return listener.accepts_ranks; };
  if (!listeners.empty() && std::ranges::none_of(listeners, accepts_ranks))
    require_protection(bound_endpoint(listeners.front().socket.get()), options.secret,
                       options.insecure);
  if (listeners.empty())
    throw Error{ErrorCode::transport,
                "rank 0 cannot listen at " + url_of(options) + ": this host does not have " +
                    text_of(addresses.front()) +
                    "; set TUTTI_ADDRESS on rank 0 to the interface or address at which the others "
                    "reach it, of " +
                    interfaces_text()};
  return listeners;
}

/// Sets the host's name if it is empty.
void set_host_name(StoreOptions& options) {
  std::array<char, 256> name{};
  if (options.host.empty() && ::gethostname(name.data(), name.size() - 1) == 0)
    options.host = name.data();
}

}  // namespace

std::string url_of(const StoreOptions& options) {
  if (!options.folder.empty()) return "file://" + options.folder;
  if (!options.local_name.empty()) return "unix://" + options.local_name;
  return "tcp://" + text_of(options.address);
}

Identity identity_of(const StoreOptions& options) {
  return {.job = options.job,
          .size = options.size,
          .rank = options.rank,
          .secret = options.secret,
          .versions = options.versions};
}

std::vector<Listener> listen_for_ranks(StoreOptions& options, Deadline deadline) {
  set_host_name(options);
  std::vector<Listener> listeners;
  if (options.local_name.empty() || !options.address.host.empty())
    listeners = listen_at(options, listening_addresses(options, deadline));
  if (!options.local_name.empty()) listeners.push_back({listen_at_name(options), true});
  return listeners;
}

bool send_end_notice(const StoreOptions& options, std::string_view how, Deadline deadline) {
  const Identity self = identity_of(options);
  Target target{.local_name = options.local_name,
                .peer = "rank 0 at " + url_of(options),
                .purpose = Purpose::end,
                .listening = true};
  std::vector<Target> targets;
  if (!options.local_name.empty()) targets.push_back(target);
  else
    for (const Endpoint& address : resolve(options.address, deadline)) {
      if (!is_protected(address, options.secret, options.insecure)) continue;
      target.addresses = {address};
      targets.push_back(target);
    }
  const std::string end =
      frame::make({frame::ContentType::ended, 0, 0, 0}, how.substr(0, frame::kLongestEnd));
  for (const Target& each : targets) try {
      const Descriptor socket = dial(self, each, deadline);
      if (!socket) continue;
      send_all(socket.get(), frame::bytes_of(end), deadline);
      return true;
    } catch (const Error&) {  // rank 0 does not listen there
      continue;
    }
  return false;
}

std::unique_ptr<Channel> open_store(StoreOptions options, Deadline deadline) {
  if (options.size < 1 || options.rank < 0 || options.rank >= options.size)
    throw Error{ErrorCode::invalid_argument, "rank " + std::to_string(options.rank) +
                                                 " does not exist among " +
                                                 std::to_string(options.size)};
  set_host_name(options);
  if (!options.local_name.empty()) {
    if (options.folder.empty())
      options.hosts.assign(static_cast<std::size_t>(options.size), options.host);
    if (options.rank != 0)
      return std::make_unique<StoreClient>(std::move(options), std::vector<Endpoint>{});
  } else if (options.rank != 0) {
    if (options.address.port == 0)
      throw Error{ErrorCode::invalid_argument,
                  url_of(options) + " has no port, so that only rank 0 can know it"};
    auto addresses = resolve(options.address, deadline);
    return std::make_unique<StoreClient>(std::move(options), std::move(addresses));
  }
  auto listeners = listen_for_ranks(options, deadline);
  if (!options.folder.empty()) options.note = std::make_shared<FolderNote>(options, deadline);
  return std::make_unique<StoreServer>(std::move(options), std::move(listeners));
}

}  // namespace tutti::runtime
