/// @file
/// What ranks do together or not at all.
#pragma once

#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

namespace tutti::inline v0::cuda {

/// How a rank got on with its part.
struct Attempt {
  std::array<char, 384> why{};  ///< What went wrong, or nothing.
  ErrorCode code = ErrorCode::transport;

  /// Does a part, unless one went wrong before. @param part what it throws is kept.
  template <class Part>
  void make(Part part) {
    if (why.front() != '\0') return;
    try {
      part();
    } catch (const Error& error) {
      note(error.code(), error.what());
    } catch (const std::exception& error) {
      note(ErrorCode::transport, error.what());
    }
  }

 private:
  void note(ErrorCode what, const char* text) {
    code = what;
    std::strncpy(why.data(), text, why.size() - 1);
  }
};

/// Collective. @param ranks who tell each other. @param own of this one. @param what they could not
/// do, after "rank 1". Throws, on all, what the first one says whose part went wrong.
inline void agree(Communicator& ranks, const Attempt& own, std::string_view what) {
  std::vector<Attempt> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{all}));
  for (std::size_t rank = 0; rank < all.size(); ++rank)
    if (all[rank].why.front() != '\0')
      throw Error{
          all[rank].code,
          "rank " + std::to_string(rank) + " " + std::string{what} + ": " + all[rank].why.data(),
          static_cast<Rank>(rank)};
}

}  // namespace tutti::inline v0::cuda
