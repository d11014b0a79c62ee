#include "shared_regions.hpp"

#include <algorithm>
#include <new>
#include <utility>

#include <tutti/error.hpp>

#include "base/all_or_none.hpp"

namespace tutti::v0::cuda {
namespace {

/// CUDA IPC shares whole blocks of this size, which then contain nothing else of the program.
constexpr std::size_t kBlock = std::size_t{2} << 20U;

}  // namespace

SharedRegion::GpuMemory::GpuMemory(std::shared_ptr<const Device> device, std::size_t bytes)
    : device_{std::move(device)} {
  try {
    data_ = device_->allocate((bytes + kBlock - 1) / kBlock * kBlock);
  } catch (const std::bad_alloc&) {
    throw Error{ErrorCode::transport, "memory of the GPU is exhausted"};
  }
}

SharedRegion::GpuMemory::~GpuMemory() {
  if (!is_kept_) device_->free(data_);
}

/// Memory for threads of other ranks. Race detectors do not see that messages order these threads,
/// since messages pass through memory that is mapped several times; the counter shows it.
struct SharedRegion::ThreadOffer {
  explicit ThreadOffer(std::shared_ptr<GpuMemory> own) : memory{std::move(own)} {
    uses.store(0, std::memory_order_release);
  }
  ThreadOffer(const ThreadOffer&) = delete;
  ThreadOffer& operator=(const ThreadOffer&) = delete;
  ~ThreadOffer() { static_cast<void>(uses.load(std::memory_order_acquire)); }
  [[nodiscard]] std::shared_ptr<GpuMemory> share() {
    static_cast<void>(uses.load(std::memory_order_acquire));
    std::shared_ptr<GpuMemory> share = memory;
    uses.fetch_add(1, std::memory_order_release);
    return share;
  }

  std::shared_ptr<GpuMemory> memory;
  std::atomic<int> uses{0};
};

/// A rank's memory, as it offers it to the others.
struct SharedRegion::Offer {
  int device = 0;                      // as its process counts
  ThreadOffer* for_threads = nullptr;  // in its process
  CUipcMemHandle handle{};
};

SharedRegion::SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks,
                           std::size_t bytes)
    : device_{std::move(device)}, bytes_{bytes}, mapped_(static_cast<std::size_t>(ranks.size())),
      seen_(mapped_.size()) {
  const auto allocate = [&] {
    own_ = std::make_shared<GpuMemory>(device_, bytes_);
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

/// The offer to threads lives until all ranks have opened it. If one of them fails, it is leaked.
void SharedRegion::open_all(Communicator& ranks, std::span<const ProcessId> processes) {
  const ProcessId& own = processes[static_cast<std::size_t>(ranks.rank())];
  has_processes_ = std::ranges::any_of(processes, [&](const ProcessId& other) {
    return other.system == own.system && other != own;
  });
  auto for_threads = std::make_unique<ThreadOffer>(own_);
  bool is_exchanging = false;
  const detail::Exchange exchange = [&](std::string_view bytes) {
    is_exchanging = true;
    std::vector<std::string> all = detail::gather_texts(ranks, bytes, Duration{0});
    is_exchanging = false;
    return all;
  };
  const auto offer = [&] {
    Offer own_offer{.device = device_->ordinal(), .for_threads = for_threads.get()};
    if (has_processes_)
      device_->call("share memory of a GPU", &DriverCalls::ipc_get, &own_offer.handle,
                    own_->data());
    return own_offer;
  };
  try {
    const std::vector<Offer> offers =
        detail::all_or_none(exchange, offer, "does not offer memory of its GPU");
    const auto open_each = [&] {
      for (std::size_t rank = 0; rank < offers.size(); ++rank)
        open(rank, offers[rank], processes[rank], own);
    };
    detail::all_or_none(exchange, open_each, "cannot see memory of other GPUs");
  } catch (const Error& error) {
    if (!is_exchanging) throw Unseen{error};
    static_cast<void>(for_threads.release());
    throw;
  }
}

void SharedRegion::open(std::size_t rank, const Offer& offer, const ProcessId& process,
                        const ProcessId& own) {
  if (process.system != own.system)
    throw Error{ErrorCode::transport, "rank " + std::to_string(rank) + " is on another host"};
  if (process == own) {
    device_->enable_access_to(offer.device);
    borrowed_.push_back(offer.for_threads->share());
    mapped_[rank] = borrowed_.back()->data();
    return;
  }
  const std::string what = "open memory of the GPU of rank " + std::to_string(rank);
  device_->call(what.c_str(), &DriverCalls::ipc_open, &mapped_[rank], offer.handle,
                unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS});
  opened_.push_back(mapped_[rank]);
}

void SharedRegion::close() noexcept {
  device_->within([this] {
    for (const CUdeviceptr address : opened_) device_->driver().calls().ipc_close(address);
  });
  opened_.clear();
  borrowed_.clear();
}

}  // namespace tutti::v0::cuda
