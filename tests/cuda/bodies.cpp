#include "bodies.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "backends/cuda/array_body.hpp"
#include "backends/cuda/fold_body.hpp"

namespace tutti::v0::cuda {
namespace {

template <class Element>
void fold_passed(const KernelWork& work, std::size_t thread, std::size_t threads) {
  fold<Element>(work, PassedAddresses{work}, thread, threads);
}

constexpr std::array kBodies{
    std::pair<std::string_view, Body>{"tutti_fold_i8", fold_passed<IntegerElement<std::int8_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_i16", fold_passed<IntegerElement<std::int16_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_i32", fold_passed<IntegerElement<std::int32_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_i64", fold_passed<IntegerElement<std::int64_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_u8", fold_passed<IntegerElement<std::uint8_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_u16", fold_passed<IntegerElement<std::uint16_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_u32", fold_passed<IntegerElement<std::uint32_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_u64", fold_passed<IntegerElement<std::uint64_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_f16", fold_passed<HalfElement<Float16>>},
    std::pair<std::string_view, Body>{"tutti_fold_bf16", fold_passed<HalfElement<BFloat16>>},
    std::pair<std::string_view, Body>{"tutti_fold_f32", fold_passed<RealElement<float>>},
    std::pair<std::string_view, Body>{"tutti_fold_f64", fold_passed<RealElement<double>>},
    std::pair<std::string_view, Body>{"tutti_fold_c32", fold_passed<ComplexElement<float>>},
    std::pair<std::string_view, Body>{"tutti_fold_c64", fold_passed<ComplexElement<double>>},
    std::pair<std::string_view, Body>{"tutti_fold_i32_index", fold_passed<IndexedElement<std::int32_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_i64_index", fold_passed<IndexedElement<std::int64_t>>},
    std::pair<std::string_view, Body>{"tutti_fold_f32_index", fold_passed<IndexedElement<float>>},
    std::pair<std::string_view, Body>{"tutti_fold_f64_index", fold_passed<IndexedElement<double>>},
};

}  // namespace

Body body_of(std::string_view name) noexcept {
  const auto found = std::ranges::find(kBodies, name, &std::pair<std::string_view, Body>::first);
  return found == kBodies.end() ? nullptr : found->second;
}

void convert_body(const Conversion& work, std::size_t thread, std::size_t threads) {
  convert(work, thread, threads);
}
void inspect_body(const Inspection& work, std::size_t thread, std::size_t threads) {
  inspect(work, thread, threads);
}

}  // namespace tutti::v0::cuda
