#pragma once
// A Python index behind a scripted pip.

#include <algorithm>
#include <fmt/format.h>

#include "support/fake_process.h"
#include "support/json.h"
#include "support/test_env.h"
#include "support/text.h"

namespace ptpkg::test {

/// Answers `python3 -c …` (the probe) and `python -m pip …` of one FakeProcess.
class FakeIndex {
 public:
  explicit FakeIndex(FakeProcess& process, TestEnv& env) : process_(process), env_(env) {
    env_.dir().WriteFile("bin/python3", "", 0755);
    const Json answer = {{"executable", "/v/bin/python"},
                         {"version", "3.11.2"},
                         {"prefix", "/v"},
                         {"base_executable", "/v/bin/python"},
                         {"virtual", true},
                         {"externally_managed", false},
                         {"folders", Json::array()},
                         {"packages", {{"pip", "23"}}}};
    process_.Answer("python3", 0, answer.dump());
    process_.On("python", [this](const Command& command) { return Pip(command); });
  }

  /// What `pip download` fetches for these requirements: files by name; the content is the name's.
  void Has(const std::string& requirements, const std::vector<std::string>& files) {
    for (const std::string& file : files) answers_[requirements].emplace(file, "content of " + file);
  }
  void HasBytes(const std::string& requirements, const std::string& file, const std::string& bytes) {
    answers_[requirements][file] = bytes;
  }
  /// What pip prints and fails with.
  void Fails(const std::string& requirements, const std::string& output) { failures_[requirements] = output; }

  /// The questions so far, in order.
  std::vector<std::string> asked;
  std::vector<std::string> options;      ///< Of the last question.
  std::vector<std::string> constraints;  ///< Of the last question that had some.

 private:
  Result<ExitStatus> Pip(const Command& command) {
    ExitStatus status;
    const auto& argv = command.argv;
    const auto dest = std::find(argv.begin(), argv.end(), "--dest");
    if (dest == argv.end()) return status;
    std::vector<std::string> requirements;
    options.clear();
    for (auto at = dest + 2; at != argv.end(); ++at) {
      if (*at == "--constraint") {
        PTPKG_TRY(const std::string text, ptpkg::ReadFile(env_->fs, AbsPath::Literal(*++at)));
        constraints = SplitLines(text);
      } else if (at->starts_with("--")) {
        options.push_back(*at);
      } else {
        requirements.push_back(*at);
      }
    }
    const std::string question = Join(requirements, " ");
    asked.push_back(question);
    if (const auto failure = failures_.find(question); failure != failures_.end()) {
      status.code = 1;
      status.output = failure->second;
      return status;
    }
    const auto found = answers_.find(question);
    if (found == answers_.end()) {
      status.code = 1;
      status.output = fmt::format(
          "ERROR: Could not find a version that satisfies the requirement {} (from versions: none)\n",
          question);
      return status;
    }
    for (const auto& [file, bytes] : found->second) {
      PTPKG_CHECK(ptpkg::WriteFile(env_->fs, AbsPath::Literal(*(dest + 1)) / file, bytes));
    }
    return status;
  }

  FakeProcess& process_;
  TestEnv& env_;
  std::map<std::string, std::map<std::string, std::string>> answers_;
  std::map<std::string, std::string> failures_;
};

}  // namespace ptpkg::test
