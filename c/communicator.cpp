// Worlds, communicators and memory.
#include <cstdlib>
#include <cstring>
#include <string>

#include <tutti/spi/communicator.hpp>
#include <tutti/spi/init.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

/// The exchange of a program, as a Channel.
class ProgramChannel final : public Channel {
 public:
  explicit ProgramChannel(const tutti_channel& channel) : channel_{channel} {
    require(reinterpret_cast<const void*>(channel.all_gather), "tutti_channel::all_gather");
    if (channel.ranks < 1 || channel.rank < 0 || channel.rank >= channel.ranks)
      throw Error{ErrorCode::invalid_argument,
                  "rank " + std::to_string(channel.rank) + " of " + std::to_string(channel.ranks) +
                      " is none: tutti_channel needs 0 <= rank < ranks"};
  }

  [[nodiscard]] Rank rank() const noexcept override { return channel_.rank; }
  [[nodiscard]] int size() const noexcept override { return channel_.ranks; }
  [[nodiscard]] std::string describe() const override {
    return channel_.name == nullptr ? "the program" : channel_.name;
  }
  [[nodiscard]] bool is_private() const noexcept override { return channel_.is_private != 0; }
  /// Sizes first, since all_gather exchanges equally many bytes of each rank.
  [[nodiscard]] std::vector<std::string> all_gather(std::string_view own, Deadline) override {
    const auto ranks = static_cast<std::size_t>(channel_.ranks);
    const std::uint64_t size = own.size();
    std::vector<std::uint64_t> sizes(ranks);
    exchange(&size, sizeof size, sizes.data());
    const std::uint64_t longest = *std::ranges::max_element(sizes);
    if (longest > kLongest)
      throw Error{ErrorCode::transport, "all_gather of " + describe() + " returned wrong bytes"};
    std::string padded{own};
    padded.resize(longest);
    std::string all(ranks * longest, '\0');
    if (longest > 0) exchange(padded.data(), longest, all.data());
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      texts.push_back(all.substr(rank * longest, sizes[rank]));
    return texts;
  }

 private:
  static constexpr std::uint64_t kLongest = std::uint64_t{1} << 20;

  /// A callback that an exception ends may return 0, as Python's do. The own bytes are then not in
  /// their place.
  void exchange(const void* own, std::size_t bytes, void* all) const {
    const auto rank = static_cast<std::size_t>(channel_.rank);
    std::memset(all, 0xff, bytes * static_cast<std::size_t>(channel_.ranks));
    if (const int failure = channel_.all_gather(channel_.context, own, bytes, all); failure != 0)
      throw Error{ErrorCode::transport,
                  "all_gather of " + describe() + " returned " + std::to_string(failure)};
    if (std::memcmp(static_cast<const std::byte*>(all) + rank * bytes, own, bytes) != 0)
      throw Error{ErrorCode::transport, "all_gather of " + describe() +
                                            " returned other bytes for rank " +
                                            std::to_string(rank) + " than this rank gave"};
  }

  const tutti_channel channel_;
};

CommunicatorOptions communicator_options_of(const tutti_communicator_options* given) {
  tutti_communicator_options defaults{};
  tutti_communicator_options_defaults(&defaults, sizeof defaults);
  const tutti_communicator_options read_options = read(given, defaults);
  CommunicatorOptions options;
  options.timeout = duration_of(read_options.timeout);
  options.segments_in_flight = read_options.segments_in_flight;
  options.progress_thread = read_options.progress_thread != 0;
  options.cache_bytes = read_options.cache_bytes;
  options.transport = view_of(read_options.transport);
  if (read_options.determinism != TUTTI_DETERMINISM_DEFAULT)
    options.determinism =
        enumerator_of<Determinism>(read_options.determinism, kDeterminisms, "tutti_determinism");
  return options;
}

InitOptions init_options_of(const tutti_init_options* given) {
  tutti_init_options defaults{};
  tutti_init_options_defaults(&defaults, sizeof defaults);
  const tutti_init_options read_options = read(given, defaults);
  InitOptions options;
  options.url = view_of(read_options.url);
  if (read_options.ranks != 0) {
    options.rank = read_options.rank;
    options.size = read_options.ranks;
  }
  if (read_options.transport != nullptr) options.transport = read_options.transport;
  options.timeout = duration_of(read_options.timeout);
  options.heartbeat_timeout = duration_of(read_options.heartbeat_timeout);
  options.address = view_of(read_options.address);
  options.secret_file = view_of(read_options.secret_file);
  options.payload_checksum = read_options.payload_checksum != 0;
  options.network_megabits = read_options.network_megabits;
  options.insecure = read_options.insecure != 0;
  options.tls = read_options.tls != 0;
  options.tuning = view_of(read_options.tuning);
  options.topology = view_of(read_options.topology);
  options.communicator = communicator_options_of(read_options.communicator);
  return options;
}

/// Programs in C and Fortran may return from main with communicators that they have not freed. The
/// handler runs before those that were there before the first world.
tutti::Communicator leaving_at_exit(tutti::Communicator world) {
  [[maybe_unused]] static const int registered = std::atexit(tutti::leave_worlds);
  return world;
}

}  // namespace

