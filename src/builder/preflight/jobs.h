#pragma once
// Chooses the number of parallel jobs for a build script. Layer: builder.

#include <cstdint>
#include <string>

#include "recipe/recipe.h"
#include "support/env.h"
#include "support/process/machine.h"

namespace ptpkg::builder {

/// Bytes that one compiler of this recipe needs at its worst: `named` (extra.ptpkg.memory_per_job) if it is
/// not 0, else by the dearest compiler in requirements.build: 3 GB for CUDA and HIP, 1.5 GB for C++ and Rust,
/// 0.5 GB for C and Fortran; 0, unknown, without one.
std::uint64_t MemoryPerJob(const recipe::Recipe& recipe, std::uint64_t named);

struct JobRequest {
  int granted = 1;     ///< Env::jobs: this node's part.
  int of_run = 1;      ///< Env::jobs_of_run.
  bool given = false;  ///< Env::jobs_given.
  std::uint64_t bytes_per_job = 0;
  MachineLimits machine = {};
};

struct JobChoice {
  int jobs = 1;
  std::string told;              ///< "6 jobs: 8 cores, memory for 6".
  std::string warning = {};      ///< Warns that the user's number may need more memory than there is; or "".
  std::uint64_t free_bytes = 0;  ///< Memory that they share, of this node's part of the run; 0 = not known.
};

/// Chooses the granted number, but no more than fit the free memory, of machine and control groups;
/// memory is divided among nodes that run side by side as jobs are. A number that the user gave is kept.
JobChoice ChooseJobs(const JobRequest& request);

/// For this moment of this machine.
JobChoice ChooseJobs(Env& env, std::uint64_t bytes_per_job);

}  // namespace ptpkg::builder
