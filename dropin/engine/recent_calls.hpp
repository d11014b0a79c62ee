/// @file
/// Recent calls that went to the MPI, so that calls like them reach the MPI quickly.
#pragma once

#include <mpi.h>

#include <array>
#include <cstddef>
#include <tuple>
#include <type_traits>

#include "dropin/engine/freed.hpp"
#include "dropin/engine/state.hpp"

namespace tutti::dropin {

/// A call that went to the MPI: the findings that hold for others like it.
struct ChosenMpi {
  State* state = nullptr;    ///< Null: there is none.
  Choice* choice = nullptr;  ///< Null: the MPI serves the communicator.
  SimilarCalls calls{};
  Freed freed{};  ///< As it was then.

  /// Begins another call with such arguments, if the MPI is to run that too.
  /// @param caller its return address. @return whether it has begun.
  [[nodiscard]] bool begin_again(const void* caller) const noexcept {
    return freed == dropin::freed() && (choice == nullptr || begin_chosen(caller));
  }

 private:
  [[nodiscard]] bool begin_chosen(const void* caller) const noexcept;
};

/// An argument that is an array of counts or other numbers of all ranks.
template <class T>
inline constexpr bool kIsArray = std::is_pointer_v<T>&& std::is_const_v<std::remove_pointer_t<T>> &&
                                 !std::is_void_v<std::remove_pointer_t<T>>;

/// The last two calls of a function that went to the MPI, since programs alternate.
/// @tparam A the function's arguments.
template <class... A>
class RecentCalls {
 public:
  /// Begins a call if it is like one of them. @param caller its return address.
  [[nodiscard]] bool begin_again(const void* caller, A... arguments) const noexcept {
    for (const One& one : calls_)
      if (one.is_like(arguments...)) return one.chosen.begin_again(caller);
    return false;
  }
  void add(const ChosenMpi& chosen, A... arguments) {
    const std::size_t place = calls_[1 - oldest_].is_like(arguments...) ? 1 - oldest_ : oldest_;
    calls_[place] = {chosen, {arguments...}};
    oldest_ = 1 - place;
  }

 private:
  struct One {
    ChosenMpi chosen{};
    std::tuple<A...> arguments{};

    // Data and arrays may lie elsewhere: the MPI gets the new arguments.
    template <class T>
    static bool are_like(T one, T other) {
      if constexpr (kIsArray<T> || std::is_same_v<T, void*> || std::is_same_v<T, const void*>)
        return true;
      else return one == other;
    }
    [[nodiscard]] bool is_like(A... others) const {
      return chosen.state != nullptr &&
             std::apply([&](A... own) { return (are_like(own, others) && ...); }, arguments);
    }
  };
  std::array<One, 2> calls_{};
  std::size_t oldest_ = 0;
};

}  // namespace tutti::dropin
