// Built-in models: tensors as their frameworks list them, with the work of backward for each.
#include "perf/gradients/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

namespace tutti::perf {

namespace {

constexpr double kForward = 1.0 / 3;  // share of a step: backward computes about twice as much

// Lists layers. The work of a weight is counted in multiply-adds: each element is used once per
// position.
class Layers {
 public:
  explicit Layers(std::string name) { model_.name = std::move(name); }

  void matrix(const std::string& name, std::size_t rows, std::size_t columns, double positions) {
    add(name, rows * columns, rows, static_cast<double>(rows * columns) * positions);
  }
  void vector(const std::string& name, std::size_t count, double positions) {
    add(name, count, 0, static_cast<double>(count) * positions);
  }
  // Weights, and a bias for each row of the result.
  void dense(const std::string& name, std::size_t rows, std::size_t columns, double positions) {
    matrix(name + ".weight", rows, columns, positions);
    vector(name + ".bias", rows, positions);
  }
  // Factors and offsets of a normalisation.
  void norm(const std::string& name, std::size_t count, double positions) {
    vector(name + ".weight", count, positions);
    vector(name + ".bias", count, positions);
  }
  // An embedding table. Its gradient is a sum of few rows.
  void table(const std::string& name, std::size_t rows, std::size_t columns, double look_ups) {
    add(name, rows * columns, rows, static_cast<double>(columns) * look_ups);
  }
  [[nodiscard]] Model finish() { return std::move(model_); }

