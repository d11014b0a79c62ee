// Memory that the processes of a host share.
#include <tutti/training/shared_array.hpp>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <vector>

#include <tutti/attempt.hpp>
#include <tutti/call_name.hpp>

#include "base/all_or_none.hpp"
#include "base/write_file.hpp"
#include "hosts.hpp"

namespace tutti::v0::detail {
namespace {

/// The open descriptor of an owner's memory, and the identity of that memory. In another namespace
/// of processes, its process number may be that of another process.
struct OpenMemory {
  std::int64_t process = 0;
  std::int64_t descriptor = -1;
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
};

std::string words_of_shape(std::size_t count, std::size_t element_bytes) {
  return std::to_string(count) + " elements of " + std::to_string(element_bytes) + " bytes";
}

[[noreturn]] void fail_to_share(Rank rank, const std::string& what) {
  const int code = errno;
  throw Error{ErrorCode::transport,
              "SharedArray: rank " + std::to_string(rank) + " cannot " + what +
                  (code == 0 ? std::string{} : ": " + text_of_write_error(code)),
              rank};
}

/// An open file, or memory that has a descriptor.
class SharedDescriptor {
 public:
  SharedDescriptor() noexcept = default;
  explicit SharedDescriptor(int number) noexcept : number_{number} {}
  SharedDescriptor(SharedDescriptor&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  SharedDescriptor& operator=(SharedDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~SharedDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int number() const noexcept { return number_; }
  /// @return device and inode, or zeros.
  [[nodiscard]] OpenMemory opened() const noexcept {
    struct stat status {};
    if (::fstat(number_, &status) != 0) return {};
    return {::getpid(), number_, status.st_dev, status.st_ino};
  }

 private:
  int number_ = -1;
};

/// Throws if the host has less memory. The system would return addresses, and kill the process that
/// uses them.
SharedDescriptor make_shared_memory(Rank rank, std::size_t count, std::size_t element_bytes) {
  const auto pages = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PHYS_PAGES), 0L));
  const auto page = static_cast<std::uint64_t>(std::max(::sysconf(_SC_PAGESIZE), 1L));
  if (count > pages * page / element_bytes) {
    errno = 0;
    fail_to_share(rank, "allocate " + words_of_shape(count, element_bytes) + ": its host has " +
                            std::to_string(pages * page >> 20) + " MiB of memory");
  }
  const std::size_t bytes = count * element_bytes;
  const FileSizeSignalBlocked blocked;
  SharedDescriptor memory{::memfd_create("tutti_shared_array", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
  // No process may truncate it: the others would be killed when they use the missing part.
  if (memory.number() < 0 || ::ftruncate(memory.number(), static_cast<off_t>(bytes)) != 0 ||
      ::fcntl(memory.number(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0)
    fail_to_share(rank, "allocate " + std::to_string(bytes) + " bytes");
  return memory;
}

/// Opens the unnamed memory of another process, or of another thread.
SharedDescriptor open_shared_memory(Rank rank, Rank owner, const OpenMemory& opened) {
  const std::string path =
      "/proc/" + std::to_string(opened.process) + "/fd/" + std::to_string(opened.descriptor);
  const std::string what = "open the memory of rank " + std::to_string(owner) + " as " + path;
  SharedDescriptor memory{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
  if (memory.number() < 0) fail_to_share(rank, what);
  const OpenMemory found = memory.opened();
  errno = 0;
  if (found.device != opened.device || found.inode != opened.inode)
    fail_to_share(rank, what +
                            ", which is something else: expected ranks of one host to see each "
                            "other's processes in /proc");
  return memory;
}

void* map_shared_memory(Rank rank, const SharedDescriptor& memory, std::size_t bytes) {
  void* const base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.number(), 0);
  if (base == MAP_FAILED) fail_to_share(rank, "map " + std::to_string(bytes) + " bytes");
  return base;
}

}  // namespace

SharedMemory::SharedMemory(Communicator& world, std::size_t count, std::size_t element_bytes,
                           const Options& options) {
  const CallName name{"SharedArray"};
  run_as_one(world, [&] { make(world, count, element_bytes, {.timeout = options.timeout}); });
}

void SharedMemory::make(Communicator& world, std::size_t count, std::size_t element_bytes,
                        const Options& own) {
  const Rank self = world.rank();
  const std::vector<std::string> shapes =
      gather_texts(world, words_of_shape(count, element_bytes), own.timeout);
  for (std::size_t rank = 1; rank < shapes.size(); ++rank)
    if (shapes[rank] != shapes[0])
      throw Error{ErrorCode::invalid_argument, "SharedArray: rank " + std::to_string(rank) +
                                                   " wants " + shapes[rank] + ", rank 0 " +
                                                   shapes[0] + "; expected the same on all ranks"};
  owner_ = first_rank_of_host(world, own.timeout);
  is_owner_ = owner_ == self;
  count_ = count;
  if (count == 0) return;

  SharedDescriptor memory;
  const Exchange exchange = exchange_over(world, own.timeout);
  const std::vector<OpenMemory> opened = all_or_none(exchange, [&] {
    if (!is_owner_) return OpenMemory{};
    memory = make_shared_memory(self, count, element_bytes);
    return memory.opened();
  });
  const auto open = [&] {
    if (!is_owner_)
      memory = open_shared_memory(self, owner_, opened[static_cast<std::size_t>(owner_)]);
    base_ = map_shared_memory(self, memory, count * element_bytes);
    bytes_ = count * element_bytes;
  };
  // Owners close their memory only after the others have opened it.
  try {
    all_or_none(exchange, open);
  } catch (...) {
    if (base_ != nullptr) ::munmap(base_, bytes_);
    throw;
  }
}

SharedMemory::~SharedMemory() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

}  // namespace tutti::v0::detail
