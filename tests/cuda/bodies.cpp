#include "bodies.hpp"

#include <tuple>

#include "backends/cuda/array_body.hpp"
#include "backends/cuda/fold_body.hpp"

namespace tutti::v0::cuda {
namespace {

template <class Element>
void fold_passed(const KernelWork& work, std::size_t thread, std::size_t threads) {
  fold<Element>(work, PassedAddresses{work}, thread, threads);
}

}  // namespace

Body body_of(std::string_view name) noexcept {
  constexpr std::string_view kPrefix = "tutti_fold_";
  Body body = nullptr;
  const auto find = [&]<class T>(const ElementType<T>& type) {
    if (name.starts_with(kPrefix) && name.substr(kPrefix.size()) == type.name)
      body = fold_passed<decltype(element_of<T>())>;
  };
  std::apply([&](const auto&... types) { (find(types), ...); }, kElementTypes);
  return body;
}

void convert_body(const Conversion& work, std::size_t thread, std::size_t threads) {
  convert(work, thread, threads);
}
void inspect_body(const Inspection& work, std::size_t thread, std::size_t threads) {
  inspect(work, thread, threads);
}

}  // namespace tutti::v0::cuda
