// A user's program before and after `tutti gradients`: user_program --trace FILE writes the times
// of two steps, user_program --load FILE prints the best options.
#include <array>
#include <cstdio>
#include <string>
#include <vector>

#include <tutti/gradient_sync.hpp>
#include <tutti/init.hpp>

namespace {

void write_trace(const std::string& path) {
  tutti::Communicator world = tutti::init();
  std::vector<float> weight(3000, 1);
  std::vector<double> scale(5, 1);
  std::array parameters{tutti::Parameter::of("weight \"0\"", weight),
                        tutti::Parameter::of("scale", scale)};
  parameters[0].rows = 30;
  tutti::GradientSync sync(world, parameters,
                           {.order = tutti::GradientOrder::reversed, .record = 2});
  for (int step = 0; step < 2; ++step) {
    sync.ready(1);
    sync.ready(0);
    sync.wait();
  }
  sync.write_trace(path);
}

void print_options(const std::string& path) {
  const tutti::GradientOptions options = tutti::load_gradient_options(path);
  const bool is_flat = options.bucket_bytes == tutti::GradientOptions::kFlat;
  const std::string bytes = is_flat ? "flat" : std::to_string(options.bucket_bytes);
  std::printf("%s %d %d\n", bytes.c_str(), static_cast<int>(options.storage), options.in_flight);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    if (std::string{argv[1]} == "--trace") write_trace(argv[2]);
    else print_options(argv[2]);
  } catch (const tutti::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
