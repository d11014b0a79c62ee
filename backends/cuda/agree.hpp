/// @file
/// What ranks do together or not at all.
#pragma once

#include <array>
#include <cstring>
#include <exception>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include <tutti/communicator.hpp>
#include <tutti/error.hpp>

namespace tutti::v0::cuda {

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

/// Collective. @tparam Told trivially copyable. @param ranks that tell each other. @param own of
/// this one. @return what all of them say.
template <class Told>
[[nodiscard]] std::vector<Told> tell(Communicator& ranks, const Told& own) {
  static_assert(std::is_trivially_copyable_v<Told>);
  std::vector<Told> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span{&own, 1}), std::as_writable_bytes(std::span{all}));
  return all;
}

/// @param attempt of a rank. @param rank which one. @param what it could not do, after "rank 1".
/// Throws what that one says, if its part went wrong.
inline void require_good(const Attempt& attempt, std::size_t rank, std::string_view what) {
  if (attempt.why.front() == '\0') return;
  throw Error{attempt.code,
              "rank " + std::to_string(rank) + " " + std::string{what} + ": " + attempt.why.data(),
              static_cast<Rank>(rank)};
}

/// Collective. @param ranks that tell each other. @param own of this one. @param what they could not
/// do, after "rank 1". Throws, on all, what the first one says whose part went wrong.
inline void agree(Communicator& ranks, const Attempt& own, std::string_view what) {
  const std::vector<Attempt> all = tell(ranks, own);
  for (std::size_t rank = 0; rank < all.size(); ++rank) require_good(all[rank], rank, what);
}

/// Likewise. @tparam Told trivially copyable. @param result of the part. @return those of all
/// ranks.
template <class Told>
[[nodiscard]] std::vector<Told> agree(Communicator& ranks, const Attempt& own, const Told& result,
                                      std::string_view what) {
  struct RankResult {
    Attempt attempt{};
    Told result{};
  };
  std::vector<Told> results;
  std::size_t rank = 0;
  for (const RankResult& result_of_rank : tell(ranks, RankResult{own, result})) {
    require_good(result_of_rank.attempt, rank++, what);
    results.push_back(result_of_rank.result);
  }
  return results;
}

}  // namespace tutti::v0::cuda
