#pragma once
// Runs work on many items with a bounded number of threads. Layer: support. If the machine refuses more
// threads, fewer do the same work.

#include <cstddef>
#include <functional>
#include <optional>

#include "support/result.h"

namespace ptpkg {

/// Calls `work(i)` for every i in [0, count) on at most `jobs` threads. After the first error no new item is
/// started. Returns the error of the lowest index that fails, whatever the timing; every item below that
/// index has been worked on. `work` can itself call ParallelFor.
Result<void> ParallelFor(int jobs, std::size_t count, const std::function<Result<void>(std::size_t)>& work);

/// An ordered pipeline: `next` (serial) makes tokens until it returns an empty optional, `work`
/// (parallel) transforms them, `done` (serial, in the order of `next`) consumes them. At most
/// `tokens` are alive at once, so memory is tokens × token size.
/// The first error, in token order, stops everything and is returned; `done` has then consumed
/// exactly the tokens before it.
template <class In, class Out>
Result<void> OrderedPipeline(int jobs, std::size_t tokens,
                             const std::function<Result<std::optional<In>>()>& next,
                             const std::function<Result<Out>(In)>& work,
                             const std::function<Result<void>(Out)>& done);

}  // namespace ptpkg

#include "support/process/parallel_impl.h"
