// Headers throw and catch through these functions, with any compiler flags of the program.
#include <tutti/raise.hpp>

#include <exception>
#include <new>
#include <stdexcept>

#include <tutti/attempt.hpp>
#include <tutti/error.hpp>
#include <tutti/spi/memory.hpp>

namespace tutti::v0::detail {

void raise(const Error& error) {
  throw Error{error};
}
void raise_bad_length() {
  throw std::bad_array_new_length{};
}
void raise_out_of_range(const char* what) {
  throw std::out_of_range{what};
}
void raise_again() {
  throw;
}

void call_guarded(Callee function, Callee handler) {
  try {
    function.call(function.function);
  } catch (...) {
    handler.call(handler.function);
  }
}

std::optional<Error> error_of(Callee function) noexcept {
  try {
    function.call(function.function);
    return std::nullopt;
  } catch (const Error& error) {
    return error;
  } catch (const MemoryShortage& shortage) {
    return Error{ErrorCode::transport, shortage.what()};
  } catch (const std::bad_alloc&) {
    return Error{ErrorCode::transport, "no memory is left"};
  } catch (const std::exception& error) {
    return Error{ErrorCode::transport, error.what()};
  } catch (...) {
    return Error{ErrorCode::aborted, "an exception of unknown type ended the call"};
  }
}

}  // namespace tutti::v0::detail
