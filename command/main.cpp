// The `tutti` command.
#include <exception>

#include <tutti/error.hpp>

#include "base/crash_frames.hpp"
#include "command/commands.hpp"
#include "perf/dispositions.hpp"
#include "perf/environment.hpp"
#include "perf/failure.hpp"
#include "perf/failure_report.hpp"

int main(int argc, char** argv) {
  using namespace tutti;
  detail::print_frames_of_crashes();
  try {
    perf::set_dispositions();
    return command::run_command(argc, argv);
  } catch (const perf::Failure& failure) {
    return perf::report_on_all("tutti", failure);
  } catch (const Error& error) {
    return perf::report_on_all("tutti", error);
  } catch (const std::exception& error) {
    return perf::report_on_one("tutti", perf::launched_rank(), error);
  }
}
