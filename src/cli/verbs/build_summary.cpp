#include "cli/verbs/build_summary.h"

#include <algorithm>
#include <fmt/core.h>
#include <map>

#include "cli/output/findings.h"
#include "cli/output/progress_text.h"
#include "cli/output/task_table.h"
#include "support/text/plural.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

/// A dry run marks such stages by their reason alone: `ran` is false for all of its stages.
bool WouldRun(const StageTime& stage) { return !stage.ran && stage.reason.starts_with("would run"); }

/// "3.1 MB, 28% of 11.2 MB unpacked"
std::string Sizes(const std::vector<ArtifactRecord>& artifacts) {
  std::uint64_t packed = 0;
  std::uint64_t unpacked = 0;
  bool known = true;
  for (const ArtifactRecord& record : artifacts) {
    packed += record.size_bytes;
    unpacked += record.unpacked_bytes;
    // Manifests of older versions of ptpkg lack this size. A sum without it would be wrong.
    known = known && record.unpacked_bytes > 0;
  }
  if (!known) return HumanBytes(packed);
  // Metadata outweighs a few bytes of content; a ratio would say nothing.
  if (packed > unpacked) return fmt::format("{}, {} unpacked", HumanBytes(packed), HumanBytes(unpacked));
  const double percent = 100 * static_cast<double>(packed) / static_cast<double>(unpacked);
  return fmt::format("{}, {:.0f}% of {} unpacked", HumanBytes(packed), percent, HumanBytes(unpacked));
}

/// "; ccache: 88 of 90 found", or nothing when no build was asked to use it.
std::string CacheUse(const std::vector<StageTime>& stages) {
  std::uint64_t hits = 0;
  std::uint64_t all = 0;
  bool used = false;
  for (const StageTime& stage : stages) {
    for (const auto& [name, count] : stage.counts) {
      if (name != "ccache_hits" && name != "ccache_misses") continue;
      used = true;
      all += count;
      if (name == "ccache_hits") hits += count;
    }
  }
  if (!used) return "";
  return all == 0 ? "; ccache: nothing to compile" : fmt::format("; ccache: {} of {} found", hits, all);
}

/// "; remote cache: 2 of 3 found, 1 uploaded", or nothing when no build looked there.
std::string RemoteCacheUse(const std::vector<StageTime>& stages) {
  std::map<std::string, std::uint64_t> sums;
  for (const StageTime& stage : stages) {
    for (const auto& [name, count] : stage.counts) sums[name] += count;
  }
  const std::uint64_t hits = sums["remote_cache_hits"];
  const std::uint64_t all = hits + sums["remote_cache_misses"];
  if (all == 0) return "";
  const std::uint64_t uploads = sums["remote_cache_uploads"];
  return fmt::format("; remote cache: {} of {} found{}", hits, all,
                     uploads == 0 ? "" : fmt::format(", {} uploaded", uploads));
}

}  // namespace

std::vector<std::string> ExplainLines(const pipeline::BuildSummary& summary, const ExplainFacts& facts) {
  std::vector<std::string> lines;
  for (const StageTime& stage : summary.stages) {
    // The reporter has given each of them a line already.
    if (facts.dry_run && WouldRun(stage)) continue;
    std::string reason = stage.reason;
    if (stage.ran) reason = reason.empty() ? "ran" : "ran: " + reason;
    lines.push_back(fmt::format("{:>8}  {}: {}", StageWord(stage.stage), stage.subject, reason));
  }
  return lines;
}

std::string SummaryLine(const pipeline::BuildSummary& summary, const SummaryFacts& facts) {
  const std::vector<StageTime>& stages = summary.stages;
  // The recipe asked for it, so the run succeeds. '0 artifacts' would look like a fault.
  if (stages.empty() && !summary.skipped.empty()) return "every variant is skipped; nothing was written";
  if (facts.dry_run) {
    const auto would_run = static_cast<std::size_t>(std::count_if(stages.begin(), stages.end(), WouldRun));
    return fmt::format("dry run: {} would run, {} unchanged; nothing was written", Plural(would_run, "stage"),
                       stages.size() - would_run);
  }
  std::vector<ArtifactRecord> artifacts = summary.artifacts;
  // Signatures and statements belong to their artifact: people count packages and wheels.
  const auto beside =
      std::erase_if(artifacts, [](const ArtifactRecord& record) { return record.IsSidecar(); });
  std::string line = fmt::format("{} in '{}'", Plural(artifacts.size(), "artifact"), facts.output);
  if (!artifacts.empty()) line += ": " + Sizes(artifacts);
  if (beside > 0) line += "; signed";
  // No stage ran, so no check ran either, and this run has no findings to count.
  const bool idle =
      std::none_of(stages.begin(), stages.end(), [](const StageTime& stage) { return stage.ran; });
  line += idle && !summary.artifacts.empty() ? "; everything was already there"
                                             : "; " + CountFindings(summary.reports);
  return line + CacheUse(stages) + RemoteCacheUse(stages) + "; " + FormatSeconds(facts.seconds);
}

}  // namespace ptpkg::cli
