#include "model.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace digits {

namespace {

constexpr std::array<std::size_t, 4> kWidths{kPixels, 128, 64, kClasses};
constexpr std::size_t kLayers = kWidths.size() - 1;

// Row i of a matrix of that many columns.
template <class Array>
auto row(Array& matrix, std::size_t i, std::size_t columns) {
  return std::span{matrix}.subspan(i * columns, columns);
}

// to += factor * from, which compilers make vector instructions of.
void add(std::span<float> to, float factor, std::span<const float> from) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

float dot(std::span<const float> a, std::span<const float> b) {
  float sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Numbers become probabilities. Returns the loss: minus the logarithm of the right one's.
double softmax(std::span<float> out, int label) {
  const float largest = std::ranges::max(out);
  float sum = 0;
  for (float& x : out) sum += x = std::exp(x - largest);
  for (float& x : out) x /= sum;
  return -std::log(std::max(double{out[static_cast<std::size_t>(label)]}, 1e-30));
}

}  // namespace

Model::Model(std::uint64_t seed) : outputs_(kLayers + 1) {
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const std::size_t in = kWidths[layer], out = kWidths[layer + 1];
    Tensor weights{.name = "weights " + std::to_string(layer),
                   .values = std::vector<float>(in * out)};
    Random random(seed, layer);
    const float bound = std::sqrt(6.0F / static_cast<float>(in));  // He et al., ICCV 2015
    for (float& weight : weights.values) weight = random.between(-bound, bound);
    tensors_.push_back(std::move(weights));
    tensors_.push_back(
        {.name = "biases " + std::to_string(layer), .values = std::vector<float>(out)});
  }
  for (Tensor& tensor : tensors_) {
    tensor.gradient_here.resize(tensor.values.size());
    tensor.gradient = tensor.gradient_here;
    tensor.velocity.resize(tensor.values.size());
  }
}

double Model::forward(const Samples& samples) {
  outputs_[0] = samples.pixels;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    const std::size_t in = kWidths[layer], out = kWidths[layer + 1];
    const auto& weights = tensors_[2 * layer].values;
    const auto& biases = tensors_[2 * layer + 1].values;
    outputs_[layer + 1].resize(samples.size() * out);
    for (std::size_t sample = 0; sample < samples.size(); ++sample) {
      const auto x = row(outputs_[layer], sample, in), y = row(outputs_[layer + 1], sample, out);
      std::ranges::copy(biases, y.begin());
      for (std::size_t i = 0; i < in; ++i)
        if (x[i] != 0) add(y, x[i], row(weights, i, out));
      if (layer + 1 < kLayers)
        for (float& value : y) value = std::max(value, 0.0F);
    }
  }
  double loss = 0;
  for (std::size_t sample = 0; sample < samples.size(); ++sample)
    loss += softmax(row(outputs_.back(), sample, kClasses), samples.labels[sample]);
  return loss;
}

std::size_t Model::correct(const Samples& samples) {
  forward(samples);
  std::size_t count = 0;
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const auto said = row(outputs_.back(), sample, kClasses);
    count += std::ranges::max_element(said) - said.begin() == samples.labels[sample] ? 1U : 0U;
  }
  return count;
}

void Model::backward(const Samples& samples, std::size_t batch,
                     const std::function<void(std::size_t)>& on_gradient) {
  std::vector<float> above = outputs_.back();  // the loss's gradient at a layer's outputs
  for (std::size_t sample = 0; sample < samples.size(); ++sample)
    above[sample * kClasses + static_cast<std::size_t>(samples.labels[sample])] -= 1;
  for (float& value : above) value /= static_cast<float>(batch);

  for (std::size_t layer = kLayers; layer-- > 0;) {
    const std::size_t in = kWidths[layer], out = kWidths[layer + 1];
    Tensor &weights = tensors_[2 * layer], &biases = tensors_[2 * layer + 1];
    std::ranges::fill(biases.gradient, 0.0F);
    for (std::size_t sample = 0; sample < samples.size(); ++sample)
      add(biases.gradient, 1, row(above, sample, out));
    on_gradient(2 * layer + 1);

    std::ranges::fill(weights.gradient, 0.0F);
    for (std::size_t sample = 0; sample < samples.size(); ++sample)
      for (std::size_t i = 0; i < in; ++i)
        if (const float x = outputs_[layer][sample * in + i]; x != 0)
          add(row(weights.gradient, i, out), x, row(above, sample, out));
    on_gradient(2 * layer);
    if (layer == 0) break;  // nobody asks for the gradient of pixels

    std::vector<float> below(samples.size() * in);
    for (std::size_t i = 0; i < below.size(); ++i)
      if (outputs_[layer][i] > 0)  // else the rectifier hides it
        below[i] = dot(row(weights.values, i % in, out), row(above, i / in, out));
    above = std::move(below);
  }
}

void Model::update(float rate, float momentum) {
  for (Tensor& tensor : tensors_)
    for (std::size_t i = 0; i < tensor.values.size(); ++i) {
      tensor.velocity[i] = momentum * tensor.velocity[i] + tensor.gradient[i];
      tensor.values[i] -= rate * tensor.velocity[i];
    }
}

}  // namespace digits
