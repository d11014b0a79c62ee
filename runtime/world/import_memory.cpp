#include "import_memory.hpp"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <tutti/batch.hpp>
#include <tutti/call_name.hpp>
#include <tutti/spi/communicator.hpp>

#include "backends/shm/import.hpp"

namespace tutti::runtime {
namespace {

constexpr const char* kFailure = "cannot import memory";

/// Throws the same Error on all ranks.
void check_on_all(const MappedFile& file, const detail::Exchange& exchange) {
  const auto check = [&file] {
    shm::check_mapped_file(file);
    return std::uint64_t{file.memory.size()};
  };
  const std::vector<std::uint64_t> sizes = detail::all_or_none(exchange, check, kFailure);
  const auto other =
      std::ranges::find_if(sizes, [&sizes](std::uint64_t bytes) { return bytes != sizes.front(); });
  if (other != sizes.end())
    throw Error{ErrorCode::invalid_argument,
                "rank " + std::to_string(other - sizes.begin()) + " imports " +
                    std::to_string(*other) + " bytes, and rank 0 " + std::to_string(sizes.front())};
}

}  // namespace

std::shared_ptr<std::byte> import_memory(const std::shared_ptr<shm::Domain>& domain,
                                         std::span<const Rank> numbers, const MappedFile& file,
                                         const detail::Exchange& exchange) {
  std::shared_ptr<shm::Import> import;
  const auto offer = [&] {
    import = std::make_shared<shm::Import>(domain, file);
    return import->offer();
  };
  const std::vector<shm::ImportOffer> offers = detail::all_or_none(exchange, offer, kFailure);
  const auto map_all = [&] {
    for (std::size_t rank = 0; rank < numbers.size(); ++rank)
      if (const shm::Domain::Member* const member = domain->find(numbers[rank]))
        import->map(*member, offers[rank]);
  };
  detail::all_or_none(exchange, map_all, kFailure);
  import->publish();
  return {std::move(import), file.memory.data()};
}

}  // namespace tutti::runtime

namespace tutti::v0 {

Buffer<std::byte> import_memory(Communicator& world, const MappedFile& file) {
  detail::BatchScope::reject("importing memory");
  const CallName name{"import_memory"};
  return run_as_one(world, [&world, &file] {
    const detail::Exchange exchange = detail::exchange_over(world, Duration{0});
    runtime::check_on_all(file, exchange);
    Group* const group = group_of(world);
    std::shared_ptr<std::byte> memory = group ? group->import_memory(file, exchange) : nullptr;
    const bool is_visible = memory != nullptr;
    if (!is_visible) memory = {std::shared_ptr<void>{}, file.memory.data()};
    return Buffer<std::byte>{std::move(memory), file.memory.size(), is_visible};
  });
}

}  // namespace tutti::v0
