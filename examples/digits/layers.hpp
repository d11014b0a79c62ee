// What networks are made of, with gradients written by hand.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "data.hpp"

namespace digits {

// What is learned: weights or biases of a layer. Or what is only remembered, such as means.
struct Tensor {
  std::string name{};
  std::vector<float> values{};
  std::size_t rows = 0;                // of the matrix that it is, if it is one
  std::vector<float> gradient_here{};  // where the gradient lies, unless it is put elsewhere
  std::span<float> gradient{};
  std::vector<float> velocity{};
};

// What layers pass on: for each sample so many channels of square images.
struct Shape {
  std::size_t channels = 1;
  std::size_t side = 1;

  [[nodiscard]] std::size_t size() const { return channels * side * side; }
};

class Layer {
 public:
  Layer(Shape in, Shape out) : in_{in}, out_{out} {}
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;
  virtual ~Layer() = default;
  [[nodiscard]] Shape out() const { return out_; }
  // Arrays that are learned, the last one first: as their gradients are done.
  [[nodiscard]] virtual std::vector<Tensor*> learned() { return {}; }
  // Arrays that training remembers beside.
  [[nodiscard]] virtual std::vector<Tensor*> remembered() { return {}; }
  virtual void forward(std::span<const float> in, std::span<float> out, std::size_t samples,
                       bool is_training) = 0;
  // From the loss's gradient by outputs, adds those by what is learned to their gradients, and
  // stores that by inputs, unless it has no room.
  virtual void backward(std::span<const float> in, std::span<const float> out,
                        std::span<const float> above, std::span<float> below,
                        std::size_t samples) = 0;

 protected:
  [[nodiscard]] Shape in() const { return in_; }

 private:
  Shape in_, out_;
};

// All inputs to all outputs.
[[nodiscard]] std::unique_ptr<Layer> make_dense(Shape in, std::size_t out, Random random,
                                                const std::string& name);
// Negative numbers become zeros.
[[nodiscard]] std::unique_ptr<Layer> make_rectifier(Shape in);
// Sums over 3 x 3 neighbours, of all channels.
[[nodiscard]] std::unique_ptr<Layer> make_convolution(Shape in, std::size_t channels, Random random,
                                                      const std::string& name);
// The largest of 2 x 2.
[[nodiscard]] std::unique_ptr<Layer> make_pooling(Shape in);
// Numbers of a channel get mean 0 and variance 1 over the batch, then a scale and an offset that
// are learned (Ioffe, Szegedy, ICML 2015). Means and variances of the last batches are remembered.
[[nodiscard]] std::unique_ptr<Layer> make_batch_norm(Shape in, const std::string& name);

}  // namespace digits
