#include "shared_regions.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <new>
#include <utility>

#include <tutti/error.hpp>

#include "base/all_or_none.hpp"

namespace tutti::v0::cuda {
namespace {

/// CUDA IPC shares whole blocks, and nothing else of the program is to be in them.
constexpr std::size_t kBlock = std::size_t{2} << 20U;

}  // namespace

ProcessId this_process() {
  ProcessId id{.number = ::getpid()};
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  file.getline(id.system.data(), static_cast<std::streamsize>(id.system.size()));
  struct stat about {};
  if (::stat("/proc/self/ns/pid", &about) == 0) id.processes = about.st_ino;
  return id;
}

SharedRegion::Allocation::Allocation(std::shared_ptr<const Device> device, std::size_t bytes)
    : device_{std::move(device)} {
  try {
    data_ = device_->allocate((bytes + kBlock - 1) / kBlock * kBlock);
  } catch (const std::bad_alloc&) {
    throw Error{ErrorCode::transport, "memory of the GPU is exhausted"};
  }
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

/// The memory of a rank, for the others.
struct SharedRegion::Offer {
  int device = 0;          // as its process counts
  Shown* shown = nullptr;  // in its process
  CUipcMemHandle handle{};
};

SharedRegion::SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks,
                           std::size_t bytes)
    : device_{std::move(device)}, bytes_{bytes}, mapped_(static_cast<std::size_t>(ranks.size())),
      seen_(mapped_.size()) {
  const auto allocate = [&] {
    own_ = std::make_shared<Allocation>(device_, bytes_);
    return this_process();
  };
  const std::vector<ProcessId> processes = detail::all_or_none(
      detail::exchange_over(ranks, Duration{0}), allocate, "shares no memory of its GPU");
  try {
    open_all(ranks, processes);
    ranks.all_to_all(std::span<const CUdeviceptr>{mapped_}, std::span{seen_});
  } catch (...) {
    close();
    throw;
  }
}

SharedRegion::~SharedRegion() {
  close();
}

/// Other threads acquire a share of `shown`. It ends when all ranks have reported that they are
/// through; if the exchange fails, it is never freed.
void SharedRegion::open_all(Communicator& ranks, std::span<const ProcessId> processes) {
  const ProcessId& own = processes[static_cast<std::size_t>(ranks.rank())];
  has_processes_ = std::ranges::any_of(processes, [&](const ProcessId& other) {
    return other.system == own.system && other != own;
  });
  auto shown = std::make_unique<Shown>(own_);
  bool is_exchanging = false;
  const detail::Exchange exchange = [&](std::string_view bytes) {
    is_exchanging = true;
    std::vector<std::string> all = detail::gather_texts(ranks, bytes, Duration{0});
    is_exchanging = false;
    return all;
  };
  const Driver& driver = device_->driver();
  const auto show = [&] {
    Offer offer{.device = device_->ordinal(), .shown = shown.get()};
    const Device::Current current{*device_};
    if (has_processes_)
      driver.check(driver.calls().ipc_get(&offer.handle, own_->data()), "share memory of a GPU");
    return offer;
  };
  try {
    const std::vector<Offer> offers =
        detail::all_or_none(exchange, show, "does not show memory of its GPU");
    const auto open_each = [&] {
      const Device::Current current{*device_};
      for (std::size_t rank = 0; rank < offers.size(); ++rank)
        open(rank, offers[rank], processes[rank], own);
    };
    detail::all_or_none(exchange, open_each, "cannot see memory of other GPUs");
  } catch (const Error& error) {
    if (!is_exchanging) throw Unseen{error};
    static_cast<void>(shown.release());
    throw;
  }
}

void SharedRegion::open(std::size_t rank, const Offer& offer, const ProcessId& process,
                        const ProcessId& own) {
  if (process.system != own.system)
    throw Error{ErrorCode::transport, "rank " + std::to_string(rank) + " is on another host"};
  if (process == own) {
    device_->see(offer.device);
    borrowed_.push_back(offer.shown->take());
    mapped_[rank] = borrowed_.back()->data();
    return;
  }
  const Driver& driver = device_->driver();
  driver.check(
      driver.calls().ipc_open(&mapped_[rank], offer.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
      ("open memory of the GPU of rank " + std::to_string(rank)).c_str());
  opened_.push_back(mapped_[rank]);
}

void SharedRegion::close() noexcept {
  device_->within([this] {
    for (const CUdeviceptr place : opened_) device_->driver().calls().ipc_close(place);
  });
  opened_.clear();
  borrowed_.clear();
}

}  // namespace tutti::v0::cuda
