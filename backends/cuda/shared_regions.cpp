#include "shared_regions.hpp"

#include <unistd.h>

#include <array>
#include <cstring>
#include <fstream>
#include <new>
#include <utility>

#include <tutti/error.hpp>

#include "agree.hpp"

namespace tutti::inline v0::cuda {
namespace {

constexpr std::size_t kLine = 64;

/// Processes with equal ones can have CUDA IPC between them.
std::array<char, kLine> system_of_this_process() {
  std::array<char, kLine> text{};
  std::ifstream file{"/proc/sys/kernel/random/boot_id"};
  file.getline(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

}  // namespace

/// What a rank tells others of its memory.
struct SharedRegion::Offer {
  std::array<char, kLine> system{};
  std::int64_t process = 0;
  int device = 0;  // as that process counts
  CUdeviceptr data = 0;
  CUipcMemHandle handle{};
};

SharedRegion::SharedRegion(std::shared_ptr<const Device> device, Communicator& ranks,
                           std::size_t bytes)
    : device_{std::move(device)}, bytes_{bytes}, mapped_(static_cast<std::size_t>(ranks.size())),
      seen_(mapped_.size()) {
  const Driver& driver = device_->driver();
  Offer own{
      .system = system_of_this_process(), .process = ::getpid(), .device = device_->ordinal()};
  Attempt attempt;
  attempt.make([&] {
    const Device::Current current{*device_};
    if (driver.calls().allocate_now(&own_, bytes_) == CUDA_ERROR_OUT_OF_MEMORY)
      throw Error{ErrorCode::transport, "memory of the GPU is exhausted"};
    own.data = own_;
    driver.check(driver.calls().share(&own.handle, own_), "share memory of a GPU");
  });
  try {
    agree(ranks, attempt, "shares no memory of its GPU");
    std::vector<Offer> offers(mapped_.size());
    ranks.all_gather(std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{offers}));
    attempt.make([&] {
      const Device::Current current{*device_};
      for (Rank rank = 0; rank < ranks.size(); ++rank)
        open(rank, offers[static_cast<std::size_t>(rank)], own);
    });
    try {
      agree(ranks, attempt, "cannot see memory of other GPUs");
    } catch (const Error& error) {
      throw Unseen{error};
    }
    ranks.all_to_all(std::span<const CUdeviceptr>{mapped_}, std::span{seen_});
  } catch (...) {
    close();
    give_back();
    throw;
  }
}

SharedRegion::~SharedRegion() {
  close();
  give_back();
}

void SharedRegion::open(Rank rank, const Offer& offer, const Offer& own) {
  CUdeviceptr& place = mapped_[static_cast<std::size_t>(rank)];
  if (offer.system != own.system)
    throw Error{ErrorCode::transport, "rank " + std::to_string(rank) + " is on another host"};
  if (offer.process == own.process) {
    device_->see(offer.device);
    place = offer.data;
    return;
  }
  const Driver& driver = device_->driver();
  driver.check(driver.calls().open_shared(&place, offer.handle, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS),
               ("open memory of the GPU of rank " + std::to_string(rank)).c_str());
  opened_.push_back(place);
}

void SharedRegion::close() noexcept {
  device_->within([this] {
    for (const CUdeviceptr place : opened_) device_->driver().calls().close_shared(place);
  });
  opened_.clear();
}

void SharedRegion::give_back() noexcept {
  if (own_ != 0) device_->free(std::exchange(own_, 0));
}

}  // namespace tutti::inline v0::cuda
