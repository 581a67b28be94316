// A job is a unit that people look for in a queue: one build with everything that follows from it. A node of
// its own for each pack and check would cost a scheduler a second for work of a second.
//
// Jobs are numbered in the order of their first node. A node without a job of its own joins the highest
// number among its predecessors, so an edge always leads from a lower number to a higher one: the graph of
// jobs has no circle, whatever the plan looks like.

#include "matrix/job_graph.h"

#include <algorithm>
#include <fmt/core.h>
#include <optional>
#include <utility>

#include "support/text/text.h"

namespace ptpkg::matrix {

namespace {

constexpr std::string_view kIndexStage = "index";
constexpr std::string_view kPublishStage = "publish";
constexpr const char* kLastJob = "publish";

std::uint64_t NumberOption(const graph::Node& node, const std::string& name, std::uint64_t fallback) {
  const auto option = node.options.find(name);
  return option == node.options.end() ? fallback : ParseBytes(option->second).value_or(fallback);
}

/// A build without a number of cores gets four: enough for its compilers, and small enough for every site.
Resources ResourcesOf(const graph::Node& node) {
  constexpr std::uint64_t kCores = 4;
  constexpr std::uint64_t kMemoryPerCore = 2'000'000'000;
  Resources resources;
  if (node.stage != "build") return resources;
  resources.cores = NumberOption(node, "cores", kCores);
  const std::uint64_t per_core = NumberOption(node, "memory-per-job", kMemoryPerCore);
  resources.memory_bytes = NumberOption(node, "memory", resources.cores * per_core);
  resources.disk_bytes = NumberOption(node, "disk", 0);
  resources.gpus = NumberOption(node, "gpus", 0);
  resources.minutes = NumberOption(node, "minutes", 0);
  return resources;
}

std::map<std::string, std::string> VariantOf(const graph::Node& node) {
  std::map<std::string, std::string> variant;
  const auto recipe = node.inputs.find("recipe");
  if (recipe == node.inputs.end() || !recipe->is_object()) return variant;
  const auto values = recipe->find("variant");
  if (values == recipe->end() || !values->is_object()) return variant;
  for (const auto& [key, value] : values->items()) {
    if (value.is_string()) variant.emplace(key, value.get<std::string>());
  }
  return variant;
}

class Grouping {
 public:
  explicit Grouping(Publishing publishing) : publishing_(publishing) {}

  void Add(const graph::Node& node) {
    const std::set<std::size_t> before = JobsBefore(node);
    const std::size_t number = NumberFor(node, before);
    Job& job = graph_.jobs[number];
    job.nodes.push_back(node.id);
    job_of_.emplace(node.id, number);
    for (const std::size_t earlier : before) {
      if (earlier != number) job.needs.insert(earlier);
    }
  }

  JobGraph Finish() {
    for (Job& job : graph_.jobs) {
      for (const std::size_t need : job.needs) job.level = std::max(job.level, graph_.jobs[need].level + 1);
    }
    return std::move(graph_);
  }

 private:
  [[nodiscard]] std::set<std::size_t> JobsBefore(const graph::Node& node) const {
    std::set<std::size_t> jobs;
    for (const auto& [role, id] : node.needs) jobs.insert(job_of_.at(id));
    for (const std::string& id : node.after) jobs.insert(job_of_.at(id));
    return jobs;
  }

  std::size_t NumberFor(const graph::Node& node, const std::set<std::size_t>& before) {
    const bool last =
        node.stage == kIndexStage || (node.stage == kPublishStage && publishing_ == Publishing::kInLastJob);
    if (last) {
      if (!last_job_) {
        last_job_ = NewJob(node, publishing_ == Publishing::kInLastJob ? kLastJob : "index");
        graph_.jobs.back().after_failures = publishing_ == Publishing::kInEachJob;
      }
      return *last_job_;
    }
    if (node.stage == "build" || before.empty()) return NewJob(node, node.subject);
    return *before.rbegin();
  }

  std::size_t NewJob(const graph::Node& node, const std::string& name) {
    std::string id = name;
    for (int number = 2; !ids_.insert(id).second; ++number) id = fmt::format("{}.{}", name, number);
    graph_.jobs.push_back({.id = id, .resources = ResourcesOf(node), .variant = VariantOf(node)});
    return graph_.jobs.size() - 1;
  }

