#pragma once
// Records how one attempt of a job ended. Layer: matrix.

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "graph/stage.h"
#include "support/text/json.h"

namespace ptpkg::matrix {

enum class JobEnd : std::uint8_t {
  kPassed,
  kFailed,   ///< For its own reason: running it again would fail again.
  kStopped,  ///< By a signal, a cancelled run, a lost lease, a full disk or the network.
  kFenced,   ///< Another attempt has taken its place, because it showed no progress.
};

std::string_view JobEndName(JobEnd end);  ///< "passed", "failed", "stopped", "fenced".

/// One node of the job.
struct NodeRecord {
  std::string id;
  std::string key;
  std::string state;         ///< "ran", "cached", "failed", "not reached", "not needed".
  std::string reason = {};   ///< Why it ran or did not.
  double begin_seconds = 0;  ///< After the start of the attempt.
  double seconds = 0;
  std::string digest = {};  ///< DigestOfResult; "" without a result.
};

struct JobRecord {
  JobEnd end = JobEnd::kPassed;
  std::int64_t started_s = 0;   ///< Unix time by the worker's clock. Only for people: no decision reads it.
  double seconds = 0;           ///< By the worker's monotonic clock.
  std::string error = {};       ///< Message and hint of the failure.
  std::string error_code = {};  ///< ErrorCodeName of the failure.
  std::vector<NodeRecord> nodes = {};
  std::map<std::string, std::string> inputs = {};  ///< Digests of the results of other jobs, by node.

  /// nullptr: the record has no such node.
  [[nodiscard]] const NodeRecord* Find(std::string_view id) const;
  /// True if no node of a passed job had to run.
  [[nodiscard]] bool IsCached() const;
};

Json JobRecordToJson(const JobRecord& record);
/// Errors: kInvalidInput naming `where`.
Result<JobRecord> JobRecordFromJson(const Json& json, std::string_view where);

/// Digest of the content that other nodes read of a result, wherever its files are: of its artifacts, else of
/// its value and files. A result without files is an approval, which its key alone describes.
std::string DigestOfResult(const graph::NodeResult& result);

}  // namespace ptpkg::matrix
