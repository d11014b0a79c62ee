#include "ranks.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <string_view>
#include <vector>

#include "check.hpp"
#include "message.hpp"
#include "patience.hpp"

namespace tutti::v0::mpi {
namespace {

std::uint64_t hash(std::string_view text, std::uint64_t seed) {
  for (const char c : text)
    seed = (seed ^ static_cast<unsigned char>(c)) * 1099511628211U;  // FNV-1a
  return seed;
}

// Combines the host's name, which could be "localhost" everywhere, and the boot identifier, which
// containers share.
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

void check_equal(const std::vector<Card>& infos, Rank self) {
  const Card& own = infos[static_cast<std::size_t>(self)];
  const auto wrong = std::ranges::find_if(infos, [&](const Card& c) { return c.key != own.key; });
  if (wrong != infos.end()) {
    const auto rank = static_cast<Rank>(wrong - infos.begin());
    throw Error{ErrorCode::mismatch,
                "rank " + std::to_string(rank) + " and rank " + std::to_string(self) +
                    " make groups of different keys here; the members of a group must give equal "
                    "keys, and threads that make groups at once keys that differ modulo 32768",
                rank};
  }
  const auto differs = [&own](const Card& info) {
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

// Numbers the hosts. Allocates nothing.
void find_hosts(SetUp& set_up) {
  Ranks& ranks = set_up.ranks;
  std::vector<std::uint64_t>& hosts = set_up.hosts;
  for (const Card& card : set_up.cards) {
    const auto found = std::ranges::find(hosts, card.host);
    ranks.host_of.push_back(static_cast<int>(found - hosts.begin()));
    if (found == hosts.end()) hosts.push_back(card.host);
    if (card.host == set_up.own.host) set_up.machine.push_back(card.cores);
  }
  const std::vector<Cores>& machine = set_up.machine;
  ranks.oversubscribed = shared_cores(machine, set_up.own.cores) > 0;
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

void duplicate(MPI_Comm parent, Duration deadline, SetUp& set_up) {
  Ranks& ranks = set_up.ranks;
  check(PMPI_Comm_idup(parent, &ranks.comm, &set_up.request), "duplicate the communicator");
  finish(set_up.request, deadline, "duplicate the communicator");
  check(PMPI_Comm_set_errhandler(ranks.comm, MPI_ERRORS_RETURN), "set the error handler");
  check(PMPI_Comm_rank(ranks.comm, &ranks.self), "find the own rank");
  check(PMPI_Comm_size(ranks.comm, &ranks.size), "count the ranks");
  ranks.tag_limit = largest_tag();
}

void exchange_cards(Duration deadline, SetUp& set_up) {
  check(PMPI_Iallgather(&set_up.own, sizeof(Card), MPI_BYTE, set_up.cards.data(), sizeof(Card),
                        MPI_BYTE, set_up.ranks.comm, &set_up.request),
        "exchange options");
  finish(set_up.request, deadline, "exchange options");
}

Error no_memory(Rank rank) {
  return {ErrorCode::transport,
          "rank " + std::to_string(rank) + " has no memory for another communicator", rank};
}

// Runs a function in which the MPI writes to the memory of a set-up. If it fails, that memory is
// never reused, since a late rank may make the MPI write to it after all.
template <class Do>
void guard(std::unique_ptr<SetUp>& set_up, Do action) {
  try {
    action();
  } catch (...) {
    if (set_up->request != MPI_REQUEST_NULL) static_cast<void>(set_up.release());
    throw;
  }
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
  return known != 0 ? *tag_limit : 32767;  // the limit that the standard guarantees
}

Ranks own_ranks() {
  Ranks ranks;
  ranks.host = host_identity();
  ranks.cores = usable_cores();
  return ranks;
}

std::unique_ptr<SetUp> make_set_up(const Ranks& known, int size, const Options& options,
                                   std::uint64_t key) {
  check_options(options);
  auto set_up = std::make_unique<SetUp>();
  const auto ranks = static_cast<std::size_t>(size);
  set_up->own = {known.host, options.chunk_bytes, kInlineBytes, key, 0, known.cores};
  set_up->ranks.host = known.host;
  set_up->ranks.cores = known.cores;
  set_up->cards.resize(ranks);
  set_up->hosts.reserve(ranks);
  set_up->machine.reserve(ranks);
  set_up->ranks.host_of.reserve(ranks);
  return set_up;
}

void gather(std::unique_ptr<SetUp>& set_up, MPI_Comm parent, const Options& options) {
  const Duration deadline = deadline_after(time_now(), options.timeout);
  set_up->parent = parent;
  guard(set_up, [&] {
    duplicate(parent, deadline, *set_up);
    exchange_cards(deadline, *set_up);
  });
  try {
    check_equal(set_up->cards, set_up->ranks.self);
  } catch (...) {  // thrown on all ranks
    PMPI_Comm_free(&set_up->ranks.comm);
    throw;
  }
  find_hosts(*set_up);
  set_up->ranks.probes = is_mpich();
}

void agree(std::unique_ptr<SetUp>& set_up, const Options& options, std::exception_ptr failed) {
  const Duration deadline = deadline_after(time_now(), options.timeout);
  set_up->failed = failed ? set_up->ranks.self : -1;
  guard(set_up, [&] {
    check(PMPI_Iallreduce(&set_up->failed, &set_up->any_failed, 1, MPI_INT, MPI_MAX, set_up->parent,
                          &set_up->request),
          "agree on a communicator");
    finish(set_up->request, deadline, "agree on a communicator");
  });
  if (failed) std::rethrow_exception(failed);
  if (set_up->any_failed >= 0) throw no_memory(set_up->any_failed);
}

void agree_on_memory(MPI_Comm comm, std::exception_ptr failed) {
  Rank self = 0;
  Rank any_failed = -1;
  check(PMPI_Comm_rank(comm, &self), "find the own rank");
  const Rank own = failed ? self : -1;
  check(PMPI_Allreduce(&own, &any_failed, 1, MPI_INT, MPI_MAX, comm), "agree on a communicator");
  if (failed) std::rethrow_exception(failed);
  if (any_failed >= 0) throw no_memory(any_failed);
}

Ranks gather_ranks(MPI_Comm parent, const Options& options, std::uint64_t key) {
  check_communicator(parent);
  int size = 0;
  check(PMPI_Comm_size(parent, &size), "count the ranks");
  auto set_up = make_set_up(own_ranks(), size, options, key);
  gather(set_up, parent, options);
  return std::move(set_up->ranks);
}

}  // namespace tutti::v0::mpi
