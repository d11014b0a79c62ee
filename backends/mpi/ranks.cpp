#include "ranks.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include <tutti/spi/cores.hpp>

#include "check.hpp"
#include "message.hpp"
#include "patience.hpp"

namespace tutti::v0::mpi {
namespace {

// What every rank tells every other one.
struct PeerInfo {
  std::uint64_t host;          // equal on ranks of one machine
  std::uint64_t chunk_bytes;   // must be equal on all ranks
  std::uint64_t inline_bytes;  // likewise: it is part of the message format
  std::uint64_t key;           // likewise: threads may make several groups of the same ranks
  Cores cores;                 // what it may use
};

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  for (const char c : text)
    seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211U;  // FNV-1a
  return seed;
}

// The name alone could be "localhost" everywhere; the boot identifier alone is shared by the
// virtual hosts that containers are.
std::uint64_t host_identity() {
  std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
  int length = 0;
  check(PMPI_Get_processor_name(name.data(), &length), "name this machine");
  std::string boot;
  std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
  const std::uint64_t by_name =
      hash({name.data(), static_cast<std::size_t>(length)}, 14695981039346656037U);
  return hash(boot, by_name);
}

void check_options(const Options& options) {
  if (options.chunk_bytes < 1 || options.chunk_bytes > kMostChunkBytes)
    throw Error{ErrorCode::invalid_argument,
                "chunk_bytes is " + std::to_string(options.chunk_bytes) + "; it must be 1 .. " +
                    std::to_string(kMostChunkBytes)};
  if (options.timeout < Duration::zero())
    throw Error{ErrorCode::invalid_argument,
                "the timeout of the set-up must not be less than zero"};
}

void check_equal(const std::vector<PeerInfo>& infos, Rank self) {
  const PeerInfo& own = infos[static_cast<std::size_t>(self)];
  const auto stray =
      std::ranges::find_if(infos, [&](const PeerInfo& c) { return c.key != own.key; });
  if (stray != infos.end()) {
    const auto rank = static_cast<Rank>(stray - infos.begin());
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(rank) + " and rank " + std::to_string(self) +
                    " make groups of different keys here; the members of a group must give equal "
                    "keys, and threads that make groups at once keys that differ modulo 32768",
                rank};
  }
  const auto differs = [&own](const PeerInfo& info) {
    return info.chunk_bytes != own.chunk_bytes || info.inline_bytes != own.inline_bytes;
  };
  const auto other = std::find_if(infos.begin(), infos.end(), differs);
  if (other == infos.end()) return;
  const auto rank = static_cast<Rank>(other - infos.begin());
  throw Error{ErrorCode::mismatch,
              "rank " + std::to_string(rank) + " has chunk_bytes " +
                  std::to_string(other->chunk_bytes) + ", rank " + std::to_string(self) + " " +
                  std::to_string(own.chunk_bytes) +
                  "; all ranks must give equal options and run one version of tutti",
              rank};
}

void find_hosts(const std::vector<PeerInfo>& infos, Ranks& ranks) {
  const PeerInfo& own = infos[static_cast<std::size_t>(ranks.self)];
  std::vector<std::uint64_t> hosts;  // as they are met
  std::vector<Cores> machine;
  for (const PeerInfo& info : infos) {
    const auto found = std::find(hosts.begin(), hosts.end(), info.host);
    ranks.host_of.push_back(static_cast<int>(found - hosts.begin()));
    if (found == hosts.end()) hosts.push_back(info.host);
    if (info.host == own.host) machine.push_back(info.cores);
  }
  ranks.oversubscribed = shared_cores(machine, own.cores) > 0;
  ranks.is_one_roomy_host =
      hosts.size() == 1 && std::ranges::none_of(machine, [&](const Cores& cores) {
        return shared_cores(machine, cores) > 0;
      });
}

bool is_mpich() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
  int length = 0;
  check(PMPI_Get_library_version(text.data(), &length), "name the MPI");
  return std::string_view{text.data()}.starts_with("MPICH");
}

// What the MPI writes to and reads while ranks come together.
struct SetUp {
  Ranks ranks{};
  PeerInfo own{};
  std::vector<PeerInfo> infos{};
  MPI_Request request = MPI_REQUEST_NULL;
};

void duplicate(MPI_Comm parent, Duration deadline, SetUp& set_up) {
  Ranks& ranks = set_up.ranks;
  check(PMPI_Comm_idup(parent, &ranks.comm, &set_up.request), "duplicate the communicator");
  finish(set_up.request, deadline, "duplicate the communicator");
  check(PMPI_Comm_set_errhandler(ranks.comm, MPI_ERRORS_RETURN), "set the error handler");
  check(PMPI_Comm_rank(ranks.comm, &ranks.self), "find the own rank");
  check(PMPI_Comm_size(ranks.comm, &ranks.size), "count the ranks");
  ranks.tag_limit = largest_tag();
}

void exchange_cards(const Options& options, std::uint64_t key, Duration deadline, SetUp& set_up) {
  set_up.own = {host_identity(), options.chunk_bytes, kInlineBytes, key, usable_cores()};
  set_up.infos.resize(static_cast<std::size_t>(set_up.ranks.size));
  check(PMPI_Iallgather(&set_up.own, sizeof(PeerInfo), MPI_BYTE, set_up.infos.data(),
                        sizeof(PeerInfo), MPI_BYTE, set_up.ranks.comm, &set_up.request),
        "exchange options");
  finish(set_up.request, deadline, "exchange options");
}

}  // namespace

void check_communicator(MPI_Comm comm) {
  constexpr auto kInvalid = ErrorCode::invalid_argument;
  int flag = 0;
  if (PMPI_Initialized(&flag); flag == 0)
    throw Error{kInvalid, "MPI is not initialised; call MPI_Init before tutti::mpi"};
  if (PMPI_Finalized(&flag); flag != 0)
    throw Error{kInvalid, "MPI is finalised already; use tutti::mpi before MPI_Finalize"};
  if (comm == MPI_COMM_NULL)
    throw Error{kInvalid, "the communicator is MPI_COMM_NULL; give an intra-communicator"};
  check(PMPI_Comm_test_inter(comm, &flag), "inspect the communicator");
  if (flag != 0)
    throw Error{kInvalid, "the communicator is an inter-communicator; give an intra-communicator"};
}

int largest_tag() {
  int* tag_limit = nullptr;
  int known = 0;
  check(PMPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, static_cast<void*>(&tag_limit), &known),
        "find the largest tag");
  return known != 0 ? *tag_limit : 32767;  // what the standard guarantees
}

Ranks gather_ranks(MPI_Comm parent, const Options& options, std::uint64_t key) {
  check_communicator(parent);
  check_options(options);
  auto set_up = std::make_unique<SetUp>();
  const Duration deadline = deadline_after(time_now(), options.timeout);
  try {
    duplicate(parent, deadline, *set_up);
    exchange_cards(options, key, deadline, *set_up);
  } catch (...) {
    // A rank that comes late makes the MPI write after all, so what it writes to is never reused.
    if (set_up->request != MPI_REQUEST_NULL) static_cast<void>(set_up.release());
    throw;
  }
  Ranks ranks = set_up->ranks;
  try {
    check_equal(set_up->infos, ranks.self);
  } catch (...) {  // on all ranks
    PMPI_Comm_free(&ranks.comm);
    throw;
  }
  find_hosts(set_up->infos, ranks);
  ranks.probes = is_mpich();
  return ranks;
}

}  // namespace tutti::v0::mpi
