#include "layers.hpp"

#include <algorithm>
#include <cmath>

namespace digits {

namespace {

// to += factor * from. Compilers vectorize this loop.
void add(std::span<float> to, float factor, std::span<const float> from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Row i of a matrix with this many columns.
template <class Array>
auto row(Array& matrix, std::size_t i, std::size_t columns) {
  return std::span{matrix}.subspan(i * columns, columns);
}

Tensor make_tensor(const std::string& name, std::size_t count, std::size_t rows = 0) {
  return {.name = name, .values = std::vector<float>(count), .rows = rows};
}

// The initial weights of He et al., ICCV 2015.
void fill(Tensor& weights, std::size_t inputs, Random random) {
  const float bound = std::sqrt(6.0F / static_cast<float>(inputs));
  for (float& weight : weights.values) weight = random.between(-bound, bound);
}

class Dense final : public Layer {
 public:
  Dense(Shape given, std::size_t out, Random random, const std::string& name)
      : Layer{given, {out, 1}}, weights_{make_tensor("weights " + name, given.size() * out,
                                                     given.size())},
        biases_{make_tensor("biases " + name, out)} {
    fill(weights_, given.size(), random);
  }
  std::vector<Tensor*> learned() override { return {&biases_, &weights_}; }

  void forward(std::span<const float> in, std::span<float> out, std::size_t samples,
               bool /*is_training*/) override {
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const auto x = in.subspan(sample * inputs(), inputs());
      const auto y = out.subspan(sample * outputs(), outputs());
      std::ranges::copy(biases_.values, y.begin());
      for (std::size_t i = 0; i < x.size(); ++i)
        if (x[i] != 0) add(y, x[i], row(weights_.values, i, outputs()));
    }
  }
  void backward(std::span<const float> in, std::span<const float> /*out*/,
                std::span<const float> above, std::span<float> below,
                std::size_t samples) override {
    for (std::size_t sample = 0; sample < samples; ++sample) {
      const auto y = above.subspan(sample * outputs(), outputs());
      add(biases_.gradient, 1, y);
      for (std::size_t i = 0; i < inputs(); ++i) {
        if (const float x = in[sample * inputs() + i]; x != 0)
          add(row(weights_.gradient, i, outputs()), x, y);
        if (!below.empty())
          below[sample * inputs() + i] = dot(row(weights_.values, i, outputs()), y);
      }
    }
  }

 private:
  [[nodiscard]] std::size_t inputs() const { return in().size(); }
  [[nodiscard]] std::size_t outputs() const { return out().size(); }
  Tensor weights_, biases_;
};

class Rectifier final : public Layer {
 public:
  explicit Rectifier(Shape given) : Layer{given, given} {}
  void forward(std::span<const float> in, std::span<float> out, std::size_t /*samples*/,
               bool /*is_training*/) override {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = std::max(in[i], 0.0F);
  }
  void backward(std::span<const float> in, std::span<const float> /*out*/,
                std::span<const float> above, std::span<float> below,
                std::size_t /*samples*/) override {
    for (std::size_t i = 0; i < in.size(); ++i) below[i] = in[i] > 0 ? above[i] : 0;
  }
};

class Convolution final : public Layer {
 public:
  Convolution(Shape given, std::size_t channels, Random random, const std::string& name)
      : Layer{given, {channels, given.side}}, weights_{make_tensor("filters " + name,
                                                                   channels * given.channels * 9,
                                                                   channels)} {
    fill(weights_, given.channels * 9, random);
  }
  std::vector<Tensor*> learned() override { return {&weights_}; }

  void forward(std::span<const float> in, std::span<float> out, std::size_t samples,
               bool /*is_training*/) override {
    std::ranges::fill(out, 0.0F);
    each_pair_of_rows(
        samples, [&](std::size_t weight, std::size_t from, std::size_t to, std::size_t count) {
          add(out.subspan(to, count), weights_.values[weight], in.subspan(from, count));
        });
  }
  void backward(std::span<const float> in, std::span<const float> /*out*/,
                std::span<const float> above, std::span<float> below,
                std::size_t samples) override {
    std::ranges::fill(below, 0.0F);
    each_pair_of_rows(
        samples, [&](std::size_t weight, std::size_t from, std::size_t to, std::size_t count) {
          weights_.gradient[weight] += dot(above.subspan(to, count), in.subspan(from, count));
          if (!below.empty())
            add(below.subspan(from, count), weights_.values[weight], above.subspan(to, count));
        });
  }

 private:
  // For each element of each filter: the parts of rows of inputs and outputs that it connects.
  template <class Function>
  void each_pair_of_rows(std::size_t samples, Function function) const {
    const std::size_t side = in().side, image = side * side;
    for (std::size_t sample = 0; sample < samples; ++sample)
      for (std::size_t to = 0; to < out().channels; ++to)
        for (std::size_t from = 0; from < in().channels; ++from)
          for (std::size_t i = 0; i < 9; ++i) {
            const std::size_t weight = (to * in().channels + from) * 9 + i;
            const std::size_t down = i / 3, across = i % 3;  // 1 is the middle
            const std::size_t count = side - (across == 1 ? 0 : 1);
            for (std::size_t y = down == 0 ? 1 : 0; y < side - (down == 2 ? 1 : 0); ++y)
              function(weight,
                       (sample * in().channels + from) * image + (y + down - 1) * side +
                           (across == 2 ? 1 : 0),
                       (sample * out().channels + to) * image + y * side + (across == 0 ? 1 : 0),
                       count);
          }
  }
  Tensor weights_;
};

class Pooling final : public Layer {
 public:
  explicit Pooling(Shape given) : Layer{given, {given.channels, given.side / 2}} {}
  void forward(std::span<const float> in, std::span<float> out, std::size_t /*samples*/,
               bool /*is_training*/) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = in[largest_of(in, i)];
  }
  void backward(std::span<const float> in, std::span<const float> out, std::span<const float> above,
                std::span<float> below, std::size_t /*samples*/) override {
    std::ranges::fill(below, 0.0F);
    for (std::size_t i = 0; i < out.size(); ++i) below[largest_of(in, i)] = above[i];
  }

