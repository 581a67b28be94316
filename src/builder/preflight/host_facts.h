#pragma once
// Collects host facts for the preflight rules. Layer: builder.

#include <map>
#include <string>

#include "recipe/document/value.h"
#include "support/env.h"

namespace ptpkg::builder {

/// Name → value, as a rule's expressions see them. An unknown fact has no value.
using Facts = std::map<std::string, recipe::Value>;

/// With one digit, as people compare it.
recipe::Value InGiB(std::uint64_t bytes);

/// - cores: available to this process, control groups counted
/// - memory_gib: free, in GiB with one digit; memory_of_group: a control group leaves less than the machine
///   has
/// - cache, free_disk_gib: the cache's directory, and the free space of its file system
/// - caller_variables: names of the environment variables that are set
/// - shadowing_libraries: CUDA's, cuDNN's, NCCL's and the C++ run-time libraries in directories of
///   LD_LIBRARY_PATH
/// - driver: NVIDIA's kernel driver, "580.65.06"; gpus: the compute capability of each GPU, "9.0"
/// - stub_library: the toolkit's stub of libcuda in a directory of LD_LIBRARY_PATH
/// - compatibility_driver: a libcuda.so.1 of cuda-compat in a directory of LD_LIBRARY_PATH
///
/// Takes milliseconds, and nvidia-smi's time if there is a GPU, 2 s at most. An unreadable fact is unknown.
/// Errors: kCancelled.
Result<Facts> ReadMachineFacts(Env& env);

}  // namespace ptpkg::builder
