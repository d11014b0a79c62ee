#include "process_copies.hpp"

#include <algorithm>

#include <sys/uio.h>

#include <tutti/spi/copy.hpp>

namespace tutti::shm {
namespace {

constexpr std::uint64_t kPageBytes = 4096;
/// Bytes that go through our memory at a time: they stay in the cache in between.
constexpr std::size_t kRoomBytes = std::size_t{256} << 10;

bool collide(std::uint64_t to, std::uint64_t from) noexcept {
  const std::uint64_t copy_tuner = (to - from) % kPageBytes;
  return copy_tuner >= 1 && copy_tuner < 32;
}

std::uint64_t address_of(const std::byte* data) noexcept {
  return reinterpret_cast<std::uint64_t>(data);
}

ssize_t read_directly(pid_t process, std::uint64_t where, std::byte* to, std::size_t bytes) {
  const iovec local{to, bytes};
  const iovec remote{reinterpret_cast<void*>(where), bytes};
  return process_vm_readv(process, &local, 1, &remote, 1, 0);
}

ssize_t write_directly(pid_t process, std::uint64_t where, std::byte* from, std::size_t bytes) {
  const iovec local{from, bytes};
  const iovec remote{reinterpret_cast<void*>(where), bytes};
  return process_vm_writev(process, &local, 1, &remote, 1, 0);
}

/// Moves bytes by steps, until one moves fewer than it should. @param step called with what was
/// moved before and how many come next; returns as a system call. @return all that was moved, or
/// what the first step returned if nothing was.
template <class Step>
ssize_t move_by_steps(std::size_t bytes, Step step) {
  std::size_t moved = 0;
  while (moved < bytes) {
    const std::size_t next = std::min(bytes - moved, kRoomBytes);
    const ssize_t got = step(moved, next);
    if (got <= 0 && moved == 0) return got;
    if (got > 0) moved += static_cast<std::size_t>(got);
    if (got != static_cast<ssize_t>(next)) break;
  }
  return static_cast<ssize_t>(moved);
}

}  // namespace

std::byte* ProcessCopies::room_for(std::uint64_t address) {
  if (room_.empty()) room_.resize(kRoomBytes + 2 * kPageBytes);
  return room_.data() + (address - address_of(room_.data())) % kPageBytes;
}

ssize_t ProcessCopies::read(pid_t process, std::uint64_t where, std::byte* to, std::size_t bytes) {
  if (!collide(address_of(to), where)) return read_directly(process, where, to, bytes);
  return move_by_steps(bytes, [&](std::size_t moved, std::size_t next) {
    std::byte* here = nullptr;
    const ssize_t got = read_here(process, where + moved, next, here);
    if (got > 0) copy_bytes(to + moved, here, static_cast<std::size_t>(got));
    return got;
  });
}

ssize_t ProcessCopies::read_here(pid_t process, std::uint64_t where, std::size_t bytes,
                                 std::byte*& to) {
  to = room_for(where);
  return read_directly(process, where, to, std::min(bytes, kRoomBytes));
}

ssize_t ProcessCopies::write(pid_t process, std::uint64_t where, const std::byte* from,
                             std::size_t bytes) {
  if (!collide(where, address_of(from)))
    return write_directly(process, where, const_cast<std::byte*>(from), bytes);
  return move_by_steps(bytes, [&](std::size_t moved, std::size_t next) {
    std::byte* const here = room_for(where + moved);
    copy_bytes(here, from + moved, next);
    return write_directly(process, where + moved, here, next);
  });
}

}  // namespace tutti::shm
