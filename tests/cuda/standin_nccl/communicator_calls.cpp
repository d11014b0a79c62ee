// NCCL's functions of communicators.
#include <array>
#include <cstring>
#include <string>

#include <sys/random.h>

#include "call.hpp"
#include "group.hpp"

using namespace tutti::nccl_standin;

namespace {

constexpr std::string_view kPrefix = "tutti stand-in ";
constexpr std::size_t kNameLength = 32;
constexpr unsigned kConfigMagic = 0xcafebeef;

std::string random_name() {
  std::array<unsigned char, kNameLength / 2> bytes{};
  require(getrandom(bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()),
          ncclSystemError, "getrandom failed");
  std::string name;
  for (const unsigned char byte : bytes) {
    name += "0123456789abcdef"[byte >> 4];
    name += "0123456789abcdef"[byte & 15];
  }
  return name;
}

std::string name_of(const ncclUniqueId& id) {
  const std::string_view text{id.internal, kPrefix.size() + kNameLength};
  require(text.starts_with(kPrefix), ncclInvalidArgument, "the unique id is none");
  return std::string{text.substr(kPrefix.size())};
}

bool is_blocking(const ncclConfig_t* config) {
  if (config == nullptr) return true;
  require(config->magic == kConfigMagic && config->size >= offsetof(ncclConfig_t, cgaClusterSize),
          ncclInvalidArgument, "the configuration was not initialised");
  require(config->blocking == NCCL_CONFIG_UNDEF_INT || (config->blocking | 1) == 1,
          ncclInvalidArgument, "blocking is neither 0 nor 1");
  return config->blocking != 0;
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return call(__func__, [&] {
    require(id != nullptr, ncclInvalidArgument, "the unique id is null");
    const std::string text = std::string{kPrefix} + random_name();
    *id = {};
    std::memcpy(id->internal, text.data(), text.size());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const ncclResult_t result = call(__func__, [&] {
    require(handle != nullptr, ncclInvalidArgument, "the communicator is null");
    *handle = nullptr;
    require(size > 0 && rank >= 0 && rank < size, ncclInvalidArgument, "there is no such rank");
    const Seat seat{.name = name_of(id), .rank = rank, .size = size};
    const bool blocking = is_blocking(config);
    auto communicator = std::make_shared<Communicator>(seat, current_device(), blocking);
    *handle = library().communicators.add(communicator);
    group().start();
    group().add(std::move(communicator), handle);
    return group().end();
  });
  group().note(result);
  return result;
}

ncclResult_t ncclCommGetAsyncError(ncclComm_t handle, ncclResult_t* state) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(state != nullptr, ncclInvalidArgument, "the state is null");
    *state = communicator->state();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommFinalize(ncclComm_t handle) {
  return call_on(__func__, handle,
                 [](const auto& communicator) { return communicator->finalize(); });
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    communicator->destroy();
    library().communicators.remove(handle);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommAbort(ncclComm_t handle) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    communicator->abort();
    library().communicators.remove(handle);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int* count) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(count != nullptr, ncclInvalidArgument, "the count is null");
    *count = communicator->seat().size;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t handle, int* rank) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(rank != nullptr, ncclInvalidArgument, "the rank is null");
    *rank = communicator->seat().rank;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommRegister(const ncclComm_t handle, void* buffer, size_t bytes,
                              void** registration) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(buffer != nullptr && bytes > 0 && registration != nullptr, ncclInvalidArgument,
            "there is nothing to register");
    *registration = communicator->add_registration();
    return ncclSuccess;
  });
}

ncclResult_t ncclCommDeregister(const ncclComm_t handle, void* registration) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(communicator->remove_registration(registration), ncclInvalidArgument,
            "there is no such registration");
    return ncclSuccess;
  });
}
