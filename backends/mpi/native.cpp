// The MPI's own calls, for comparisons and as a choice.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include <tutti/mpi.hpp>

#include "check.hpp"
#include "message.hpp"

namespace tutti::v0::mpi {
namespace {

// A call in MPI's words.
struct Native {
  const void* in;
  void* out;
  int in_count;
  int out_count;
  MPI_Datatype type;
  MPI_Op op;
};

bool is_message(const Call& call) {
  return call.point_to_point != PointToPoint::none;
}
bool reduces(const Call& call) {
  return !is_message(call) && is_reduction(call.collective);
}
std::string_view name_of_call(const Call& call) {
  return is_message(call) ? name_of(call.point_to_point) : name_of(call.collective);
}

// Whether blocks differ, so that it is a v-form.
bool has_uneven_blocks(const Call& call) {
  return !is_message(call) &&
         (call.own_counts || !call.in_counts.empty() || !call.out_counts.empty());
}

std::byte* byte_of(const void* vector, std::size_t bytes) {
  return static_cast<std::byte*>(const_cast<void*>(vector)) + bytes;  // for comparison and the MPI
}
std::byte* own_block(const void* vector, std::size_t block_bytes, Rank rank) {
  return byte_of(vector, static_cast<std::size_t>(rank) * block_bytes);
}

// Whether a reduce_scatter in place stores its result in the own block. The MPI stores it at the
// front of the vector.
bool reduces_into_own_block(const Call& call, Rank self) {
  if (call.collective != Collective::reduce_scatter || call.out == nullptr || call.out_count == 0)
    return false;
  std::size_t before = call.out_count * static_cast<std::size_t>(self);
  if (!call.in_counts.empty())
    before = std::accumulate(call.in_counts.begin(), call.in_counts.begin() + self, std::size_t{0});
  return call.out == byte_of(call.in, before * call.element_bytes);
}

// Returns the feature that the MPI lacks for a call, or nothing.
std::string lack(const Call& call, Rank self) {
  if (!is_message(call) && static_cast<int>(call.collective) >= kCollectives) return "this meaning";
  if (reduces(call)) {
    if (call.op == nullptr) return "a reduction without an operator";
    if (mpi_operator_of(call.op->kind()) == MPI_OP_NULL)
      return "the operator " + std::string{name_of(call.op->kind())};
    if (mpi_datatype_of(call.type) == MPI_DATATYPE_NULL)
      return "reductions of " + std::string{name_of(call.type)};
    if (!is_defined(call.op->kind(), call.type))
      return std::string{name_of(call.op->kind())} + " of " + std::string{name_of(call.type)};
    if (reduces_into_own_block(call, self))
      return "a reduce_scatter into the own block of its input";
  }
  const std::size_t scale = reduces(call) ? 1 : call.element_bytes;
  if (std::max(call.in_count, call.out_count) * scale > kMostChunkBytes)
    return "counts beyond 2^31 - 1";
  return {};
}

// Collectives that do not reduce move their elements as bytes.
Native translate(const Call& call) {
  const bool reduced = reduces(call);
  const std::size_t scale = reduced ? 1 : call.element_bytes;
  return {call.in,
          call.out,
          static_cast<int>(call.in_count * scale),
          static_cast<int>(call.out_count * scale),
          reduced ? mpi_datatype_of(call.type) : MPI_BYTE,
          reduced ? mpi_operator_of(call.op->kind()) : MPI_OP_NULL};
}

int run_even(const Call& call, const Native& n, Rank self, MPI_Comm comm) {
  const bool root = self == call.root;
  const auto block = static_cast<std::size_t>(n.out_count);
  const bool is_one_vector = call.in == call.out && call.in != nullptr;
  const void* const in = is_one_vector ? MPI_IN_PLACE : n.in;
  switch (call.collective) {
    case Collective::all_reduce: return PMPI_Allreduce(in, n.out, n.in_count, n.type, n.op, comm);
    case Collective::reduce:
      return PMPI_Reduce(root ? in : n.in, n.out, n.in_count, n.type, n.op, call.root, comm);
    case Collective::scan: return PMPI_Scan(in, n.out, n.in_count, n.type, n.op, comm);
    case Collective::exscan: return PMPI_Exscan(in, n.out, n.in_count, n.type, n.op, comm);
    case Collective::reduce_scatter:
      return PMPI_Reduce_scatter_block(n.in, n.out, n.out_count, n.type, n.op, comm);
    case Collective::broadcast: return PMPI_Bcast(n.out, n.out_count, n.type, call.root, comm);
    case Collective::scatter: {
      const bool in_place = root && block > 0 && n.out == own_block(n.in, block, self);
      return PMPI_Scatter(n.in, n.out_count, n.type, in_place ? MPI_IN_PLACE : n.out, n.out_count,
                          n.type, call.root, comm);
    }
    case Collective::gather: {
      const auto own = static_cast<std::size_t>(n.in_count);
      const bool in_place = root && own > 0 && n.in == own_block(n.out, own, self);
      return PMPI_Gather(in_place ? MPI_IN_PLACE : n.in, n.in_count, n.type, n.out, n.in_count,
                         n.type, call.root, comm);
    }
    case Collective::all_gather: {
      const auto own = static_cast<std::size_t>(n.in_count);
      const bool in_place = own > 0 && n.in == own_block(n.out, own, self);
      return PMPI_Allgather(in_place ? MPI_IN_PLACE : n.in, n.in_count, n.type, n.out, n.in_count,
                            n.type, comm);
    }
    case Collective::all_to_all: {
      int size = 1;
      PMPI_Comm_size(comm, &size);
      return PMPI_Alltoall(n.in, n.in_count / size, n.type, n.out, n.in_count / size, n.type, comm);
    }
    case Collective::barrier: return PMPI_Barrier(comm);
  }
  return MPI_ERR_INTERN;
}

// Counts and displacements of blocks, in elements of the MPI's type.
class Blocks {
 public:
  Blocks(Counts counts, std::size_t scale) : size_{counts.size()}, numbers_(2 * counts.size()) {
    int offset = 0;
    for (std::size_t i = 0; i < size_; ++i) {
      numbers_[i] = static_cast<int>(counts[i] * scale);
      numbers_[size_ + i] = offset;
      offset += numbers_[i];
    }
  }
  [[nodiscard]] const int* counts() const { return numbers_.data(); }
  [[nodiscard]] const int* offsets() const { return numbers_.data() + size_; }
  // Whether a rank's own block is not empty and begins at an address.
  [[nodiscard]] bool begins(const void* vector, Rank rank, const void* block) const {
    const auto r = static_cast<std::size_t>(rank);
    return r < size_ && numbers_[r] > 0 &&
           block == byte_of(vector, static_cast<std::size_t>(offsets()[r]));
  }

