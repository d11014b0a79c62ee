/// @file
/// Collectives of single elements, and collectives that return their result.
#pragma once

#include <numeric>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tutti/call_name.hpp>
#include <tutti/collectives.hpp>
#include <tutti/error.hpp>
#include <tutti/misuse.hpp>
#include <tutti/raise.hpp>
#include <tutti/request.hpp>
#include <tutti/spi/sole_caller.hpp>

namespace tutti::v0 {

/// A single element, such as a number.
template <class T>
concept Element = std::is_trivially_copyable_v<T> && !std::ranges::range<T> &&
                  !std::is_pointer_v<T> && !std::is_null_pointer_v<T>;

/// Blocks of several ranks, one after the other.
template <class T>
struct Gathered {
  std::vector<T> elements{};          ///< The elements of rank 0, of rank 1, ...
  std::vector<std::size_t> counts{};  ///< The number of elements of each rank.

  /// @param rank less than counts.size(). @return its elements. Takes time in proportion to rank.
  [[nodiscard]] std::span<const T> operator[](Rank rank) const noexcept {
    const auto own = counts.begin() + rank;
    return {elements.data() + std::accumulate(counts.begin(), own, std::size_t{0}), *own};
  }
};

/// Type of with_counts.
struct WithCounts {};
/// Argument of calls that find out the counts: they return Gathered, which has them.
inline constexpr WithCounts with_counts{};

namespace detail {
/// A call throws, and returns its result.
struct Throwing {
  using Outcome = void;
  template <class T>
  using Of = T;
  template <class Function>
  static auto call(Function function) {
    return function();
  }
};
}  // namespace detail

/// Calls of a Communicator that take one element instead of an array of one, or return arrays. They
/// allocate the result. Calls that must find out counts take one more exchange, with the same
/// timeout. For the least time, use the calls on arrays. Not within a batch, whose calls end later.
/// The calls of `world.try_()` return a Result of what is documented here.
/// @tparam Self the Communicator, or a class that represents it. @tparam Style how the call runs.
template <class Self, class Style>
class Values : public Collectives<Self, typename Style::Outcome> {
  using Arrays = Collectives<Self, typename Style::Outcome>;
  template <class T>
  using Of = typename Style::template Of<T>;
  template <class R>
  using List = std::vector<ElementOf<R>>;
  template <class T>
  using OpOf = std::type_identity_t<ElementOperator<T>>;

 public:
  using Arrays::all_gather;
  using Arrays::all_gatherv;
  using Arrays::all_reduce;
  using Arrays::all_to_all;
  using Arrays::all_to_allv;
  using Arrays::broadcast;
  using Arrays::exscan;
  using Arrays::gather;
  using Arrays::gatherv;
  using Arrays::recv;
  using Arrays::reduce;
  using Arrays::reduce_scatter;
  using Arrays::scan;
  using Arrays::scatter;
  using Arrays::scatterv;
  using Arrays::send;

