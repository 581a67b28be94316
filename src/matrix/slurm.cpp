// Arrays keep a queue readable and cost one call for many jobs. Tasks of one array have the same resources.
// They wait either for the same jobs (afterok), or besides these each for one task of one earlier array
// (aftercorr). aftercorr pairs tasks of equal numbers, so such a task takes the number of the task that it
// waits for.
//
// Jobs are put together in the order of the graph, level by level, by a text that holds their resources and
// needs. A job whose needs cannot be told by either form is a batch of its own, which names single tasks.

#include "matrix/slurm.h"

#include <algorithm>
#include <charconv>
#include <fmt/core.h>
#include <tuple>

#include "support/process/process.h"
#include "support/text/text.h"

namespace ptpkg::matrix {

namespace {

constexpr std::string_view kScriptBody =
    R"(unset SLURM_JWT  # the token of the submission
job=$(awk -v task="${SLURM_ARRAY_TASK_ID:-0}" '$1 == task { print $2 }' "$index")
"$ptpkg" run-node "$run" "$job" --jobs "${SLURM_CPUS_PER_TASK:-1}" --no-config --log-format plain >> "$run/jobs/$job/log" 2>&1 &
worker=$!
# Slurm signals all processes of a job. A second signal, from here, would end the worker before it records why.
trap : TERM INT
while wait $worker; code=$?; kill -0 $worker 2> /dev/null; do :; done
wait $worker 2> /dev/null
again=$?
if [ $again != 127 ]; then code=$again; fi
# A full disk and the network may be better later or elsewhere; any other failure would come again.
if { [ $code = 6 ] || [ $code = 8 ]; } && [ "${SLURM_RESTART_COUNT:-0}" -lt 2 ]; then
  scontrol requeue "$SLURM_JOB_ID"
fi
exit $code
)";

/// The place of each job that has a batch.
using Places = std::map<std::size_t, std::pair<std::size_t, std::uint64_t>>;  // job → batch, task

class Batching {
 public:
  Batching(const JobGraph& graph, const std::set<std::size_t>& jobs, std::uint64_t most_tasks)
      : graph_(graph), jobs_(jobs), most_tasks_(most_tasks) {}

  std::vector<SlurmBatch> Make() {
    for (std::size_t level = 0; level < graph_.LevelCount(); ++level) {
      open_.clear();
      std::size_t number = 0;
      for (const std::size_t job : jobs_) {
        if (graph_.jobs[job].level == level) Put(job, level, number);
      }
    }
    return std::move(batches_);
  }

 private:
  using Key = std::tuple<Resources, bool, std::set<std::size_t>, std::string>;

  void Put(std::size_t job, std::size_t level, std::size_t& number) {
    std::set<std::size_t> needs;
    std::set_intersection(graph_.jobs[job].needs.begin(), graph_.jobs[job].needs.end(), jobs_.begin(),
                          jobs_.end(), std::inserter(needs, needs.end()));
    const Resources& resources = graph_.jobs[job].resources;
    const bool after_failures = graph_.jobs[job].after_failures;
    // The need that differs from job to job: the last one, if its array has other jobs after it.
    std::string pairs_with;
    std::optional<std::uint64_t> task;
    if (!needs.empty() && !after_failures) {
      const auto& [batch, its_task] = places_.at(*needs.rbegin());
      if (batches_[batch].tasks.size() > 1 && WaitsInPairs(level, batch)) {
        pairs_with = batches_[batch].name;
        task = its_task;
        needs.erase(std::prev(needs.end()));
      }
    }
    const Key key(resources, after_failures, needs, pairs_with);
    const auto found = open_.find(key);
    const bool fits = found != open_.end() && batches_[found->second].tasks.size() < most_tasks_ &&
                      (!task || !batches_[found->second].tasks.contains(*task));
    if (!fits) {
      batches_.push_back({.name = fmt::format("{}-{}", level + 1, ++number),
                          .needs = needs,
                          .pairs_with = pairs_with,
                          .resources = resources,
                          .after_failures = after_failures});
      open_[key] = batches_.size() - 1;
    }
    const std::size_t batch = open_.at(key);
    SlurmBatch& taken = batches_[batch];
    const std::uint64_t number_of_task = task.value_or(taken.tasks.size());
    taken.tasks.emplace(number_of_task, job);
    places_[job] = {batch, number_of_task};
  }