 private:
  void add(const std::string& name, std::size_t count, std::size_t rows, double work) {
    model_.tensors.push_back({.name = name, .count = count, .rows = rows, .work = work});
  }
  Model model_{};
};

double square(std::size_t side) {
  return static_cast<double>(side * side);
}

// A convolution without bias and the normalisation after it. Results are images of side x side.
struct Convolution {
  std::size_t in;
  std::size_t out;
  std::size_t kernel;
  std::size_t side;
};

void add_convolution(Layers& layers, const std::string& prefix, const std::string& convolution,
                     const std::string& norm, const Convolution& c) {
  layers.matrix(prefix + convolution + ".weight", c.out, c.in * c.kernel * c.kernel,
                square(c.side));
  layers.norm(prefix + norm, c.out, square(c.side));
}

// He, Zhang, Ren, Sun, "Deep Residual Learning", CVPR 2016; strides as in torchvision.
Model resnet50() {
  Layers layers{"resnet50"};
  add_convolution(layers, "", "conv1", "bn1", {.in = 3, .out = 64, .kernel = 7, .side = 112});
  constexpr std::array<std::size_t, 4> kBlocks{3, 4, 6, 3};
  std::size_t in = 64;
  std::size_t side = 56;
  for (std::size_t stage = 0; stage < kBlocks.size(); ++stage) {
    const std::size_t width = std::size_t{64} << stage;
    const std::size_t before = side;
    if (stage > 0) side /= 2;
    for (std::size_t block = 0; block < kBlocks[stage]; ++block) {
      const std::string prefix = fmt::format("layer{}.{}.", stage + 1, block);
      const auto add = [&](const char* name, const char* norm, const Convolution& c) {
        add_convolution(layers, prefix, name, norm, c);
      };
      add("conv1", "bn1", {in, width, 1, block == 0 ? before : side});
      add("conv2", "bn2", {width, width, 3, side});
      add("conv3", "bn3", {width, 4 * width, 1, side});
      if (block == 0) add("downsample.0", "downsample.1", {in, 4 * width, 1, side});
      in = 4 * width;
    }
  }
  layers.dense("fc", 1000, in, 1);
  return layers.finish();
}

// Simonyan, Zisserman, "Very Deep Convolutional Networks", ICLR 2015, configuration D.
Model vgg16() {
  Layers layers{"vgg16"};
  struct Stage {
    std::size_t convolutions;
    std::size_t width;
  };
  constexpr std::array<Stage, 5> kStages{{{2, 64}, {2, 128}, {3, 256}, {3, 512}, {3, 512}}};
  std::size_t in = 3;
  std::size_t side = 224;
  std::size_t index = 0;  // activations and poolings count too
  for (const Stage& stage : kStages) {
    for (std::size_t i = 0; i < stage.convolutions; ++i, index += 2) {
      layers.dense(fmt::format("features.{}", index), stage.width, in * 9, square(side));
      in = stage.width;
    }
    ++index;
    side /= 2;
  }
  layers.dense("classifier.0", 4096, in * side * side, 1);
  layers.dense("classifier.3", 4096, 4096, 1);
  layers.dense("classifier.6", 1000, 4096, 1);
  return layers.finish();
}

// Devlin, Chang, Lee, Toutanova, "BERT", NAACL 2019: embeddings, encoder and pooler of the base
// model, with texts of 128 words.
Model bert_base() {
  constexpr std::size_t kWidth = 768;
  constexpr double kWords = 128;
  Layers layers{"bert_base"};
  layers.table("embeddings.word_embeddings.weight", 30522, kWidth, kWords);
  layers.table("embeddings.position_embeddings.weight", 512, kWidth, kWords);
  layers.table("embeddings.token_type_embeddings.weight", 2, kWidth, kWords);
  layers.norm("embeddings.LayerNorm", kWidth, kWords);
  for (int layer = 0; layer < 12; ++layer) {
    const std::string prefix = fmt::format("encoder.layer.{}.", layer);
    for (const char* name : {"query", "key", "value"})
      layers.dense(prefix + "attention.self." + name, kWidth, kWidth, kWords);
    layers.dense(prefix + "attention.output.dense", kWidth, kWidth, kWords);
    layers.norm(prefix + "attention.output.LayerNorm", kWidth, kWords);
    layers.dense(prefix + "intermediate.dense", 4 * kWidth, kWidth, kWords);
    layers.dense(prefix + "output.dense", kWidth, 4 * kWidth, kWords);
    layers.norm(prefix + "output.LayerNorm", kWidth, kWords);
  }
  layers.dense("pooler.dense", kWidth, kWidth, 1);  // only for the first word
  return layers.finish();
}

struct BuiltIn {
  const char* name;
  Model (*make)();
};
constexpr std::array kBuiltIns{BuiltIn{"resnet50", resnet50}, BuiltIn{"vgg16", vgg16},
                               BuiltIn{"bert_base", bert_base}};

}  // namespace

std::size_t Model::elements() const noexcept {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.count;
  return sum;
}

std::size_t Model::bytes() const noexcept {
  std::size_t sum = 0;
  for (const Tensor& tensor : tensors) sum += tensor.count * size_of(tensor.type);
  return sum;
}

std::vector<std::size_t> Model::arrivals() const {
  std::vector<std::size_t> order(tensors.size());
  std::iota(order.rbegin(), order.rend(),
            std::size_t{0});  // of tensors with equal times, the last one first
  std::ranges::stable_sort(order, {}, [this](std::size_t i) { return tensors[i].ready_s; });
  return order;
}

std::vector<std::string> built_in_models() {
  std::vector<std::string> names;
  for (const BuiltIn& model : kBuiltIns) names.emplace_back(model.name);
  return names;
}

Model built_in_model(std::string_view name) {
  const auto* const found = std::ranges::find(kBuiltIns, name, &BuiltIn::name);
  return found == kBuiltIns.end() ? Model{} : found->make();
}

Model with_times(Model model, double compute_s) {
  double work = 0;
  for (const Tensor& tensor : model.tensors) work += tensor.work;
  double done = 0;
  for (auto tensor = model.tensors.rbegin(); tensor != model.tensors.rend(); ++tensor) {
    done += tensor->work;
    const double share = work > 0 ? done / work : 1;
    tensor->ready_s = compute_s * (kForward + (1 - kForward) * share);
  }
  model.compute_s = compute_s;
  return model;
}

Model scaled_to(Model model, double compute_s) {
  const double factor = compute_s / model.compute_s;
  for (Tensor& tensor : model.tensors) tensor.ready_s *= factor;
  model.compute_s = compute_s;
  return model;
}

}  // namespace tutti::perf
