#pragma once
// Jobs of a run as Slurm jobs: arrays, scripts, and answers of Slurm's clients. Layer: matrix.
// Source: the manual pages of sbatch, squeue and sinfo of Slurm 22.05.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "matrix/status.h"

namespace ptpkg::matrix {

/// One sbatch: jobs that ask for the same resources and wait for the same jobs, or each for one task of one
/// array.
struct SlurmBatch {
  std::string name;                                 ///< "1-2": level and number within it.
  std::map<std::uint64_t, std::size_t> tasks = {};  ///< Number of the task → number of the job.
  std::set<std::size_t> needs = {};                 ///< Jobs that all tasks wait for.
  std::string pairs_with =
      {};  ///< Batch whose task of the same number each task waits for as well; "": none.
  Resources resources = {};
  bool after_failures = false;
};

/// The batches of `jobs` (numbers of jobs), each after those that it waits for. Needs outside of `jobs` have
/// passed before, and are left out. An array has at most `most_tasks`.
std::vector<SlurmBatch> SlurmBatches(const JobGraph& graph, const std::set<std::size_t>& jobs,
                                     std::uint64_t most_tasks);

/// `afterok:12_3:13` of a batch; "" if it waits for nothing. `submitted`: Slurm's numbers of the earlier
/// batches, by name.
std::string SlurmDependency(const SlurmBatch& batch, const std::vector<SlurmBatch>& batches,
                            const std::map<std::string, std::string>& submitted);

/// "3,5-7": the tasks.
std::string SlurmArray(const SlurmBatch& batch);

struct SlurmScriptInput {
  AbsPath run = AbsPath::Literal("/nonexistent");  ///< Directory of the run.
  AbsPath index =
      AbsPath::Literal("/nonexistent");  ///< One line for each task: its number, and the id of its job.
  std::string program = {};              ///< Path of ptpkg.
  std::map<std::string, std::string> variables = {};  ///< Environment of the job, besides Slurm's.
};
/// The script of a batch: finds the job by the index file, and runs it. After exit codes 6 and 8 (full disk,
/// network) the task goes back into the queue, twice at most; other failures are final.
std::string SlurmScript(const SlurmScriptInput& input);

/// A line of `squeue -h -r -t all -o kSqueueFormat`.
struct SqueueRow {
  std::string job;     ///< Number of the array, or of a single job.
  std::string task;    ///< "N/A" for a job that is not an array.
  std::string state;   ///< "PENDING"
  std::string reason;  ///< "Dependency"
  std::string node;
  std::string comment;
};
inline constexpr const char* kSqueueFormat = "%F|%K|%T|%r|%N|%k";
/// Lines of another form are left out: clients print warnings among them.
std::vector<SqueueRow> ParseSqueue(const std::string& text);
/// True for a state in which Slurm will still run the job, or does. A word that is not known counts as one.
bool IsLiveSlurmState(const std::string& state);
/// Why Slurm ended a job of `run`, and what to change: "Slurm ended it with TIMEOUT: raise 'minutes' …". ""
/// for a state in which the job ended by itself, or still runs. `state`: its first word counts, as sacct
/// prints "CANCELLED by 1000".
std::string WhySlurmEnded(const AbsPath& run, const std::string& state, const std::string& reason);
/// Before the number of its Slurm job in the name of a worker.
inline constexpr std::string_view kSlurmJobMark = ", Slurm job ";
/// Slurm's number in the worker of an attempt: "12_3" of "host h1, process 5, Slurm job 12_3"; "" without
/// one.
std::string SlurmJobOf(const std::string& worker);
/// States by the job's number, of `sacct -n -X -P -o JobID,State`.
std::map<std::string, std::string> ParseSacct(const std::string& text);
/// `path` as a part of a file name pattern of sbatch, in which '%' is special.
std::string SlurmPattern(const AbsPath& path);

/// A line of `sinfo -h -N -o kSinfoFormat`: a node in a partition.
struct SinfoRow {
  std::string partition;
  bool is_default = false;
  std::uint64_t cores = 0;
  std::uint64_t memory_bytes = 0;
  std::uint64_t gpus = 0;
  std::uint64_t minutes = 0;  ///< Time limit of the partition; 0: none.
};
inline constexpr const char* kSinfoFormat = "%P|%c|%m|%G|%l";
std::vector<SinfoRow> ParseSinfo(const std::string& text);

/// Limit of --time for a job of `minutes`: some more, so that run-node, which knows why, ends the job before
/// Slurm does. No longer than a partition takes that takes `minutes`.
std::uint64_t SlurmMinutes(std::uint64_t minutes, const std::vector<SinfoRow>& nodes,
                           const std::string& partition);

/// Errors: kUnsupported naming the first job that no node of the partition can run, what it asks for, and the
/// most that the partition has; kNotFound for an unknown partition. `partition`: "" is the default
/// one, and "a,b" are two.
Result<void> CheckCluster(const JobGraph& graph, const std::set<std::size_t>& jobs,
                          const std::vector<SinfoRow>& nodes, const std::string& partition);

}  // namespace ptpkg::matrix
