#include "perf/gradients/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "perf/failure.hpp"
#include "perf/measured_world.hpp"

namespace tutti::perf {

namespace {

// Arrays of one type follow each other without gaps, as flat storage requires.
std::vector<std::size_t> offsets_of(const Model& model) {
  constexpr std::size_t kLargestElement = 8;
  const auto is_usual = [&](const Tensor& t) { return t.type == model.tensors.front().type; };
  const std::size_t unit = std::ranges::all_of(model.tensors, is_usual)
                               ? size_of(model.tensors.front().type)
                               : kLargestElement;
  std::vector<std::size_t> offsets{0};
  for (const Tensor& tensor : model.tensors) {
    const std::size_t bytes = tensor.count * size_of(tensor.type);
    offsets.push_back(offsets.back() + (bytes + unit - 1) / unit * unit);
  }
  return offsets;
}

// Values that differ, so that compression has work to do.
void fill_f32(std::byte* data, std::size_t count, std::uint32_t seed) {
  auto* const elements = reinterpret_cast<float*>(data);
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t mixed = (i + seed) * 2654435761U;
    elements[i] = static_cast<float>(mixed >> 8) * 0x1p-24F - 0.5F;
  }
}

void fill_elements(const Tensor& tensor, std::byte* data, std::uint32_t seed) {
  if (tensor.type == Datatype::f32) return fill_f32(data, tensor.count, seed);
  // A byte that gives a normal number at any position.
  constexpr int kOrdinary = 0x38;
  if (tensor.count > 0) std::memset(data, kOrdinary, tensor.count * size_of(tensor.type));
}

}  // namespace

Replay::Replay(Communicator& world, const Model& model, const GradientsOptions& options)
    : world_{world}, model_{model}, options_{options}, work_{options.computing},
      arrivals_{model.arrivals()}, offsets_{offsets_of(model)}, ready_s_(model.tensors.size()) {
  std::array<std::int64_t, 1> rate{world.rank() == 0 ? work_.calibrate() : 0};
  from_rank_zero(world, rate);
  work_.set_rate(rate[0]);
  const auto needs_memory = [](const GradientSetting& setting) {
    return setting.options.storage != GradientStorage::views;
  };
  if (std::ranges::any_of(options.settings, needs_memory)) memory_.resize(offsets_.back());
  for (const GradientSetting& setting : options.settings) {
    try {
      syncs_.emplace_back(world, parameters_for(setting.options.storage), setting.options);
    } catch (const Error& error) {  // the same error on all ranks
      if (error.cause() != ErrorCode::invalid_argument) throw;
      throw Failure{ExitCode::usage, fmt::format("{}: {}", setting.label, error.what())};
    }
    fill(syncs_.size() - 1);
  }
}

std::vector<Parameter> Replay::parameters_for(GradientStorage storage) {
  std::vector<Parameter> parameters;
  for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
    const Tensor& tensor = model_.tensors[i];
    std::byte* const data = memory_.data() + offsets_[i];
    parameters.push_back({.name = tensor.name,
                          .data = storage == GradientStorage::views ? nullptr : data,
                          .count = tensor.count,
                          .type = tensor.type,
                          .rows = tensor.rows});
  }
  return parameters;
}

void Replay::fill(std::size_t setting) {
  const bool views = options_.settings[setting].options.storage == GradientStorage::views;
  for (std::size_t i = 0; i < model_.tensors.size(); ++i) {
    std::byte* const data =
        views ? static_cast<std::byte*>(syncs_[setting].view(i)) : memory_.data() + offsets_[i];
    fill_elements(model_.tensors[i], data,
                  static_cast<std::uint32_t>(i) + 97 * static_cast<std::uint32_t>(world_.rank()));
  }
}

double Replay::step(StepKind kind, std::size_t setting) {
  // Compression adds its error of one step to the next one, so gradients must be new.
  if (kind != StepKind::computing && !options_.settings[setting].options.compression.empty())
    fill(setting);
  world_.barrier();
  const auto begun = work_.begin();
  const auto elapsed_s = [&] {
    return std::chrono::duration<double>(Work::Clock::now() - begun).count();
  };
  for (const std::size_t i : arrivals_) {
    work_.until(model_.tensors[i].ready_s);
    if (kind == StepKind::overlapped) syncs_[setting].ready(i);
    else if (kind == StepKind::computing) ready_s_[i] = elapsed_s();
  }
  work_.until(model_.compute_s);
  if (kind == StepKind::serial)
    for (const std::size_t i : arrivals_) syncs_[setting].ready(i);
  if (kind != StepKind::computing) syncs_[setting].wait();
  return elapsed_s();
}

double bytes_needed(const Model& model, std::span<const GradientSetting> settings) {
  // Compression keeps two more copies of each bucket: the errors and the encoded data.
  constexpr double kOfCompression = 2;
  double models = 2;  // the program's own, and the largest bucket, which is measured alone
  for (const GradientSetting& setting : settings) {
    const GradientOptions& options = setting.options;
    models += options.storage == GradientStorage::flat ? 0 : 1;
    models += options.compression.empty() ? 0 : kOfCompression;
  }
  return models * static_cast<double>(model.bytes());
}

}  // namespace tutti::perf
