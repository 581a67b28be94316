#include "wheel/tag.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/json.h"
#include "support/limits.h"
#include "support/text.h"

namespace ptpkg::wheel {
namespace {

bool IsTagSet(std::string_view set) {
  for (const std::string& word : Split(set, '.')) {
    if (word.empty()) return false;
    const auto legal = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    if (!std::all_of(word.begin(), word.end(), legal)) return false;
  }
  return true;
}

std::vector<std::string> SortedWords(const std::string& set) {
  std::vector<std::string> words = Split(set, '.');
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  return words;
}

// One marked line, because an interpreter may print warnings of its own. A 32-bit interpreter on a 64-bit
// kernel reports the kernel's platform, so the pointer size goes along.
constexpr std::string_view kMark = "ptpkg-interpreter:";
constexpr std::string_view kQuestion =
    "import json, sys, sysconfig\n"
    "print('ptpkg-interpreter:' + json.dumps({\n"
    "  'implementation': sys.implementation.name,\n"
    "  'major': sys.version_info[0], 'minor': sys.version_info[1],\n"
    "  'free_threaded': int(bool(sysconfig.get_config_var('Py_GIL_DISABLED'))),\n"
    "  'debug': int(bool(sysconfig.get_config_var('Py_DEBUG'))),\n"
    "  'wide': int(sys.maxsize > 2**32),\n"
    "  'platform': sysconfig.get_platform()}))\n";

std::string PlatformTag(std::string platform, bool wide) {
  platform = ReplaceAll(ReplaceAll(ReplaceAll(platform, "-", "_"), ".", "_"), " ", "_");
  if (!wide && platform == "linux_x86_64") return "linux_i686";
  if (!wide && platform == "linux_aarch64") return "linux_armv7l";
  return platform;
}

Result<Tag> TagFromAnswer(std::string_view answer, const AbsPath& python) {
  const std::string where = fmt::format("answer of '{}'", python.str());
  PTPKG_TRY(const Json facts, ParseJson(answer, where));
  PTPKG_TRY(const std::string implementation, JsonString(facts, "implementation", where));
  if (implementation != "cpython") {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("'{}' is {}, and only CPython's tags are known", python.str(), implementation))
        .WithHint("state the wheel's tag in the recipe");
  }
  PTPKG_TRY(const std::int64_t major, JsonInteger(facts, "major", where));
  PTPKG_TRY(const std::int64_t minor, JsonInteger(facts, "minor", where));
  PTPKG_TRY(const std::int64_t free_threaded, JsonInteger(facts, "free_threaded", where));
  PTPKG_TRY(const std::int64_t debug, JsonInteger(facts, "debug", where));
  PTPKG_TRY(const std::int64_t wide, JsonInteger(facts, "wide", where));
  PTPKG_TRY(const std::string platform, JsonString(facts, "platform", where));
  Tag tag;
  tag.python = fmt::format("cp{}{}", major, minor);
  tag.abi = fmt::format("{}{}{}", tag.python, free_threaded != 0 ? "t" : "", debug != 0 ? "d" : "");
  tag.platform = PlatformTag(platform, wide != 0);
  return ParseTag(tag.str());
}

}  // namespace

Result<Tag> ParseTag(std::string_view text) {
  const std::vector<std::string> parts = Split(text, '-');
  if (parts.size() != 3 || !std::all_of(parts.begin(), parts.end(), IsTagSet)) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not a compatibility tag", text))
        .WithHint("write it as python-abi-platform, for example cp311-cp311-linux_x86_64");
  }
  Tag tag{parts[0], parts[1], parts[2]};
  if (CountTags(tag) > limits::kTags) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("a compatibility tag stands for more than {} plain ones", limits::kTags));
  }
  return tag;
}

std::size_t CountTags(const Tag& tag) {
  const auto words = [](const std::string& set) {
    return 1 + static_cast<std::size_t>(std::count(set.begin(), set.end(), '.'));
  };
  // No part has more words than a text has bytes, so two products fit.
  return std::min(words(tag.python) * words(tag.abi), limits::kTags + 1) * words(tag.platform);
}

Tag SortTag(const Tag& tag) {
  return {Join(SortedWords(tag.python), "."), Join(SortedWords(tag.abi), "."),
          Join(SortedWords(tag.platform), ".")};
}

std::vector<Tag> ExpandTag(const Tag& tag) {
  std::vector<Tag> tags;
  for (const std::string& python : SortedWords(tag.python)) {
    for (const std::string& abi : SortedWords(tag.abi)) {
      for (const std::string& platform : SortedWords(tag.platform)) tags.push_back({python, abi, platform});
    }
  }
  std::sort(tags.begin(), tags.end());
  return tags;
}

Result<Tag> InterpreterTag(Env& env, const AbsPath& python) {
  Command command;
  // -I keeps PYTHON* variables and the user's site-packages out, -S all site-packages.
  command.argv = {python.str(), "-I", "-S", "-c", std::string(kQuestion)};
  for (const char* const name : {"PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"}) {
    if (const auto it = env.variables.find(name); it != env.variables.end()) command.env.insert(*it);
  }
  command.cancel = &env.cancel;
  command.timeout = std::chrono::seconds(60);
  std::string answer;
  command.on_line = [&answer](std::string_view line) {
    if (line.starts_with(kMark)) answer = line.substr(kMark.size());
  };
  PTPKG_TRY(const ExitStatus status, env.process.Run(command),
            fmt::format("while asking '{}' for its tag", python.str()));
  if (!status.ok() || answer.empty()) {
    return Error(ErrorCode::kCommandFailed,
                 fmt::format("'{}' did not report its tag (exit status {})", python.str(),
                             status.signal != 0 ? 128 + status.signal : status.code))
        .WithHint("run it by hand to see whether this Python works");
  }
  Result<Tag> tag = TagFromAnswer(answer, python);
  if (!tag && tag.error().code() == ErrorCode::kInvalidInput) {
    return Error(ErrorCode::kCommandFailed, tag.error().message());
  }
  return tag;
}

}  // namespace ptpkg::wheel
