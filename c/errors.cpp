#include <array>
#include <string>

#include <tutti/spi/per_thread.hpp>

#include "handles.hpp"

namespace tutti::v0::c {
namespace {

/// The last error of a thread.
struct LastError {
  tutti_status status = TUTTI_OK;
  tutti_status cause = TUTTI_OK;
  std::int32_t rank = -1;
  std::uint64_t call = 0;
  std::string text{};
};

/// The C interface returns statuses, so that their texts need a place of each thread.
LastError& last_error() noexcept {
  return detail::PerThread<LastError>::get();
}

tutti_status status_of(ErrorCode code) noexcept {
  return static_cast<tutti_status>(static_cast<int>(code) + 1);
}

}  // namespace

tutti_status keep_error(const Error& error) noexcept {
  LastError& last = last_error();
  last.status = status_of(error.code());
  last.cause = status_of(error.cause());
  last.rank = error.culprit();
  last.call = error.call();
  try {
    last.text = error.what();
  } catch (const std::exception&) {
    last.text.clear();  // the status is the kind of the error
  }
  return last.status;
}

tutti_status keep_caught() noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return keep_error(error);
  } catch (const std::bad_alloc&) {
    return keep_error({ErrorCode::transport, "memory is exhausted"});
  } catch (const std::exception& error) {
    return keep_error({ErrorCode::transport, error.what()});
  } catch (...) {
    return keep_error({ErrorCode::transport, "an exception without a text"});
  }
}

void require(const void* pointer, std::string_view name) {
  if (pointer == nullptr) throw Error{ErrorCode::invalid_argument, std::string{name} + " is NULL"};
}

void store_text(std::string_view text, char* to, std::size_t capacity,
                std::size_t* length) noexcept {
  if (length != nullptr) *length = text.size();
  if (to == nullptr || capacity == 0) return;
  const std::size_t stored = std::min(text.size(), capacity - 1);
  std::memcpy(to, text.data(), stored);
  to[stored] = '\0';
}

}  // namespace tutti::v0::c

using namespace tutti::c;

extern "C" {

void tutti_last_error(tutti_error* error) {
  if (error == nullptr) return;
  const auto& last = last_error();
  write(error, error->size,
        {.size = error->size,
         .status = last.status,
         .cause = last.cause,
         .rank = last.rank,
         .call = last.call,
         .text = last.text.c_str()});
}

const char* tutti_status_name(tutti_status status) {
  static constexpr std::array kNames{"ok",        "invalid_argument", "mismatch",
                                     "timeout",   "peer_dead",        "aborted",
                                     "transport", "object",           "bug"};
  if (status == TUTTI_PENDING) return "pending";
  const auto index = static_cast<std::size_t>(status);
  return index < kNames.size() ? kNames[index] : "unknown";
}

const char* tutti_version(void) {
  return tutti::version().data();
}

uint32_t tutti_interface_version(void) {
  return 1;
}

}  // extern "C"