 private:
  std::size_t size_;
  std::vector<int> numbers_;
};

int run_uneven(const Call& call, const Native& n, Rank self, MPI_Comm comm) {
  const std::size_t scale = reduces(call) ? 1 : call.element_bytes;
  const Blocks in{call.in_counts, scale};
  const Blocks out{call.out_counts, scale};
  switch (call.collective) {
    case Collective::scatter: {
      const bool in_place = self == call.root && in.begins(n.in, self, n.out);
      return PMPI_Scatterv(n.in, in.counts(), in.offsets(), n.type, in_place ? MPI_IN_PLACE : n.out,
                           n.out_count, n.type, call.root, comm);
    }
    case Collective::gather: {
      const bool in_place = self == call.root && out.begins(n.out, self, n.in);
      return PMPI_Gatherv(in_place ? MPI_IN_PLACE : n.in, n.in_count, n.type, n.out, out.counts(),
                          out.offsets(), n.type, call.root, comm);
    }
    case Collective::all_gather:
      return PMPI_Allgatherv(out.begins(n.out, self, n.in) ? MPI_IN_PLACE : n.in, n.in_count,
                             n.type, n.out, out.counts(), out.offsets(), n.type, comm);
    case Collective::reduce_scatter:
      return PMPI_Reduce_scatter(n.in, n.out, in.counts(), n.type, n.op, comm);
    case Collective::all_to_all:
      return PMPI_Alltoallv(n.in, in.counts(), in.offsets(), n.type, n.out, out.counts(),
                            out.offsets(), n.type, comm);
    case Collective::all_reduce:
    case Collective::reduce:
    case Collective::broadcast:
    case Collective::scan:
    case Collective::exscan:
    case Collective::barrier: break;  // which have no blocks
  }
  return MPI_ERR_INTERN;
}

int run_message(const Call& call, const Native& n, MPI_Comm comm) {
  if (call.point_to_point == PointToPoint::send)
    return PMPI_Send(n.in, n.in_count, n.type, call.to, call.tag, comm);
  if (call.point_to_point == PointToPoint::recv)
    return PMPI_Recv(n.out, n.out_count, n.type, call.from, call.tag, comm, MPI_STATUS_IGNORE);
  return PMPI_Sendrecv(n.in, n.in_count, n.type, call.to, call.tag, n.out, n.out_count, n.type,
                       call.from, call.tag, comm, MPI_STATUS_IGNORE);
}

Rank rank_in(MPI_Comm comm) {
  Rank self = 0;
  PMPI_Comm_rank(comm, &self);
  return self;
}

}  // namespace

bool has_native(const Call& call, MPI_Comm comm) noexcept {
  try {
    return lack(call, rank_in(comm)).empty();
  } catch (...) {
    return false;
  }
}

void native(const Call& call, MPI_Comm comm) {
  const Rank self = rank_in(comm);
  if (const std::string missing = lack(call, self); !missing.empty())
    throw Error{ErrorCode::invalid_argument,
                "MPI has no " + std::string{name_of_call(call)} + " with " + missing +
                    "; choose an algorithm of tutti instead of `native`"};
  const Native words = translate(call);
  const int code = is_message(call)          ? run_message(call, words, comm)
                   : has_uneven_blocks(call) ? run_uneven(call, words, self, comm)
                                             : run_even(call, words, self, comm);
  if (code != MPI_SUCCESS) throw error_of(code, "run " + std::string{name_of_call(call)});
}

}  // namespace tutti::v0::mpi
