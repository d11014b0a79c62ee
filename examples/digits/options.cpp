#include "options.hpp"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace digits {

namespace {

struct Flag {
  Program program;                              // the first one that takes it
  std::string name, values, meaning, standard;  // standard: the default, as --help prints it
  std::function<bool(const std::string&)> set;  // returns whether the value is good
};

std::string printed(const std::string& value) {
  return value.empty() ? "none" : value;
}

template <class T>
std::string printed(T value) {
  std::array<char, 32> digits{};
  return {digits.data(), std::to_chars(digits.begin(), digits.end(), value).ptr};
}

// A flag whose value is a number, or text. Its default is the current `value`.
template <class T>
Flag flag(Program program, std::string name, std::string values, T& value, std::string meaning) {
  return {program,
          std::move(name),
          std::move(values),
          std::move(meaning),
          printed(value),
          [&value](const std::string& text) {
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

// A flag whose value is one of some words: "a|b". The first one is the default, and is set.
Flag choice(Program program, std::string name, std::string words,
            std::function<void(const std::string&)> set, std::string meaning) {
  const std::string first = words.substr(0, words.find('|'));
  set(first);
  return {program,
          std::move(name),
          words,
          std::move(meaning),
          first,
          [words, set](const std::string& text) {
            if (("|" + words + "|").find("|" + text + "|") == std::string::npos) return false;
            set(text);
            return true;
          }};
}

std::vector<Flag> flags_of(Options& o) {
  constexpr Program all = Program::serial, some = Program::distributed, most = Program::trainer;
  return {
      choice(
          all, "--model", "mlp|cnn",
          [&o](auto& text) {
            o.model = text == "cnn" ? Architecture::convolutional : Architecture::dense;
          },
          "three dense layers, or two convolutions with batch norm"),
      flag(all, "--epochs", "N", o.epochs, "passes over all images"),
      flag(all, "--batch", "N", o.batch, "images of a step, of all ranks together"),
      flag(all, "--train", "N", o.train, "images to train on"),
      flag(all, "--test", "N", o.test, "images to test on after each epoch"),
      flag(all, "--rate", "X", o.rate, "learning rate"),
      flag(all, "--weights", "FILE", o.weights, "where to write the weights at the end"),
      flag(some, "--bucket-bytes", "N", o.bucket_bytes,
           "largest size of a bucket; 0: one for each array"),
      choice(
          some, "--storage", "copies|views", [&o](auto& text) { o.views = text == "views"; },
          "whether buckets are copies of gradients, or gradients lie in them"),
      choice(
          most, "--strategy", "bucketed|per-tensor|flat|negotiated|after|sharded|local-sgd|diloco",
          [&o](auto& text) { o.strategy = text; },
          "how buckets are made; after: no overlap; sharded: each rank updates a part of the "
          "weights; "
          "local-sgd, diloco: weights are exchanged"),
      flag(most, "--compression", "f16|bf16|int8|one_bit|power_sgd|top_k", o.compression,
           "format of gradients on the way; int8:64 and the like are possible"),
      flag(most, "--compression-after", "STEPS", o.compression_after,
           "first steps that are not compressed"),
      flag(most, "--algorithm", "NAME", o.algorithm,
           "algorithm of all_reduce; none: tutti chooses"),
      flag(most, "--settings", "FILE", o.settings, "what tutti gradients --settings wrote"),
      flag(most, "--in-flight", "N", o.in_flight, "most buckets that are reduced at the same time"),
      flag(most, "--accumulate", "N", o.accumulate,
           "parts of a batch whose gradients are added up before they are reduced"),
      flag(most, "--period", "N", o.period,
           "steps between exchanges of weights, of local-sgd and diloco"),
      flag(most, "--outer-rate", "X", o.outer_rate, "learning rate of diloco's outer optimizer"),
      flag(most, "--outer-momentum", "X", o.outer_momentum, "momentum of diloco's outer optimizer"),
      choice(
          most, "--buffers", "mean|broadcast|off", [&o](auto& text) { o.buffers = text; },
          "means and variances of batches: averaged, those of rank 0, or each rank's own"),
      flag(most, "--verify-every", "N", o.verify_every,
           "steps between comparisons of gradients and weights; 0: never"),
      flag(most, "--resync-every", "N", o.resync_every,
           "steps between broadcasts of rank 0's weights; 0: never"),
      choice(
          most, "--check-finite", "off|on", [&o](auto& text) { o.check_finite = text == "on"; },
          "whether gradients that are infinite or not a number make a step void"),
      flag(most, "--clip", "X", o.clip, "largest norm of all gradients together; 0: no limit"),
      flag(most, "--uneven", "N", o.uneven,
           "more images for rank 0 alone, whose steps the others join"),
      flag(most, "--checkpoint", "FILE", o.checkpoint,
           "where to save; an existing file is loaded first"),
      flag(most, "--save-every", "N", o.save_every,
           "steps between saves; 0: only at the end of each epoch"),
      flag(most, "--stop-at", "STEP", o.stop_at,
           "step at which a rank is killed, for tests; 0: none"),
      flag(most, "--stop-rank", "RANK", o.stop_rank, "the rank that --stop-at kills"),
      flag(most, "--trace", "FILE", o.trace, "where to write a trace for ui.perfetto.dev"),
      choice(
          most, "--timeline", "off|on", [&o](auto& text) { o.timeline = text == "on"; },
          "whether to print a picture of each epoch's last step"),
  };
}

void print_help(Program program, const std::vector<Flag>& flags) {
  const char* const example = program == Program::serial        ? "serial"
                              : program == Program::distributed ? "tutti run -n 4 distributed"
                                                                : "tutti run -n 4 trainer";
  std::printf("Trains a network to read digits: %s [FLAG VALUE]...\n\n", example);
  for (const Flag& flag : flags)
    if (flag.program <= program)
      std::printf("  %s %s\n      %s (default: %s)\n", flag.name.c_str(), flag.values.c_str(),
                  flag.meaning.c_str(), flag.standard.c_str());
  std::printf("  --help, -h\n      print this\n");
  if (std::fflush(stdout) != 0) throw std::runtime_error{"cannot write to standard output"};
}

}  // namespace

Options parse(Program program, int count, char** words) {
  Options options;
  std::string usage = "flags:";
  const std::vector<Flag> flags = flags_of(options);
  for (const Flag& flag : flags)
    if (flag.program <= program) usage += " [" + flag.name + " " + flag.values + "]";
  usage += "; --help says what they mean";
  for (int i = 1; i < count; i += 2) {
    if (words[i] == std::string_view{"--help"} || words[i] == std::string_view{"-h"}) {
      print_help(program, flags);
      std::exit(0);
    }
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