  /// @return the reduction of all ranks' elements, on every rank.
  template <Element T>
  [[nodiscard]] Of<T> all_reduce(const T& value, OpOf<T> op = sum, const Options& options = {}) {
    return of_one(value, [&](T& result) {
      run(call::all_reduce(one(value), one(result), op.get()), options);
    });
  }
  /// @return the reduction of all ranks' elements at the root, nothing elsewhere.
  template <Element T>
  Of<std::optional<T>> reduce(const T& value, OpOf<T> op = sum, Rank root = 0,
                              const Options& options = {}) {
    return Style::call([&] {
      std::optional<T> result;
      if (is_self(root)) result = value;
      run(call::reduce(one(value), result ? one(*result) : std::span<T>{}, op.get(), root),
          options);
      return result;
    });
  }
  /// @param in own vector; equally many elements on all ranks.
  /// @return the reduction of all ranks' vectors at the root, nothing elsewhere.
  template <Elements R>
  Of<List<R>> reduce(R&& in, call::Op<R> op = sum, Rank root = 0, const Options& options = {}) {
    return Style::call([&] {
      detail::check_list_of<ElementOf<R>>();
      List<R> out(is_self(root) ? std::ranges::size(in) : 0);
      run(call::reduce(in, out, op.get(), root), options);
      return out;
    });
  }
  /// @param value the element at the root, ignored elsewhere. @return the root's element.
  template <Element T>
  [[nodiscard]] Of<T> broadcast(const T& value, Rank root = 0, const Options& options = {}) {
    return of_one(value, [&](T& result) { run(call::broadcast(one(result), root), options); });
  }
  /// @param in at the root all blocks, equal in size, in the order of ranks; ignored elsewhere.
  /// @return own block. Throws on all ranks if the elements cannot be divided into equal blocks.
  template <Elements R>
  [[nodiscard]] Of<List<R>> scatter(R&& in, Rank root = 0, const Options& options = {}) {
    return of_several([&] {
      const std::size_t size = world_size(), all = std::ranges::size(in);
      std::size_t count = !is_self(root) ? 0 : all % size == 0 ? all / size : kIndivisible;
      run(call::broadcast(one(count), root), only_timeout(options));
      if (count == kIndivisible)
        detail::raise({ErrorCode::invalid_argument,
                       "scatter: the elements of rank " + std::to_string(root) +
                           " cannot be divided into " + std::to_string(size) +
                           " blocks of one size; scatterv takes blocks of any size",
                       root});
      detail::check_list_of<ElementOf<R>>();
      List<R> out(count);
      run(call::scatter(in, out, root), options);
      return out;
    });
  }
  /// @param in at the root all blocks in the order of ranks, ignored elsewhere.
  /// @param counts at the root the elements of each block, ignored elsewhere.
  /// @return own block.
  template <Elements R>
  [[nodiscard]] Of<List<R>> scatterv(R&& in, Counts counts, Rank root = 0,
                                     const Options& options = {}) {
    return of_several([&] {
      std::size_t count = 0;
      run(call::scatter(call::In<std::span<std::size_t>>{counts.data(), counts.size()}, one(count),
                        root),
          only_timeout(options));
      detail::check_list_of<ElementOf<R>>();
      List<R> out(count);
      run(call::scatterv(in, counts, out, root), options);
      return out;
    });
  }
  /// @return all ranks' elements at the root, nothing elsewhere.
  template <Element T>
  Of<std::vector<T>> gather(const T& value, Rank root = 0, const Options& options = {}) {
    return gather(one(value), root, options);
  }
  /// @param in own block; equally many elements on all ranks.
  /// @return all ranks' blocks in the order of ranks at the root, nothing elsewhere.
  template <Elements R>
  Of<List<R>> gather(R&& in, Rank root = 0, const Options& options = {}) {
    return Style::call([&] {
      detail::check_list_of<ElementOf<R>>();
      List<R> out(is_self(root) ? std::ranges::size(in) * world_size() : 0);
      run(call::gather(in, out, root), options);
      return out;
    });
  }
  /// @param in own block, of any size.
  /// @return all ranks' blocks in the order of ranks at the root, nothing elsewhere.
  template <Elements R>
  Of<List<R>> gatherv(R&& in, Rank root = 0, const Options& options = {}) {
    return of_several([&] { return std::move(gathered(in, root, options).elements); });
  }
  /// @param in own block, of any size.
  /// @return all ranks' blocks and their counts at the root, nothing elsewhere.
  template <Elements R>
  Of<Gathered<ElementOf<R>>> gatherv(R&& in, WithCounts, Rank root = 0,
                                     const Options& options = {}) {
    return of_several([&] { return gathered(in, root, options); });
  }
  /// @return all ranks' elements.
  template <Element T>
  [[nodiscard]] Of<std::vector<T>> all_gather(const T& value, const Options& options = {}) {
    return all_gather(one(value), options);
  }
  /// @param in own block; equally many elements on all ranks.
  /// @return all ranks' blocks, in the order of ranks.
  template <Elements R>
  [[nodiscard]] Of<List<R>> all_gather(R&& in, const Options& options = {}) {
    return Style::call([&] {
      detail::check_list_of<ElementOf<R>>();
      List<R> out(std::ranges::size(in) * world_size());
      run(call::all_gather(in, out), options);
      return out;
    });
  }
  /// @param in own block, of any size. @return all ranks' blocks, in the order of ranks.
  template <Elements R>
  [[nodiscard]] Of<List<R>> all_gatherv(R&& in, const Options& options = {}) {
    return of_several([&] { return std::move(all_gathered(in, options).elements); });
  }
  /// @param in own block, of any size. @return all ranks' blocks and their counts.
  template <Elements R>
  [[nodiscard]] Of<Gathered<ElementOf<R>>> all_gatherv(R&& in, WithCounts,
                                                       const Options& options = {}) {
    return of_several([&] { return all_gathered(in, options); });
  }
  /// @param in all blocks, equal in size, in the order of ranks.
  /// @return own block of the reduction.
  template <Elements R>
  [[nodiscard]] Of<List<R>> reduce_scatter(R&& in, call::Op<R> op = sum,
                                           const Options& options = {}) {
    return Style::call([&] {
      detail::check_list_of<ElementOf<R>>();
      List<R> out(std::ranges::size(in) / world_size());
      run(call::reduce_scatter(in, out, op.get()), options);
      return out;
    });
  }
  /// @param in one block for every rank, equal in size.
  /// @return one block from every rank, in the order of ranks.
  template <Elements R>
  [[nodiscard]] Of<List<R>> all_to_all(R&& in, const Options& options = {}) {
    return Style::call([&] {
      detail::check_list_of<ElementOf<R>>();
      List<R> out(std::ranges::size(in));
      run(call::all_to_all(in, out), options);
      return out;
    });
  }
  /// @param in one block for every rank, in the order of ranks. @param counts the elements of each.
  /// @return one block from every rank, in the order of ranks.
  template <Elements R>
  [[nodiscard]] Of<List<R>> all_to_allv(R&& in, Counts counts, const Options& options = {}) {
    return of_several([&] { return std::move(exchanged(in, counts, options).elements); });
  }
  /// @param in one block for every rank, in the order of ranks. @param counts the elements of each.
  /// @return one block from every rank, and the counts of these.
  template <Elements R>
  [[nodiscard]] Of<Gathered<ElementOf<R>>> all_to_allv(R&& in, Counts counts, WithCounts,
                                                       const Options& options = {}) {
    return of_several([&] { return exchanged(in, counts, options); });
  }
  /// @param op any operator but average.
  /// @return the reduction of the elements of all ranks up to the own one.
  template <Element T>
  [[nodiscard]] Of<T> scan(const T& value, OpOf<T> op = sum, const Options& options = {}) {
    return of_one(value,
                  [&](T& result) { run(call::scan(one(value), one(result), op.get()), options); });
  }
  /// @param op any operator but average. @param first the result at rank 0.
  /// @return the reduction of the elements of all ranks before the own one.
  template <Element T>
  [[nodiscard]] Of<T> exscan(const T& value, OpOf<T> op = sum,
                             const std::type_identity_t<T>& first = T{},
                             const Options& options = {}) {
    return of_one(
        first, [&](T& result) { run(call::exscan(one(value), one(result), op.get()), options); });
  }
  /// Sends one element. @param tag equal to the receiver's. @param options as of send of an array.
  template <Element T>
  Of<void> send(const T& value, Rank to, int tag = 0, const Options& options = {}) {
    return Style::call([&] { run(call::send(one(value), to, tag), options); });
  }
  /// Receives all elements that one rank sends.
  /// @param from the sender, or any_rank; Communicator::probe finds the sender. @param tag equal to
  /// the sender's.
  /// @param options as of recv of an array.
  /// @return the elements. Throws Error{mismatch} if their type is not T.
  template <Element T>
  [[nodiscard]] Of<std::vector<T>> recv(Rank from, int tag = 0, const Options& options = {}) {
    detail::check_list_of<T>();
    return of_several([&] {
      const Arrival arrival = world().probe(from, tag, options);
      std::vector<T> out(arrival.count<T>());
      run(call::recv(out, arrival.from, tag), options);
      return out;
    });
  }

