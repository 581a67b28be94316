// ptpkg bench. Layer: cli. The pipeline measures and sets the machine up; this file splits the words into
// commands and prints. The exact rank test asks nothing of the shape of the times, which is seldom normal.
// The text has a ratio only if the test tells the two apart.

#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <set>
#include <string>

#include "cli/verbs/verbs.h"
#include "pipeline/bench/bench.h"
#include "pipeline/bench/stabilize.h"
#include "support/text/json.h"
#include "support/text/plural.h"

namespace ptpkg::cli {

namespace {

// The usual level of significance: of twenty comparisons of equal programs, one is wrong.
constexpr double kLevel = 0.05;

struct BenchFlags {
  std::vector<std::string> words;  ///< "A… --- B…"
  pipeline::BenchRequest request;
  // The parser has no optional number, so 0 MHz stands for a missing one.
  std::uint64_t gpu_mhz = 0;  ///< 0: not given.
  bool restore = false;
  std::set<std::string> given;  ///< Long names of the options on the command line.
};

Json KnobsToJson(const std::vector<pipeline::Knob>& knobs) {
  Json list = Json::array();
  for (const pipeline::Knob& knob : knobs)
    list.push_back(
        {{"name", knob.name}, {"place", knob.place}, {"before", knob.before}, {"during", knob.during}});
  return list;
}

Json BenchToJson(const pipeline::BenchOutcome& outcome, const std::vector<pipeline::Knob>& restored) {
  Json document = {{"cpus", outcome.cpus},
                   {"machine", Json::array()},
                   // Both are back at their values from before: `changed` by this run, `restored` after a run
                   // that was killed.
                   {"changed", KnobsToJson(outcome.changed)},
                   {"restored", KnobsToJson(restored)},
                   {"commands", Json::array()},
                   {"comparison", nullptr}};
  for (const pipeline::MachineSetting& setting : outcome.machine) {
    document["machine"].push_back(
        {{"name", setting.name}, {"value", setting.value}, {"advice", setting.advice}});
  }
  for (const pipeline::BenchTimes& times : outcome.times) {
    document["commands"].push_back({{"command", times.command},
                                    {"median_seconds", times.median},
                                    {"deviation_seconds", times.deviation},
                                    {"seconds", times.seconds}});
  }
  if (outcome.p_value) {
    document["comparison"] = {{"test", "exact Mann-Whitney"},
                              {"p_value", *outcome.p_value},
                              {"distinguishable", *outcome.p_value < kLevel},
                              {"ratio", outcome.times[1].median / outcome.times[0].median}};
  }
  return document;
}

std::string SecondsText(double seconds) {
  return seconds < 1 ? fmt::format("{:.2f} ms", seconds * 1000) : fmt::format("{:.4f} s", seconds);
}

void PrintTimes(Context& context, char letter, const pipeline::BenchTimes& times) {
  // Median and its distance: one round that another process disturbed moves neither.
  const auto [least, most] = std::minmax_element(times.seconds.begin(), times.seconds.end());
  context.Print(fmt::format("{}: {}", letter, ShellQuote(times.command)));
  context.Print(fmt::format("   median {}, deviation {} ({:.2f} %), {} to {} in {}",
                            SecondsText(times.median), SecondsText(times.deviation),
                            100 * times.deviation / times.median, SecondsText(*least), SecondsText(*most),
                            Plural(times.seconds.size(), "round")));
}

std::string ComparisonText(const pipeline::BenchOutcome& outcome) {
  const std::string test = fmt::format("p = {:.2g}, exact Mann-Whitney test", *outcome.p_value);
  if (*outcome.p_value >= kLevel)
    return fmt::format("A and B are not distinguishable ({}; a difference has p < {})", test, kLevel);
  const double change = 100 * (outcome.times[1].median / outcome.times[0].median - 1);
  return fmt::format("B takes {:.2f} % {} time than A ({})", std::abs(change), change < 0 ? "less" : "more",
                     test);
}

/// The document has the fields of a run, so one schema serves both (docs/json/bench.json).
Result<ExitCode> RestoreOnly(Context& context) {
  PTPKG_TRY(const std::vector<pipeline::Knob> restored, pipeline::RestoreMachine(context.env()));
  if (context.json()) {
    context.PrintJson(BenchToJson({}, restored));
  } else {
    context.Print(restored.empty() ? "nothing to put back"
                                   : "put back: " + Plural(restored.size(), "setting"));
  }
  return kDone;
}

/// Errors: kUsage.
Result<void> ReadWords(BenchFlags& flags) {
  std::vector<std::vector<std::string>>& commands = flags.request.commands;
  if (!flags.words.empty()) commands.emplace_back();
  for (const std::string& word : flags.words) {
    if (word == "---") {
      commands.emplace_back();
    } else {
      commands.back().push_back(word);
    }
  }
  // The parser has taken '--', which commands often need themselves. So '---' parts the two.
  const bool empty = std::ranges::any_of(commands, [](const auto& argv) { return argv.empty(); });
  if (empty || commands.size() > 2) {
    return Error(ErrorCode::kUsage, "'---' separates two commands")
        .WithHint("ptpkg bench -- COMMAND --- COMMAND");
  }
  // ptpkg refuses an option without effect: people would trust times that are not steady. A configuration
  // file sets options for the lines that take them.
  const auto has = [&](const char* name) { return flags.given.contains(name); };
  if (flags.restore && (has("--stabilize") || has("--cpus") || has("--rounds") || has("--warmup") ||
                        has("--gpu-clock") || !commands.empty()))
    return Error(ErrorCode::kUsage, "--restore runs no command").WithHint("ptpkg bench --restore");
  if (commands.empty() && (has("--rounds") || has("--warmup"))) {
    return Error(ErrorCode::kUsage, "--rounds and --warmup count runs of a command, but none is given")
        .WithHint("ptpkg bench --rounds 20 -- COMMAND");
  }
  if (has("--stabilize") && commands.empty()) {
    return Error(ErrorCode::kUsage, "--stabilize lasts as long as a command, but none is given")
        .WithHint("ptpkg bench --stabilize -- COMMAND");
  }
  // --gpu-clock needs --stabilize (its `needs`), so there is a record of the clock from before.
  if (flags.gpu_mhz != 0) flags.request.gpu_mhz = flags.gpu_mhz;
  return Ok();
}

Result<ExitCode> RunBench(Context& context, BenchFlags& flags) {
  PTPKG_CHECK(ReadWords(flags));
  if (flags.restore) return RestoreOnly(context);
  PTPKG_TRY(const pipeline::BenchOutcome outcome, pipeline::Bench(context.env(), flags.request));
  if (context.json()) {
    context.PrintJson(BenchToJson(outcome, {}));
    return kDone;
  }
  // Settings come before times, because they explain why times vary.
  const auto print = [&](std::string_view name, std::string_view value) {
    context.Print(fmt::format("{:<16} {}", name, value));
  };
  for (const pipeline::MachineSetting& setting : outcome.machine) {
    print(setting.name, (setting.value.empty() ? "not available" : setting.value) +
                            (setting.advice.empty() ? "" : " (" + setting.advice + ")"));
  }
  print("CPUs", fmt::format("{}", fmt::join(outcome.cpus, ",")));
  // An outcome exists only if all settings are back. If one is not, the run has failed.
  if (!outcome.changed.empty()) print("set", Plural(outcome.changed.size(), "setting") + ", and put back");
  char letter = 'A';
  for (const pipeline::BenchTimes& times : outcome.times) PrintTimes(context, letter++, times);
  if (outcome.p_value) context.Print(ComparisonText(outcome));
  return kDone;
}

}  // namespace

Verb BenchVerb() {
  // Shared by the parser, which fills it, and the action, which reads it later.
  auto flags = std::make_shared<BenchFlags>();
  pipeline::BenchRequest& request = flags->request;
  return {
      .name = "bench",
      .summary = "Time a command, or compare two, on a steady machine",
      .known_as = {"benchmark", "time"},
      .options = {{.names = "COMMAND",
                   .help = "Command after '--'; '---' begins a second one",
                   .target = &flags->words,
                   .optional = true},
                  {.names = "--rounds",
                   .value = "NUMBER",
                   .help = "Run each command this often, 4 to 100 times",
                   .target = Number{.value = &request.rounds, .least = 4, .most = 100},
                   .default_text = "10"},
                  {.names = "--warmup",
                   .value = "NUMBER",
                   .help = "Run this many rounds first that don't count",
                   .target = Number{.value = &request.warmup, .most = 100},
                   .default_text = "1"},
                  {.names = "--cpus",
                   .value = "LIST",
                   .help = "Run on these CPUs, such as 2,4-7",
                   .target = &request.cpus,
                   .default_text = "isolated ones, else one of each core but the first"},
                  {.names = "--stabilize",
                   .help = "Set governor, turbo and C-states meanwhile (root)",
                   .target = &request.stabilize},
                  {.names = "--gpu-clock",
                   .value = "MHZ",
                   .help = "Lock the SM clock of all GPUs meanwhile",
                   .target = Number{.value = &flags->gpu_mhz, .least = 1, .most = 10000},
                   .needs = "--stabilize"},
                  {.names = "--restore",
                   .help = "Put back what a killed --stabilize left (root)",
                   .target = &flags->restore}},
      .notes =
          "Without COMMAND, ptpkg prints the machine's settings and the reasons why times may vary. With "
          "--stabilize, the earlier settings are on the disk before the first change, and are put back at "
          "the end, after a failure and after a signal. Exit codes: 0 done, 2 wrong command line, 5 a "
          "command failed, 6 a setting was refused, 7 another --stabilize is active or was killed.",
      .examples = {"ptpkg bench", "ptpkg bench -- python bench.py cpu",
                   "ptpkg bench --stabilize --rounds 20 -- old/bin/app --- new/bin/app"},
      .run = [flags](Context& context) { return RunBench(context, *flags); },
      .given = &flags->given};
}

}  // namespace ptpkg::cli
