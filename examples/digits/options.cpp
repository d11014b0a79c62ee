#include "options.hpp"

#include <charconv>
#include <cstdio>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace digits {

namespace {

struct Flag {
  Program program;  // the first one that takes it
  std::string name, values;
  std::function<bool(const std::string&)> set;  // returns whether the value is good
};

// A flag whose value is a number, or text.
template <class T>
Flag flag(Program program, std::string name, std::string values, T& value) {
  return {program, std::move(name), std::move(values), [&value](const std::string& text) {
            if constexpr (std::is_same_v<T, std::string>) {
              value = text;
              return true;
            } else {
              const char* const end = text.data() + text.size();
              const auto read = std::from_chars(text.data(), end, value);
              return read.ec == std::errc{} && read.ptr == end && value >= T{};
            }
          }};
}

// A flag whose value is one of some words: "a|b".
Flag choice(Program program, std::string name, std::string words,
            std::function<void(const std::string&)> set) {
  return {program, std::move(name), words, [words, set](const std::string& text) {
            if (("|" + words + "|").find("|" + text + "|") == std::string::npos) return false;
            set(text);
            return true;
          }};
}

std::vector<Flag> flags_of(Options& o) {
  constexpr Program all = Program::serial, some = Program::distributed, most = Program::trainer;
  return {
      choice(all, "--model", "mlp|cnn",
             [&o](auto& text) { o.model = text == "cnn" ? Kind::convolutional : Kind::dense; }),
      flag(all, "--epochs", "N", o.epochs),
      flag(all, "--batch", "N", o.batch),
      flag(all, "--train", "N", o.train),
      flag(all, "--test", "N", o.test),
      flag(all, "--rate", "X", o.rate),
      flag(all, "--weights", "FILE", o.weights),
      flag(some, "--bucket-bytes", "N", o.bucket_bytes),
      choice(some, "--storage", "copies|views", [&o](auto& text) { o.views = text == "views"; }),
      choice(most, "--strategy",
             "bucketed|per-tensor|flat|negotiated|after|sharded|local-sgd|diloco",
             [&o](auto& text) { o.strategy = text; }),
      flag(most, "--compression", "f16|bf16|int8|one_bit|power_sgd|top_k", o.compression),
      flag(most, "--compression-after", "STEPS", o.compression_after),
      flag(most, "--algorithm", "NAME", o.algorithm),
      flag(most, "--settings", "FILE", o.settings),
      flag(most, "--in-flight", "N", o.in_flight),
      flag(most, "--accumulate", "N", o.accumulate),
      flag(most, "--period", "N", o.period),
      flag(most, "--outer-rate", "X", o.outer_rate),
      flag(most, "--outer-momentum", "X", o.outer_momentum),
      choice(most, "--buffers", "mean|broadcast|off", [&o](auto& text) { o.buffers = text; }),
      flag(most, "--verify-every", "N", o.verify_every),
      flag(most, "--resync-every", "N", o.resync_every),
      choice(most, "--check-finite", "on|off", [&o](auto& text) { o.check_finite = text == "on"; }),
      flag(most, "--clip", "X", o.clip),
      flag(most, "--uneven", "N", o.uneven),
      flag(most, "--checkpoint", "FILE", o.checkpoint),
      flag(most, "--save-every", "N", o.save_every),
      flag(most, "--stop-at", "STEP", o.stop_at),
      flag(most, "--stop-rank", "RANK", o.stop_rank),
      flag(most, "--trace", "FILE", o.trace),
      choice(most, "--timeline", "on|off", [&o](auto& text) { o.timeline = text == "on"; }),
  };
}

}  // namespace

Options parse(Program program, int count, char** words) {
  Options options;
  std::string usage = "flags:";
  const std::vector<Flag> flags = flags_of(options);
  for (const Flag& flag : flags)
    if (flag.program <= program) usage += " [" + flag.name + " " + flag.values + "]";
  for (int i = 1; i < count; i += 2) {
    bool is_good = false;
    for (const Flag& flag : flags)
      if (flag.program <= program && flag.name == words[i] && i + 1 < count)
        is_good = flag.set(words[i + 1]);
    if (!is_good)
      throw std::invalid_argument{"cannot take '" + std::string{words[i]} +
                                  (i + 1 < count ? " " + std::string{words[i + 1]} : "") + "'; " +
                                  usage};
  }
  if (options.batch == 0 || options.batch > options.train || options.test == 0)
    throw std::invalid_argument{"a batch has one sample or more, and no more than there are"};
  if (options.accumulate < 1 || options.period < 1)
    throw std::invalid_argument{"--accumulate and --period are 1 or more"};
  return options;
}

void report(int epoch, double loss, std::size_t trained, std::size_t correct, std::size_t tested) {
  std::printf("epoch %d: loss %.6f, accuracy %.4f (%zu of %zu)\n", epoch,
              loss / static_cast<double>(trained),
              static_cast<double>(correct) / static_cast<double>(tested), correct, tested);
  std::fflush(stdout);
}

void finish(const Model& model, const Options& options) {
  double sum = 0;
  std::ofstream file;
  if (!options.weights.empty()) file.open(options.weights, std::ios::binary);
  for (const Tensor* tensor : model.tensors()) {
    for (const float value : tensor->values) sum += double{value} * double{value};
    file.write(reinterpret_cast<const char*>(tensor->values.data()),
               static_cast<std::streamsize>(tensor->values.size() * sizeof(float)));
  }
  std::printf("weights: sum of squares %.6f\n", sum);
  if (!options.weights.empty() && !file)
    throw std::runtime_error{"cannot write " + options.weights};
}

}  // namespace digits