  Publishing publishing_;
  JobGraph graph_;
  std::map<std::string, std::size_t> job_of_;  // by the node's id
  std::set<std::string> ids_;
  std::optional<std::size_t> last_job_;
};

/// The plan's nodes with publications and indexes at the end: none but those need them.
std::vector<const graph::Node*> InOrder(const graph::Plan& plan, Publishing publishing) {
  std::vector<const graph::Node*> nodes;
  for (const graph::Node& node : plan.nodes) nodes.push_back(&node);
  if (publishing == Publishing::kInEachJob) return nodes;
  std::stable_partition(nodes.begin(), nodes.end(), [](const graph::Node* node) {
    return node->stage != kPublishStage && node->stage != kIndexStage;
  });
  return nodes;
}

Result<std::uint64_t> Count(const Json& json, const std::string& key, std::string_view where) {
  PTPKG_TRY(const std::int64_t number, JsonInteger(json, key, where));
  if (number >= 0) return static_cast<std::uint64_t>(number);
  return Error(ErrorCode::kInvalidInput, fmt::format("'{}' of {} is negative", key, where));
}

Result<Resources> ResourcesFromJson(const Json& json, std::string_view where) {
  Resources resources;
  PTPKG_TRY(resources.cores, Count(json, "cores", where));
  PTPKG_TRY(resources.memory_bytes, Count(json, "memory_bytes", where));
  PTPKG_TRY(resources.disk_bytes, Count(json, "disk_bytes", where));
  PTPKG_TRY(resources.gpus, Count(json, "gpus", where));
  PTPKG_TRY(resources.minutes, Count(json, "minutes", where));
  return resources;
}

Result<Job> JobFromJson(const Json& json, const JobGraph& earlier, std::string_view where) {
  Job job;
  PTPKG_TRY(job.id, JsonString(json, "id", where));
  PTPKG_TRY(job.nodes, JsonStringsOr(json, "nodes", {}, where));
  PTPKG_TRY(const std::vector<std::string> needs, JsonStringsOr(json, "needs", {}, where));
  for (const std::string& id : needs) {
    const Job* need = earlier.Find(id);
    if (need == nullptr)
      return Error(ErrorCode::kInvalidInput, fmt::format("job '{}' of {} needs '{}'", job.id, where, id));
    job.needs.insert(static_cast<std::size_t>(need - earlier.jobs.data()));
    job.level = std::max(job.level, need->level + 1);
  }
  PTPKG_TRY(job.resources, ResourcesFromJson(json.value("resources", Json::object()), where));
  job.after_failures = json.value("after_failures", Json(false)) == true;
  const Json seconds = json.value("expected_seconds", Json(0));
  if (seconds.is_number()) job.expected_seconds = seconds.get<double>();
  const Json variant = json.value("variant", Json::object());
  for (const auto& [key, value] : variant.items()) {
    if (value.is_string()) job.variant.emplace(key, value.get<std::string>());
  }
  return job;
}

}  // namespace

const Job* JobGraph::Find(std::string_view id) const {
  const auto found = std::find_if(jobs.begin(), jobs.end(), [&](const Job& job) { return job.id == id; });
  return found == jobs.end() ? nullptr : &*found;
}

std::size_t JobGraph::LevelCount() const {
  std::size_t count = 0;
  for (const Job& job : jobs) count = std::max(count, job.level + 1);
  return count;
}

JobGraph GroupNodes(const graph::Plan& plan, Publishing publishing) {
  Grouping grouping(publishing);
  for (const graph::Node* node : InOrder(plan, publishing)) grouping.Add(*node);
  return grouping.Finish();
}

Json ResourcesToJson(const Resources& resources) {
  return {{"cores", resources.cores},
          {"memory_bytes", resources.memory_bytes},
          {"disk_bytes", resources.disk_bytes},
          {"gpus", resources.gpus},
          {"minutes", resources.minutes}};
}

Json JobsToJson(const JobGraph& graph) {
  Json list = Json::array();
  for (const Job& job : graph.jobs) {
    Json needs = Json::array();
    for (const std::size_t need : job.needs) needs.push_back(graph.jobs[need].id);
    list.push_back({{"id", job.id},
                    {"nodes", job.nodes},
                    {"needs", needs},
                    {"level", job.level},
                    {"resources", ResourcesToJson(job.resources)},
                    {"after_failures", job.after_failures},
                    {"expected_seconds", job.expected_seconds},
                    {"variant", job.variant}});
  }
  return list;
}

Result<JobGraph> JobsFromJson(const Json& json, std::string_view where) {
  JobGraph graph;
  if (!json.is_array())
    return Error(ErrorCode::kInvalidInput, fmt::format("'jobs' of {} is not a list", where));
  for (const Json& item : json) {
    if (!item.is_object())
      return Error(ErrorCode::kInvalidInput, fmt::format("a job of {} is not an object", where));
    PTPKG_TRY(Job job, JobFromJson(item, graph, where));
    graph.jobs.push_back(std::move(job));
  }
  return graph;
}

}  // namespace ptpkg::matrix
