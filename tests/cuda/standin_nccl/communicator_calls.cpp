// NCCL's functions of communicators.
#include <cstring>
#include <string>

#include "call.hpp"
#include "group.hpp"

using namespace tutti::nccl_standin;

namespace {

constexpr std::string_view kPrefix = "tutti stand-in ";
constexpr std::size_t kNameLength = std::tuple_size_v<decltype(random_name())>;
constexpr unsigned kConfigMagic = 0xcafebeef;

std::string name_of(const ncclUniqueId& id) {
  const std::string_view text{id.internal, kPrefix.size() + kNameLength};
  require(text.starts_with(kPrefix), ncclInvalidArgument, "the unique id is none");
  return std::string{text.substr(kPrefix.size())};
}

bool is_blocking(const ncclConfig_t* config) {
  if (const std::string told = variable("NCCL_COMM_BLOCKING"); !told.empty()) return told != "0";
  if (config == nullptr) return true;
  require(config->magic == kConfigMagic && config->size >= offsetof(ncclConfig_t, cgaClusterSize),
          ncclInvalidArgument, "the configuration was not initialised");
  require(config->blocking == NCCL_CONFIG_UNDEF_INT || (config->blocking | 1) == 1,
          ncclInvalidArgument, "blocking is neither 0 nor 1");
  return config->blocking == NCCL_CONFIG_UNDEF_INT || config->blocking != 0;
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  return call(__func__, [&] {
    require(id != nullptr, ncclInvalidArgument, "the unique id is null");
    const auto name = random_name();
    *id = {};
    std::memcpy(id->internal, kPrefix.data(), kPrefix.size());
    std::memcpy(id->internal + kPrefix.size(), name.data(), name.size());
    return ncclSuccess;
  });
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* handle, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  const ncclResult_t result = call(__func__, [&] {
    require(handle != nullptr, ncclInvalidArgument, "the communicator is null");
    *handle = nullptr;
    require(size > 0 && rank >= 0 && rank < size, ncclInvalidArgument, "there is no such rank");
    Membership membership{.name = name_of(id), .rank = rank, .size = size};
    auto communicator = std::make_shared<Communicator>(
        std::move(membership), current_device(), is_blocking(config), "ncclCommInitRankConfig");
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
  return call_in_context(__func__, handle,
                         [](const auto& communicator) { return communicator->finalize(); });
}

ncclResult_t ncclCommDestroy(ncclComm_t handle) {
  return call_in_context(__func__, handle, [&](const auto& communicator) {
    communicator->destroy();
    library().communicators.remove(handle);
    return ncclSuccess;
  });
}

// Frees what belongs to it, registrations too, which cannot be given back any more.
ncclResult_t ncclCommAbort(ncclComm_t handle) {
  return call_in_context(__func__, handle, [&](const auto& communicator) {
    communicator->abort();
    library().registrations -= communicator->registrations().clear();
    library().windows -= communicator->windows().clear();
    library().communicators.remove(handle);
    return ncclSuccess;
  });
}

ncclResult_t ncclCommCount(const ncclComm_t handle, int* count) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(count != nullptr, ncclInvalidArgument, "the count is null");
    communicator->require_connected();
    *count = communicator->membership().size;
    return ncclSuccess;
  });
}

ncclResult_t ncclCommUserRank(const ncclComm_t handle, int* rank) {
  return call_on(__func__, handle, [&](const auto& communicator) {
    require(rank != nullptr, ncclInvalidArgument, "the rank is null");
    communicator->require_connected();
    *rank = communicator->membership().rank;
    return ncclSuccess;
  });
}
