// Collectives by the plainest algorithms: operands go to rank 0, which reduces them in the order of
// the ranks, and results come from there.
#include <cstring>
#include <vector>

#include "datatypes.hpp"
#include "failure.hpp"
#include "operation.hpp"

namespace tutti::nccl_standin {
namespace {

constexpr int kReducer = 0;

/// A collective of one rank, with its buffers where the host may access them.
struct Collective {
  Operation operation;
  Mesh& mesh;
  Purpose purpose{};
  const std::byte* from = reach(operation.from, bytes_read(operation, mesh.membership()));
  std::byte* into = reach(operation.into, bytes_written(operation, mesh.membership()));
  int rank = mesh.membership().rank;
  int size = mesh.membership().size;
  std::size_t bytes = bytes_of(operation);

  /// @return where the part of a rank begins.
  std::size_t offset(int of) const { return static_cast<std::size_t>(of) * bytes; }
  void send(Stage& stage, int peer, const std::byte* what, std::size_t size_bytes) const {
    stage.sends.push_back({.peer = peer,
                           .purpose = purpose,
                           .registered = operation.registered,
                           .from = what,
                           .bytes = size_bytes});
  }
  void receive(Stage& stage, int peer, std::byte* where, std::size_t size_bytes) const {
    stage.receives.push_back({.peer = peer,
                              .purpose = purpose,
                              .registered = operation.registered,
                              .into = where,
                              .bytes = size_bytes});
  }
};

void copy(const std::byte* from, std::byte* into, std::size_t bytes) {
  if (from != into) std::memmove(into, from, bytes);
}

// @return a rank's operand of a reduction.
std::vector<std::byte> operand_of(const Collective& collective, const Reduction& reduction) {
  const std::size_t element = size_of(reduction.datatype);
  return {collective.from, collective.from + reduction.count * element};
}

// Reduces the elements of every rank. The result is returned at rank 0, and nothing elsewhere.
std::vector<std::byte> reduce_there(const Collective& collective, std::size_t count) {
  const Reduction reduction{collective.operation.datatype, collective.operation.op, count};
  const std::size_t bytes = count * size_of(reduction.datatype);
  std::vector<std::byte> result = operand_of(collective, reduction);
  Stage stage;
  if (collective.rank != kReducer) {
    collective.send(stage, kReducer, result.data(), bytes);
    collective.mesh.exchange(stage);
    return {};
  }
  std::vector<std::vector<std::byte>> operands(static_cast<std::size_t>(collective.size) - 1,
                                               std::vector<std::byte>(bytes));
  for (int peer = 1; peer < collective.size; ++peer)
    collective.receive(stage, peer, operands[static_cast<std::size_t>(peer) - 1].data(), bytes);
  collective.mesh.exchange(stage);
  for (const auto& operand : operands) accumulate(reduction, result.data(), operand.data());
  finish(reduction, result.data(), collective.size);
  return result;
}

void all_reduce(const Collective& collective) {
  const auto result = reduce_there(collective, collective.operation.count);
  Stage stage;
  if (collective.rank == kReducer)
    for (int peer = 0; peer < collective.size; ++peer)
      collective.send(stage, peer, result.data(), collective.bytes);
  collective.receive(stage, kReducer, collective.into, collective.bytes);
  collective.mesh.exchange(stage);
}

void reduce(const Collective& collective) {
  const int root = collective.operation.peer;
  const auto result = reduce_there(collective, collective.operation.count);
  Stage stage;
  if (collective.rank == kReducer) collective.send(stage, root, result.data(), collective.bytes);
  if (collective.rank == root)
    collective.receive(stage, kReducer, collective.into, collective.bytes);
  collective.mesh.exchange(stage);
}

void reduce_scatter(const Collective& collective) {
  const std::size_t parts = static_cast<std::size_t>(collective.size);
  const auto result = reduce_there(collective, collective.operation.count * parts);
  Stage stage;
  if (collective.rank == kReducer)
    for (int peer = 0; peer < collective.size; ++peer)
      collective.send(stage, peer, result.data() + collective.offset(peer), collective.bytes);
  collective.receive(stage, kReducer, collective.into, collective.bytes);
  collective.mesh.exchange(stage);
}

void broadcast(const Collective& collective) {
  const int root = collective.operation.peer;
  Stage stage;
  if (collective.rank == root) {
    for (int peer = 0; peer < collective.size; ++peer)
      if (peer != root) collective.send(stage, peer, collective.from, collective.bytes);
    copy(collective.from, collective.into, collective.bytes);
  } else {
    collective.receive(stage, root, collective.into, collective.bytes);
  }
  collective.mesh.exchange(stage);
}

void all_gather(const Collective& collective) {
  Stage stage;
  for (int peer = 0; peer < collective.size; ++peer) {
    if (peer == collective.rank) continue;
    collective.send(stage, peer, collective.from, collective.bytes);
    collective.receive(stage, peer, collective.into + collective.offset(peer), collective.bytes);
  }
  copy(collective.from, collective.into + collective.offset(collective.rank), collective.bytes);
  collective.mesh.exchange(stage);
}

void all_to_all(const Collective& collective) {
  Stage stage;
  for (int peer = 0; peer < collective.size; ++peer) {
    const std::size_t offset = collective.offset(peer);
    collective.send(stage, peer, collective.from + offset, collective.bytes);
    collective.receive(stage, peer, collective.into + offset, collective.bytes);
  }
  collective.mesh.exchange(stage);
}

void gather(const Collective& collective) {
  const int root = collective.operation.peer;
  Stage stage;
  collective.send(stage, root, collective.from, collective.bytes);
  if (collective.rank == root)
    for (int peer = 0; peer < collective.size; ++peer)
      collective.receive(stage, peer, collective.into + collective.offset(peer), collective.bytes);
  collective.mesh.exchange(stage);
}

void scatter(const Collective& collective) {
  const int root = collective.operation.peer;
  Stage stage;
  if (collective.rank == root)
    for (int peer = 0; peer < collective.size; ++peer)
      collective.send(stage, peer, collective.from + collective.offset(peer), collective.bytes);
  collective.receive(stage, root, collective.into, collective.bytes);
  collective.mesh.exchange(stage);
}

}  // namespace

void perform_collective(const Operation& operation, Mesh& mesh) {
  if (operation.count == 0) return;
  switch (operation.kind) {
    case OperationType::all_reduce: return all_reduce({operation, mesh, Purpose::all_reduce});
    case OperationType::broadcast: return broadcast({operation, mesh, Purpose::broadcast});
    case OperationType::reduce: return reduce({operation, mesh, Purpose::reduce});
    case OperationType::all_gather: return all_gather({operation, mesh, Purpose::all_gather});
    case OperationType::reduce_scatter:
      return reduce_scatter({operation, mesh, Purpose::reduce_scatter});
    case OperationType::all_to_all: return all_to_all({operation, mesh, Purpose::all_to_all});
    case OperationType::gather: return gather({operation, mesh, Purpose::gather});
    case OperationType::scatter: return scatter({operation, mesh, Purpose::scatter});
    case OperationType::send:
    case OperationType::receive: return;
  }
}

}  // namespace tutti::nccl_standin
