// How many compilers may run at once? With one too many, memory runs out and the kernel kills a process after
// hours. One too few only costs time. So a build gets the granted jobs, or fewer if they don't fit the free
// memory at the worst case per compiler.
//
// Free memory is the machine's or the control group's, whichever is smaller. Builds that run side by side
// share it in the proportion of their jobs. A number given with --jobs is kept, with a warning.
//
// The worst case is measured, see below. A project that needs more states it in `memory_per_job`. The number
// of jobs is in no key and must not change the result.

#include "builder/preflight/jobs.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <string_view>

#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

struct CompilerNeed {
  std::string_view name;  // a requirement of this name, or of this name and a platform
  std::uint64_t bytes;
};

// Peak resident memory of one process. C++: 1.4 GB over 107 objects of torch_cpu. CUDA: 1.4 GB for one
// architecture and 3 to 5 GB for the lists that are released (pytorch#108174; flash attention 4.5 GB,
// pytorch#124018: its recipe has to say so). C: far below 0.5 GB in the same trees.
constexpr std::uint64_t kCuda = 3'000'000'000;
constexpr std::uint64_t kCxx = 1'500'000'000;
constexpr std::uint64_t kC = 500'000'000;
constexpr auto kNeeds = std::to_array<CompilerNeed>({{"cuda-nvcc", kCuda},
                                                     {"cuda-compiler", kCuda},
                                                     {"cuda", kCuda},
                                                     {"nvcc", kCuda},
                                                     {"hip", kCuda},
                                                     {"hipcc", kCuda},
                                                     {"gxx", kCxx},
                                                     {"clangxx", kCxx},
                                                     {"cxx-compiler", kCxx},
                                                     {"rust", kCxx},
                                                     {"gcc", kC},
                                                     {"clang", kC},
                                                     {"c-compiler", kC},
                                                     {"gfortran", kC},
                                                     {"fortran-compiler", kC}});

std::uint64_t NeedOf(std::string_view requirement) {
  if (const std::size_t platform = requirement.find("_linux-"); platform != std::string_view::npos)
    requirement = requirement.substr(0, platform);
  for (const CompilerNeed& need : kNeeds) {
    if (need.name == requirement) return need.bytes;
  }
  return 0;
}

std::string Cores(const MachineLimits& machine) {
  const int usable = CoresOf(machine);
  if (usable < machine.cores)
    return fmt::format("{} of {}, limited by the cgroup", usable,
                       Plural(static_cast<std::uint64_t>(machine.cores), "core"));
  return Plural(static_cast<std::uint64_t>(machine.cores), "core");
}

/// Free for builds; 0 = not known. `of_group` tells which limit it is.
std::uint64_t FreeBytes(const MachineLimits& machine, bool& of_group) {
  of_group =
      machine.group_free_bytes && (!machine.free_bytes || *machine.group_free_bytes < *machine.free_bytes);
  if (of_group) return *machine.group_free_bytes;
  return machine.free_bytes.value_or(0);
}

}  // namespace

std::uint64_t MemoryPerJob(const recipe::Recipe& recipe, std::uint64_t named) {
  if (named > 0) return named;
  std::uint64_t most = 0;
  for (const recipe::MatchSpec& spec : recipe.requirements.build) most = std::max(most, NeedOf(spec.name));
  return most;
}

JobChoice ChooseJobs(const JobRequest& request) {
  bool of_group = false;
  const std::uint64_t all_free = FreeBytes(request.machine, of_group);
  const int of_run = std::max(request.of_run, request.granted);
  // Divided first: the product of bytes and jobs may be too large.
  const std::uint64_t free =
      all_free / static_cast<std::uint64_t>(of_run) * static_cast<std::uint64_t>(request.granted);
  JobChoice choice{.jobs = std::max(1, request.granted), .told = "", .free_bytes = free};
  std::string memory;
  if (request.bytes_per_job > 0 && all_free > 0) {
    constexpr std::uint64_t kMost = 4096;  // more than any machine has cores
    const auto fit = static_cast<int>(std::min(free / request.bytes_per_job, kMost));
    memory = fmt::format("memory for {}{}", fit, of_group ? ", limited by the cgroup" : "");
    if (fit < choice.jobs && request.given) {
      choice.warning = fmt::format("{} of {} each can need more than the {} of free memory{}: use --jobs {}",
                                   Plural(static_cast<std::uint64_t>(choice.jobs), "job"),
                                   HumanBytes(request.bytes_per_job), HumanBytes(free),
                                   of_group ? " in the cgroup" : "", std::max(1, fit));
    } else if (fit < choice.jobs) {
      choice.jobs = std::max(1, fit);
    }
  }
  choice.told = fmt::format("{}: {}", Plural(static_cast<std::uint64_t>(choice.jobs), "job"),
                            request.given ? fmt::format("--jobs {}", of_run) : Cores(request.machine));
  if (request.granted < of_run) choice.told += fmt::format(", {} for this build", request.granted);
  if (!memory.empty() && !request.given) choice.told += ", " + memory;
  return choice;
}

JobChoice ChooseJobs(Env& env, std::uint64_t bytes_per_job) {
  return ChooseJobs({.granted = env.jobs,
                     .of_run = std::max(env.jobs, env.jobs_of_run),
                     .given = env.jobs_given,
                     .bytes_per_job = bytes_per_job,
                     .machine = ReadMachineLimits(env.fs)});
}

}  // namespace ptpkg::builder
