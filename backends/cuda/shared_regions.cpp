#include "shared_regions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <utility>

#include <tutti/error.hpp>

#include "agree.hpp"

namespace tutti::v0::cuda {
namespace {

constexpr std::size_t kLine = 64;
/// CUDA IPC shares whole blocks, and nothing else of the program is to be in them.
constexpr std::size_t kBlock = std::size_t{2} << 20U;

/// Processes with equal ones can have CUDA IPC between them.
std::array<char, kLine> system_of_this_process() {
  std::array<char, kLine> text{};
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  file.getline(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

/// Processes of other namespaces may have equal numbers.
std::uint64_t namespace_of_this_process() {
  struct stat about {};
  return ::stat("/proc/self/ns/pid", &about) == 0 ? about.st_ino : 0;
}

}  // namespace

SharedRegion::Allocation::Allocation(std::shared_ptr<const Device> device, std::size_t bytes)
    : device_{std::move(device)} {
  const Device::Current current{*device_};
  const Driver& driver = device_->driver();
  const std::size_t blocks = (bytes + kBlock - 1) / kBlock;
  const CUresult result = driver.calls().allocate_now(&data_, blocks * kBlock);
  if (result == CUDA_ERROR_OUT_OF_MEMORY)
    throw Error{ErrorCode::transport, "memory of the GPU is exhausted"};
  driver.check(result, "allocate memory of a GPU");
}

SharedRegion::Allocation::~Allocation() {
  if (!is_kept_) device_->free(data_);
}

/// What threads of other ranks take a share in. That messages order them is not seen by tools which
/// look for races, since they go through memory with several addresses.
struct SharedRegion::Shown {
  explicit Shown(std::shared_ptr<Allocation> allocation) : memory{std::move(allocation)} {
    takers.store(0, std::memory_order_release);
  }
  Shown(const Shown&) = delete;
  Shown& operator=(const Shown&) = delete;
  ~Shown() { static_cast<void>(takers.load(std::memory_order_acquire)); }
  [[nodiscard]] std::shared_ptr<Allocation> take() {
    static_cast<void>(takers.load(std::memory_order_acquire));
    std::shared_ptr<Allocation> share = memory;
    takers.fetch_add(1, std::memory_order_release);
    return share;
  }

  std::shared_ptr<Allocation> memory;
  std::atomic<int> takers{0};
};

/// What a rank tells others of its memory.
struct SharedRegion::Offer {
  std::array<char, kLine> system{};
  std::int64_t process = 0;
  std::uint64_t processes = 0;  // the namespace in which that number is one process'
  int device = 0;               // as that process counts
  Shown* shown = nullptr;       // in that process
  CUipcMemHandle handle{};

  [[nodiscard]] bool is_of_process_of(const Offer& other) const noexcept {
    return process == other.process && processes == other.processes;
  }
};

SharedRegion::SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks,
                           std::size_t bytes)
    : device_{std::move(device)}, bytes_{bytes}, mapped_(static_cast<std::size_t>(ranks.size())),
      seen_(mapped_.size()) {
  Offer own{.system = system_of_this_process(),
            .process = ::getpid(),
            .processes = namespace_of_this_process(),
            .device = device_->ordinal()};
  Attempt attempt;
  attempt.make([&] {
    own_ = std::make_shared<Allocation>(device_, bytes_);
    const Device::Current current{*device_};
    const Driver& driver = device_->driver();
    driver.check(driver.calls().ipc_get(&own.handle, own_->data()), "share memory of a GPU");
  });
  agree(ranks, attempt, "shares no memory of its GPU");
  try {
    open_all(ranks, own);
    ranks.all_to_all(std::span<const CUdeviceptr>{mapped_}, std::span{seen_});
  } catch (...) {
    close();
    throw;
  }
}

SharedRegion::~SharedRegion() {
  close();
}

/// Threads take a share in what an offer points at, which is there until all have said that they
/// are through; for ever if they cannot say so.
void SharedRegion::open_all(Communicator& ranks, const Offer& own) {
  auto shown = std::make_unique<Shown>(own_);
  Offer offer = own;
  offer.shown = shown.get();
  Attempt attempt;
  std::vector<Attempt> all;
  try {
    const std::vector<Offer> offers = tell(ranks, offer);
    attempt.make([&] {
      const Device::Current current{*device_};
      for (Rank rank = 0; rank < ranks.size(); ++rank)
        open(rank, offers[static_cast<std::size_t>(rank)], own);
    });
    all = tell(ranks, attempt);
  } catch (...) {
    static_cast<void>(shown.release());
    throw;
  }
  try {
    for (std::size_t rank = 0; rank < all.size(); ++rank)
      require_good(all[rank], rank, "cannot see memory of other GPUs");
  } catch (const Error& error) {
    throw Unseen{error};
  }
}

void SharedRegion::open(Rank rank, const Offer& offer, const Offer& own) {
  CUdeviceptr& place = mapped_[static_cast<std::size_t>(rank)];
  if (offer.system != own.system)
    throw Error{ErrorCode::transport, "rank " + std::to_string(rank) + " is on another host"};
  if (offer.is_of_process_of(own)) {
    device_->see(offer.device);
    borrowed_.push_back(offer.shown->take());
    place = borrowed_.back()->data();
    return;
  }
  has_processes_ = true;
  const Driver& driver = device_->driver();
  driver.check(driver.calls().ipc_open(&place, offer.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
               ("open memory of the GPU of rank " + std::to_string(rank)).c_str());
  opened_.push_back(place);
}

void SharedRegion::close() noexcept {
  device_->within([this] {
    for (const CUdeviceptr place : opened_) device_->driver().calls().ipc_close(place);
  });
  opened_.clear();
  borrowed_.clear();
}

}  // namespace tutti::v0::cuda