  /// True if jobs of `level` wait for different tasks of that batch, one each.
  [[nodiscard]] bool WaitsInPairs(std::size_t level, std::size_t batch) const {
    std::set<std::size_t> waited;
    for (const std::size_t job : jobs_) {
      if (graph_.jobs[job].level != level) continue;
      std::size_t in_batch = 0;
      for (const std::size_t need : graph_.jobs[job].needs) {
        const auto place = places_.find(need);
        if (place == places_.end() || place->second.first != batch) continue;
        ++in_batch;
        if (!waited.insert(need).second) return false;
      }
      if (in_batch > 1) return false;
    }
    return waited.size() > 1;
  }

  const JobGraph& graph_;
  const std::set<std::size_t>& jobs_;
  std::uint64_t most_tasks_;
  std::vector<SlurmBatch> batches_;
  Places places_;
  std::map<Key, std::size_t> open_;
};

std::uint64_t NumberIn(std::string_view text) {
  std::uint64_t number = 0;
  const auto digits = std::find_if(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  const char* const begin = text.data() + (digits - text.begin());
  std::from_chars(begin, text.data() + text.size(), number);
  return number;
}

/// "1-02:00:00", "30:00", "infinite": minutes; 0: no limit.
std::uint64_t MinutesOf(const std::string& text) {
  constexpr std::uint64_t kDay = 24;
  constexpr std::uint64_t kSixty = 60;
  if (text.find_first_of("0123456789") == std::string::npos) return 0;
  const std::size_t dash = text.find('-');
  const std::uint64_t days = dash == std::string::npos ? 0 : NumberIn(text.substr(0, dash));
  const std::vector<std::string> parts = Split(dash == std::string::npos ? text : text.substr(dash + 1), ':');
  std::uint64_t seconds = 0;
  for (const std::string& part : parts) seconds = seconds * kSixty + NumberIn(part);
  return days * kDay * kSixty + seconds / kSixty;
}

/// GPUs of "gpu:a100:4(S:0-1),shard:8".
std::uint64_t GpusOf(const std::string& gres) {
  std::uint64_t gpus = 0;
  for (const std::string& part : Split(gres, ',')) {
    if (!part.starts_with("gpu")) continue;
    const std::vector<std::string> words = Split(part.substr(0, part.find('(')), ':');
    gpus += words.size() > 1 ? std::max<std::uint64_t>(1, NumberIn(words.back())) : 1;
  }
  return gpus;
}

/// The nodes of a partition, of several ("a,b"), or of the default one ("").
std::vector<SinfoRow> InPartition(const std::vector<SinfoRow>& nodes, const std::string& partition) {
  const std::vector<std::string> names = Split(partition, ',');
  std::vector<SinfoRow> chosen;
  for (const SinfoRow& node : nodes) {
    const bool named = std::find(names.begin(), names.end(), node.partition) != names.end();
    if (partition.empty() ? node.is_default : named) chosen.push_back(node);
  }
  return chosen;
}

/// `words`: " COMPLETED FAILED ".
bool HasWord(std::string_view words, const std::string& word) {
  return words.find(" " + word + " ") != std::string_view::npos;
}

}  // namespace

std::vector<SlurmBatch> SlurmBatches(const JobGraph& graph, const std::set<std::size_t>& jobs,
                                     std::uint64_t most_tasks) {
  return Batching(graph, jobs, most_tasks).Make();
}

std::string SlurmDependency(const SlurmBatch& batch, const std::vector<SlurmBatch>& batches,
                            const std::map<std::string, std::string>& submitted) {
  std::vector<std::string> ids;
  for (const SlurmBatch& earlier : batches) {
    std::vector<std::string> tasks;
    for (const auto& [task, job] : earlier.tasks) {
      if (batch.needs.contains(job)) tasks.push_back(fmt::format("{}_{}", submitted.at(earlier.name), task));
    }
    if (tasks.size() == earlier.tasks.size()) tasks = {submitted.at(earlier.name)};
    ids.insert(ids.end(), tasks.begin(), tasks.end());
  }
  std::vector<std::string> parts;
  if (!ids.empty())
    parts.push_back(fmt::format("{}:{}", batch.after_failures ? "afterany" : "afterok", Join(ids, ":")));
  if (!batch.pairs_with.empty()) parts.push_back(fmt::format("aftercorr:{}", submitted.at(batch.pairs_with)));
  return Join(parts, ",");
}

std::string SlurmArray(const SlurmBatch& batch) {
  std::vector<std::string> parts;
  for (auto item = batch.tasks.begin(); item != batch.tasks.end();) {
    const std::uint64_t first = item->first;
    std::uint64_t last = first;
    for (++item; item != batch.tasks.end() && item->first == last + 1; ++item) ++last;
    parts.push_back(first == last ? std::to_string(first) : fmt::format("{}-{}", first, last));
  }
  return Join(parts, ",");
}

std::string SlurmScript(const SlurmScriptInput& input) {
  std::string text = "#!/bin/bash\n# Written by 'ptpkg matrix'.\n";
  for (const auto& [name, value] : input.variables)
    text += fmt::format("export {}={}\n", name, ShellQuote({value}));
  text += fmt::format("run={}\nindex={}\nptpkg={}\n", ShellQuote({input.run.str()}),
                      ShellQuote({input.index.str()}), ShellQuote({input.program}));
  // No value of a recipe is part of the script: it finds the job's id in the index file.
  return text.append(kScriptBody);
}

std::vector<SqueueRow> ParseSqueue(const std::string& text) {
  constexpr std::size_t kFields = 6;
  std::vector<SqueueRow> rows;
  for (const std::string& line : SplitLines(text)) {
    const std::vector<std::string> words = Split(line, '|');
    if (words.size() != kFields) continue;
    rows.push_back({words[0], words[1], words[2], words[3], words[4], words[5]});
  }
  return rows;
}

bool IsLiveSlurmState(const std::string& state) {
  constexpr std::string_view kFinal =
      " COMPLETED FAILED CANCELLED TIMEOUT NODE_FAIL OUT_OF_MEMORY PREEMPTED BOOT_FAIL DEADLINE REVOKED ";
  return !HasWord(kFinal, state);
}

std::string WhySlurmEnded(const AbsPath& run, const std::string& state, const std::string& reason) {
  const std::string word = state.substr(0, state.find(' '));
  const auto ended = [&](const std::string& what_to_do) {
    return fmt::format("Slurm ended it with {}: {}", word, what_to_do);
  };
  const auto raise = [&](const char* key) {
    return ended(fmt::format("raise '{}' in extra.ptpkg.resources of its recipe, and start a new run", key));
  };
  const std::string resume = fmt::format("'ptpkg matrix resume {}'", ShellQuote({run.str()}));
  if (reason == "DependencyNeverSatisfied") return "Slurm withdrew it: a job that it needs has not passed";
  if (HasWord(" TIMEOUT ", word)) return raise("minutes");
  if (HasWord(" OUT_OF_MEMORY ", word)) return raise("memory");
  if (HasWord(" DEADLINE ", word)) return ended("remove the deadline of --sbatch, and start a new run");
  if (HasWord(" NODE_FAIL BOOT_FAIL ", word)) return ended("its machine failed; continue with " + resume);
  if (HasWord(" PREEMPTED ", word)) return ended("another job took its machine; continue with " + resume);
  if (HasWord(" CANCELLED REVOKED ", word)) return ended("it was withdrawn; continue with " + resume);
  return "";
}

std::string SlurmJobOf(const std::string& worker) {
  const std::size_t at = worker.rfind(kSlurmJobMark);
  const std::string id = at == std::string::npos ? "" : worker.substr(at + kSlurmJobMark.size());
  return id.find_first_not_of("0123456789_") == std::string::npos ? id : "";
}

std::map<std::string, std::string> ParseSacct(const std::string& text) {
  std::map<std::string, std::string> states;
  for (const std::string& line : SplitLines(text)) {
    const std::vector<std::string> words = Split(line, '|');
    if (words.size() == 2) states.insert_or_assign(words[0], words[1]);
  }
  return states;
}

std::string SlurmPattern(const AbsPath& path) { return ReplaceAll(path.str(), "%", "%%"); }

std::vector<SinfoRow> ParseSinfo(const std::string& text) {
  constexpr std::size_t kFields = 5;
  constexpr std::uint64_t kMegabyte = 1U << 20U;
  std::vector<SinfoRow> rows;
  for (const std::string& line : SplitLines(text)) {
    const std::vector<std::string> words = Split(line, '|');
    if (words.size() != kFields) continue;
    SinfoRow row{.partition = words[0], .is_default = words[0].ends_with('*')};
    if (row.is_default) row.partition.pop_back();
    row.cores = NumberIn(words[1]);
    row.memory_bytes = NumberIn(words[2]) * kMegabyte;
    row.gpus = GpusOf(words[3]);
    row.minutes = MinutesOf(words[4]);
    rows.push_back(row);
  }
  return rows;
}

std::uint64_t SlurmMinutes(std::uint64_t minutes, const std::vector<SinfoRow>& nodes,
                           const std::string& partition) {
  constexpr std::uint64_t kMargin = 5;  // the start of the job, and the lease of an attempt before it
  std::uint64_t most = minutes + kMargin;
  for (const SinfoRow& node : InPartition(nodes, partition)) {
    if (node.minutes >= minutes) most = std::min(most, node.minutes);
  }
  return most;
}

Result<void> CheckCluster(const JobGraph& graph, const std::set<std::size_t>& jobs,
                          const std::vector<SinfoRow>& nodes, const std::string& partition) {
  const std::vector<SinfoRow> fitting = InPartition(nodes, partition);
  std::set<std::string> names;
  for (const SinfoRow& node : nodes) names.insert(node.partition);
  const std::vector<std::string> list(names.begin(), names.end());
  if (fitting.empty()) {
    return Error(ErrorCode::kNotFound, partition.empty()
                                           ? "the cluster has no default partition"
                                           : fmt::format("the cluster has no partition '{}'", partition))
        .WithHint(fmt::format("choose one with --partition: {}", Join(list, ", ")));
  }
  SinfoRow most;
  for (const SinfoRow& node : fitting) {
    most.cores = std::max(most.cores, node.cores);
    most.memory_bytes = std::max(most.memory_bytes, node.memory_bytes);
    most.gpus = std::max(most.gpus, node.gpus);
    most.minutes = node.minutes;
  }
  for (const std::size_t number : jobs) {
    const Job& job = graph.jobs[number];
    const Resources& asked = job.resources;
    const bool can = std::any_of(fitting.begin(), fitting.end(), [&](const SinfoRow& node) {
      return asked.cores <= node.cores && asked.memory_bytes <= node.memory_bytes &&
             asked.gpus <= node.gpus && (node.minutes == 0 || asked.minutes <= node.minutes);
    });
    if (can) continue;
    const std::string limit = most.minutes == 0 ? "" : fmt::format(" for {} min", most.minutes);
    return Error(ErrorCode::kUnsupported,
                 fmt::format("job '{}' asks for {} cores, {}, {} GPUs{}, but partition '{}' has at most {} "
                             "cores, {}, {} GPUs{}",
                             job.id, asked.cores, HumanBytes(asked.memory_bytes), asked.gpus,
                             asked.minutes == 0 ? "" : fmt::format(" for {} min", asked.minutes),
                             fitting.front().partition, most.cores, HumanBytes(most.memory_bytes), most.gpus,
                             limit))
        .WithHint("set extra.ptpkg.resources of its recipe, or choose another partition with --partition");
  }
  return Ok();
}

}  // namespace ptpkg::matrix