 private:
  // The largest of an output's four inputs.
  [[nodiscard]] std::size_t largest_of(std::span<const float> in, std::size_t output) const {
    const std::size_t side = out().side, image = output / (side * side);
    const std::size_t y = output / side % side, x = output % side;
    const std::size_t first = (image * 2 * side + 2 * y) * 2 * side + 2 * x;
    std::size_t best = first;
    for (const std::size_t i : {first + 1, first + 2 * side, first + 2 * side + 1})
      if (in[i] > in[best]) best = i;
    return best;
  }
};

class BatchNorm final : public Layer {
 public:
  BatchNorm(Shape given, const std::string& name)
      : Layer{given, given}, scales_{make_tensor("scales " + name, given.channels)},
        offsets_{make_tensor("offsets " + name, given.channels)}, means_{make_tensor(
                                                                      "means " + name,
                                                                      given.channels)},
        variances_{make_tensor("variances " + name, given.channels)}, inverses_(given.channels),
        centers_(given.channels) {
    std::ranges::fill(scales_.values, 1.0F);
    std::ranges::fill(variances_.values, 1.0F);
  }
  std::vector<Tensor*> learned() override { return {&offsets_, &scales_}; }
  std::vector<Tensor*> remembered() override { return {&means_, &variances_}; }

  void forward(std::span<const float> in, std::span<float> out, std::size_t samples,
               bool is_training) override {
    constexpr float kKept = 0.9F, kLeast = 1e-5F;
    for (std::size_t channel = 0; channel < out_channels(); ++channel) {
      float mean = means_.values[channel], variance = variances_.values[channel];
      if (is_training && samples > 0) {
        double sum = 0, squares = 0;
        each(channel, samples, [&](std::size_t i) { sum += in[i]; });
        const double center = sum / size(samples);
        each(channel, samples,
             [&](std::size_t i) { squares += (in[i] - center) * (in[i] - center); });
        mean = static_cast<float>(center);
        variance = static_cast<float>(squares / size(samples));
        means_.values[channel] = kKept * means_.values[channel] + (1 - kKept) * mean;
        variances_.values[channel] = kKept * variances_.values[channel] + (1 - kKept) * variance;
      }
      centers_[channel] = mean;
      inverses_[channel] = 1 / std::sqrt(variance + kLeast);
      const float factor = scales_.values[channel] * inverses_[channel];
      each(channel, samples,
           [&](std::size_t i) { out[i] = (in[i] - mean) * factor + offsets_.values[channel]; });
    }
  }
  void backward(std::span<const float> in, std::span<const float> /*out*/,
                std::span<const float> above, std::span<float> below,
                std::size_t samples) override {
    for (std::size_t channel = 0; channel < out_channels() && samples > 0; ++channel) {
      double sum = 0, product = 0;
      const auto normal = [&](std::size_t i) {
        return (in[i] - centers_[channel]) * inverses_[channel];
      };
      each(channel, samples, [&](std::size_t i) {
        sum += above[i];
        product += above[i] * normal(i);
      });
      offsets_.gradient[channel] += static_cast<float>(sum);
      scales_.gradient[channel] += static_cast<float>(product);
      if (below.empty()) continue;
      const float factor = scales_.values[channel] * inverses_[channel];
      const auto mean = static_cast<float>(sum / size(samples));
      const auto slope = static_cast<float>(product / size(samples));
      each(channel, samples,
           [&](std::size_t i) { below[i] = factor * (above[i] - mean - normal(i) * slope); });
    }
  }

 private:
  [[nodiscard]] std::size_t out_channels() const { return out().channels; }
  [[nodiscard]] double size(std::size_t samples) const {
    return static_cast<double>(samples * out().side * out().side);
  }
  template <class Function>
  void each(std::size_t channel, std::size_t samples, Function function) const {
    const std::size_t image = out().side * out().side;
    for (std::size_t sample = 0; sample < samples; ++sample)
      for (std::size_t i = 0; i < image; ++i)
        function((sample * out().channels + channel) * image + i);
  }
  Tensor scales_, offsets_, means_, variances_;
  std::vector<float> inverses_, centers_;  // of the last batch
};

}  // namespace

std::unique_ptr<Layer> make_dense(Shape in, std::size_t out, Random random,
                                  const std::string& name) {
  return std::make_unique<Dense>(in, out, random, name);
}
std::unique_ptr<Layer> make_rectifier(Shape in) {
  return std::make_unique<Rectifier>(in);
}
std::unique_ptr<Layer> make_convolution(Shape in, std::size_t channels, Random random,
                                        const std::string& name) {
  return std::make_unique<Convolution>(in, channels, random, name);
}
std::unique_ptr<Layer> make_pooling(Shape in) {
  return std::make_unique<Pooling>(in);
}
std::unique_ptr<Layer> make_batch_norm(Shape in, const std::string& name) {
  return std::make_unique<BatchNorm>(in, name);
}

}  // namespace digits