 protected:
  Values() = default;

 private:
  static constexpr std::size_t kIndivisible = ~std::size_t{0};

  template <class T>
  [[nodiscard]] static std::span<T> one(T& element) noexcept {
    return {&element, 1};
  }
  [[nodiscard]] static Options only_timeout(const Options& options) {
    return {.timeout = options.timeout};
  }
  template <class T, class Function>
  [[nodiscard]] static Of<T> of_one(const T& start, Function function) {
    return Style::call([&] {
      T result{start};
      function(result);
      return result;
    });
  }
  template <class Function>
  [[nodiscard]] auto of_several(Function function) {
    return Style::call([&] { return run_as_one(world(), function); });
  }
  template <class R>
  [[nodiscard]] Gathered<ElementOf<R>> gathered(R& in, Rank root, const Options& options) {
    const CallName name{"gatherv"};
    detail::check_list_of<ElementOf<R>>();
    Gathered<ElementOf<R>> all;
    if (is_self(root)) all.counts.resize(world_size());
    const std::size_t own = std::ranges::size(in);
    run(call::gather(one(own), all.counts, root), only_timeout(options));
    all.elements.resize(total(all.counts));
    run(call::gatherv(in, all.elements, all.counts, root), options);
    return all;
  }
  template <class R>
  [[nodiscard]] Gathered<ElementOf<R>> all_gathered(R& in, const Options& options) {
    const CallName name{"all_gatherv"};
    detail::check_list_of<ElementOf<R>>();
    Gathered<ElementOf<R>> all;
    all.counts.resize(world_size());
    const std::size_t own = std::ranges::size(in);
    run(call::all_gather(one(own), all.counts), only_timeout(options));
    all.elements.resize(total(all.counts));
    run(call::all_gather(in, all.elements), call::with_counts(options, all.counts));
    return all;
  }
  template <class R>
  [[nodiscard]] Gathered<ElementOf<R>> exchanged(R& in, Counts counts, const Options& options) {
    const CallName name{"all_to_allv"};
    detail::check_list_of<ElementOf<R>>();
    Gathered<ElementOf<R>> all;
    all.counts.resize(world_size());
    run(call::all_to_all(call::In<std::span<std::size_t>>{counts.data(), counts.size()},
                         all.counts),
        only_timeout(options));
    all.elements.resize(total(all.counts));
    run(call::all_to_allv(in, counts, all.elements, all.counts), options);
    return all;
  }
  [[nodiscard]] static std::size_t total(Counts counts) noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::size_t{0});
  }
  [[nodiscard]] bool is_self(Rank rank) noexcept { return world().rank() == rank; }
  [[nodiscard]] std::size_t world_size() noexcept {
    return static_cast<std::size_t>(world().size());
  }
  [[nodiscard]] auto& world() noexcept { return static_cast<Self&>(*this).world(); }
  void run(const Call& call, const Options& options) { world().run_now(call, options); }
};

}  // namespace tutti::v0