Duration duration_of(std::int64_t timeout) noexcept {
  return Duration{timeout};
}

}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

void tutti_communicator_options_defaults(tutti_communicator_options* options, size_t size) {
  const tutti::CommunicatorOptions defaults;
  write(options, size,
        {.size = size,
         .timeout = defaults.timeout.count(),
         .segments_in_flight = defaults.segments_in_flight,
         .progress_thread = 0,
         .cache_bytes = defaults.cache_bytes,
         .transport = nullptr,
         .determinism = TUTTI_DETERMINISM_DEFAULT});
}

void tutti_init_options_defaults(tutti_init_options* options, size_t size) {
  const tutti::InitOptions defaults;
  tutti_init_options values{};
  values.heartbeat_timeout = tutti::Duration{defaults.heartbeat_timeout}.count();
  write(options, size, values);
}

tutti_status tutti_init(const tutti_init_options* options, tutti_communicator** result) {
  return made(result, [&] { return leaving_at_exit(tutti::init(init_options_of(options))); });
}

tutti_status tutti_init_over(const tutti_channel* channel, const tutti_init_options* options,
                             tutti_communicator** result) {
  return made(result, [&] {
    require(channel, "channel");
    ProgramChannel exchange{read(channel, tutti_channel{})};
    return leaving_at_exit(tutti::init(exchange, init_options_of(options)));
  });
}

void tutti_communicator_free(tutti_communicator* communicator) {
  delete communicator;
}

int32_t tutti_rank(const tutti_communicator* communicator) {
  return communicator == nullptr ? -1 : communicator->world.rank();
}

int32_t tutti_size(const tutti_communicator* communicator) {
  return communicator == nullptr ? 0 : communicator->world.size();
}

tutti_status tutti_group(tutti_communicator* communicator, const int32_t* members, size_t count,
                         uint64_t key, tutti_communicator** result) {
  return made(result, [&] {
    require(communicator, "communicator");
    if (count > 0) require(members, "members");
    if (const int ranks = communicator->world.size(); count > static_cast<size_t>(ranks))
      throw tutti::Error{tutti::ErrorCode::invalid_argument,
                         "a group has at most the " + std::to_string(ranks) +
                             " ranks of its communicator, but count is " + std::to_string(count)};
    return communicator->world.group(std::span{members, count}, key);
  });
}

tutti_status tutti_split(tutti_communicator* communicator, int32_t color, int32_t key,
                         tutti_communicator** result) {
  if (color >= 0)
    return made(result, [&] {
      require(communicator, "communicator");
      return communicator->world.split(color, key);
    });
  clear(result);
  return guarded(result, "result", [&] {
    require(communicator, "communicator");
    communicator->world.split(tutti::no_color);
  });
}

tutti_status tutti_hosts(tutti_communicator* communicator, int32_t* hosts) {
  return guarded(communicator, "communicator", [&] {
    require(hosts, "hosts");
    const std::vector<int>& known = tutti::hosts_of(communicator->world);
    for (int rank = 0; rank < communicator->world.size(); ++rank)
      hosts[rank] = known.empty() ? -1 : known[static_cast<std::size_t>(rank)];
  });
}

tutti_status tutti_describe(const tutti_communicator* communicator, char* text, size_t capacity,
                            size_t* length) {
  return stored(text, capacity, length, [&] {
    require(communicator, "communicator");
    return communicator->world.describe();
  });
}

tutti_status tutti_address(tutti_communicator* communicator, char* text, size_t capacity,
                           size_t* length) {
  return stored(text, capacity, length, [&] {
    require(communicator, "communicator");
    return tutti::address_of(communicator->world);
  });
}

tutti_status tutti_communicator_waits(const tutti_communicator* communicator, char* text,
                                      size_t capacity, size_t* length) {
  return stored(text, capacity, length, [&] {
    require(communicator, "communicator");
    return communicator->world.waits();
  });
}

tutti_status tutti_allocate(tutti_communicator* communicator, size_t bytes, tutti_memory** result) {
  return made(result, [&] {
    require(communicator, "communicator");
    return communicator->world.allocate<std::byte>(bytes);
  });
}

tutti_status tutti_memory_import(tutti_communicator* communicator, int32_t file, uint64_t offset,
                                 void* address, size_t bytes, tutti_memory** result) {
  return made(result, [&] {
    require(communicator, "communicator");
    return tutti::import_memory(communicator->world,
                                {.descriptor = file,
                                 .offset = offset,
                                 .memory = {static_cast<std::byte*>(address), bytes}});
  });
}

void tutti_memory_free(tutti_memory* memory) {
  delete memory;
}

void* tutti_memory_data(const tutti_memory* memory) {
  return memory == nullptr ? nullptr : const_cast<std::byte*>(memory->buffer.data());
}

int32_t tutti_memory_is_visible(const tutti_memory* memory) {
  return memory != nullptr && memory->buffer.is_visible() ? 1 : 0;
}

}  // extern "C"
