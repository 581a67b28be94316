#pragma once
// Groups the nodes of a plan into jobs. Layer: matrix.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "graph/plan.h"
#include "support/text/json.h"

namespace ptpkg::matrix {

/// Resources that a job asks of a machine. Defaults of docs/formats/matrix.md.
struct Resources {
  std::uint64_t cores = 1;
  std::uint64_t memory_bytes = 2'000'000'000;
  std::uint64_t disk_bytes = 0;  ///< Space for work directories and results; 0: unknown, not checked.
  std::uint64_t gpus = 0;
  std::uint64_t minutes = 0;  ///< Time limit; 0: none.

  auto operator<=>(const Resources&) const = default;
};

/// Nodes that run on one machine, one after the other.
struct Job {
  std::string id;                       ///< Subject of its build: "toytorch-1.0-py311_0". A file name.
  std::vector<std::string> nodes = {};  ///< Ids, in the plan's order.
  std::set<std::size_t> needs = {};     ///< Numbers of jobs that come earlier and must pass first.
  std::size_t level = 0;                ///< As many jobs as the longest chain before it has.
  Resources resources = {};
  /// It runs although jobs that it needs failed, with the results of the others: the index.
  bool after_failures = false;
  double expected_seconds = 0;                      ///< Time of these nodes in the last run; 0: unknown.
  std::map<std::string, std::string> variant = {};  ///< Keys of the variant and their values.
};

struct JobGraph {
  std::vector<Job> jobs;  ///< Each after the jobs that it needs.

  /// nullptr: there is none.
  [[nodiscard]] const Job* Find(std::string_view id) const;
  [[nodiscard]] std::size_t LevelCount() const;
};

enum class Publishing : std::uint8_t {
  kInEachJob,  ///< The job that builds a variant publishes it.
  kInLastJob,  ///< The last job publishes all variants: for machines without a shared directory.
};

/// One job for each build, with all nodes that pack, check, test and publish its files; and one for the
/// index. A node joins the last of the jobs whose results it needs, so no two jobs wait for each other. Ids
/// are the same for equal plans. REQUIRES: CheckPlan(plan).
JobGraph GroupNodes(const graph::Plan& plan, Publishing publishing);

/// {"id", "nodes", "needs": [ids], "level", "resources", "after_failures", "expected_seconds", "variant"}.
Json JobsToJson(const JobGraph& graph);
/// Errors: kInvalidInput naming `where`.
Result<JobGraph> JobsFromJson(const Json& json, std::string_view where);

Json ResourcesToJson(const Resources& resources);

}  // namespace ptpkg::matrix
