// Two networks that read digits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "layers.hpp"

namespace digits {

enum class Architecture : std::uint8_t {
  dense,         // three layers, 256-128-64-10
  convolutional  // two convolutions with batch norm, then one dense layer
};

class Model {
 public:
  Model(Architecture architecture, std::uint64_t seed);
  Model(const Model&) = delete;  // spans point into it
  Model& operator=(const Model&) = delete;

  // The learned arrays, in the order in which forward uses them.
  [[nodiscard]] std::span<Tensor* const> tensors() const { return tensors_; }
  // Other stored arrays: means and variances of batches.
  [[nodiscard]] std::span<Tensor* const> buffers() const { return buffers_; }

  // Computes the outputs for samples, which backward uses then. Returns the sum of their losses.
  double forward(const Samples& samples, bool is_training = true);
  // Computes the gradient of the sum of losses divided by `batch`, last layer first. It calls
  // on_gradient(i) as soon as tensor i's gradient is done, and does not touch it afterwards.
  void backward(const Samples& samples, std::size_t batch,
                const std::function<void(std::size_t)>& on_gradient);
  // Whether backward adds to gradients, for a batch in several parts.
  void accumulate(bool adds) { adds_ = adds; }
  // The number of digits that it reads correctly.
  [[nodiscard]] std::size_t correct(const Samples& samples);
  // A step of gradient descent with momentum.
  void update(float rate);
  // A step for a part of a tensor, from that part of the gradient.
  void update_part(std::size_t tensor, std::size_t first, std::span<float> gradient,
                   std::span<float> velocity, float rate);

 private:
  void add(std::unique_ptr<Layer> layer);
  std::vector<std::unique_ptr<Layer>> layers_{};
  std::vector<Tensor*> tensors_{}, buffers_{};
  std::vector<std::vector<float>> outputs_{};  // the samples, and the outputs of each layer
  bool adds_ = false;
};

}  // namespace digits
