#include "model.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace digits {

namespace {

constexpr float kMomentum = 0.9F;

// Turns values into probabilities. Returns the loss: minus the logarithm of the right label's
// probability.
double softmax(std::span<float> out, int label) {
  const float largest = std::ranges::max(out);
  float sum = 0;
  for (float& x : out) sum += x = std::exp(x - largest);
  for (float& x : out) x /= sum;
  return -std::log(std::max(double{out[static_cast<std::size_t>(label)]}, 1e-30));
}

}  // namespace

Model::Model(Architecture architecture, std::uint64_t seed) {
  const auto shape = [this] { return layers_.empty() ? Shape{1, kSide} : layers_.back()->out(); };
  const auto random = [&] { return Random(seed, layers_.size()); };
  if (architecture == Architecture::convolutional)
    for (const std::size_t channels : {8U, 16U}) {
      const std::string name = std::to_string(channels / 8 - 1);
      add(make_convolution(shape(), channels, random(), name));
      add(make_batch_norm(shape(), name));
      add(make_rectifier(shape()));
      add(make_pooling(shape()));
    }
  else
    for (const std::size_t width : {128U, 64U}) {
      add(make_dense(shape(), width, random(), std::to_string(layers_.size() / 2)));
      add(make_rectifier(shape()));
    }
  add(make_dense(shape(), kClasses, random(), "last"));
  outputs_.resize(layers_.size() + 1);
  for (Tensor* tensor : tensors_) {
    tensor->gradient_here.resize(tensor->values.size());
    tensor->gradient = tensor->gradient_here;
    tensor->velocity.resize(tensor->values.size());
  }
}

void Model::add(std::unique_ptr<Layer> layer) {
  std::vector<Tensor*> learned = layer->learned();
  tensors_.insert(tensors_.end(), learned.rbegin(), learned.rend());
  for (Tensor* tensor : layer->remembered()) buffers_.push_back(tensor);
  layers_.push_back(std::move(layer));
}

double Model::forward(const Samples& samples, bool is_training) {
  outputs_[0] = samples.pixels;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    outputs_[i + 1].resize(samples.size() * layers_[i]->out().size());
    layers_[i]->forward(outputs_[i], outputs_[i + 1], samples.size(), is_training);
  }
  double loss = 0;
  for (std::size_t sample = 0; sample < samples.size(); ++sample)
    loss += softmax(std::span{outputs_.back()}.subspan(sample * kClasses, kClasses),
                    samples.labels[sample]);
  return loss;
}

std::size_t Model::correct(const Samples& samples) {
  forward(samples, false);
  std::size_t count = 0;
  for (std::size_t sample = 0; sample < samples.size(); ++sample) {
    const auto said = std::span{outputs_.back()}.subspan(sample * kClasses, kClasses);
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

  std::size_t next = tensors_.size();
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const std::vector<Tensor*> learned = layers_[i]->learned();
    if (!adds_)
      for (Tensor* tensor : learned) std::ranges::fill(tensor->gradient, 0.0F);
    // The gradient by pixels is not needed.
    std::vector<float> below(i == 0 ? 0 : outputs_[i].size());
    layers_[i]->backward(outputs_[i], outputs_[i + 1], above, below, samples.size());
    for (std::size_t done = 0; done < learned.size(); ++done) on_gradient(--next);
    above = std::move(below);
  }
}

void Model::update(float rate) {
  for (Tensor* tensor : tensors_)
    for (std::size_t i = 0; i < tensor->values.size(); ++i) {
      tensor->velocity[i] = kMomentum * tensor->velocity[i] + tensor->gradient[i];
      tensor->values[i] -= rate * tensor->velocity[i];
    }
}

void Model::update_part(std::size_t tensor, std::size_t first, std::span<float> gradient,
                        std::span<float> velocity, float rate) {
  const Tensor& of = *tensors_[tensor];
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    velocity[i] = kMomentum * velocity[i] + gradient[i];
    gradient[i] = of.values[first + i] - rate * velocity[i];
  }
}

}  // namespace digits
