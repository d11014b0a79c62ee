#include "open_channel.hpp"

#include "runtime/meeting/folder_note.hpp"
#include "runtime/sockets/descriptors.hpp"

#include "channel_local.hpp"
#include "pmi.hpp"
#include "pmix.hpp"

namespace tutti::runtime {
namespace {

constexpr std::string_view kTcp = "tcp://";
constexpr std::string_view kUnix = "unix://";

std::uint64_t number_of_job(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211U;
  return hash;
}

std::unique_ptr<Channel> open_url(const Launch& launch, Protection& protection, Deadline deadline) {
  StoreOptions options = store_options(launch, protection);
  if (!options.folder.empty()) {
    meet_in_folder(options, deadline);
    protection.secret = options.secret;
  }
  return open_store(std::move(options), deadline);
}

}  // namespace

StoreOptions store_options(const Launch& launch, const Protection& protection) {
  StoreOptions options;
  options.rank = launch.rank;
  options.size = launch.size;
  options.hosts = launch.hosts;
  if (const std::optional<HostAndPort> address = meeting_address(launch))
    options.address = *address;
  else if (launch.url.starts_with(kUnix)) options.local_name = launch.url.substr(kUnix.size());
  else options.folder = path_of_url(launch.url);
  options.interface = protection.interface;
  options.job = number_of_job(launch.job);
  options.secret = protection.secret;
  options.insecure = protection.insecure;
  return options;
}

std::optional<HostAndPort> meeting_address(const Launch& launch) {
  if (launch.exchange != Exchange::url || !launch.url.starts_with(kTcp)) return {};
  return parse_host_and_port(std::string_view{launch.url}.substr(kTcp.size()));
}

std::unique_ptr<Channel> open_channel(const Launch& launch, Protection& protection,
                                      Deadline deadline) try {
  raise_descriptor_limit(launch.size);
  switch (launch.exchange) {
    case Exchange::none: return std::move(local_channels(1).front());
    case Exchange::url: return open_url(launch, protection, deadline);
    case Exchange::pmi: return pmi_channel({launch.descriptor, launch.rank, launch.size});
    case Exchange::pmix: return pmix_channel();
    case Exchange::mpi: break;
  }
  throw Error{ErrorCode::invalid_argument,
              launch.source +
                  " started this process, and only its MPI can connect the ranks: "
                  "call tutti::mpi::init after MPI_Init, or set TUTTI_URL"};
} catch (const DescriptorShortage& shortage) {
  throw shortage.with_rank(launch.rank, {});
}

}  // namespace tutti::runtime
