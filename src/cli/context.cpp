#include "cli/context.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <climits>
#include <fmt/core.h>
#include <unistd.h>

#include "cli/output/json_log.h"
#include "cli/output/safe_reporter.h"
#include "cli/output/text_layout.h"
#include "support/process/machine.h"
#include "support/secret.h"
#include "support/secret_name.h"
#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::cli {

namespace {

std::string Variable(const std::map<std::string, std::string>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? "" : found->second;
}

template <std::size_t kCount>
bool IsOneOf(const std::array<std::string_view, kCount>& words, const std::string& value) {
  return std::find(words.begin(), words.end(), ToLower(value)) != words.end();
}

constexpr std::array<std::string_view, 5> kOff = {"", "0", "false", "no", "off"};
constexpr std::array<std::string_view, 4> kOn = {"1", "true", "yes", "on"};

/// CI systems set CI to words of their own.
bool IsSwitchedOn(const std::map<std::string, std::string>& variables, const std::string& name) {
  return !IsOneOf(kOff, Variable(variables, name));
}

/// Refuses a misspelt value of ptpkg's own switches, so that it switches nothing on.
Result<void> CheckSwitch(const std::map<std::string, std::string>& variables, const std::string& name) {
  const std::string value = Variable(variables, name);
  if (IsOneOf(kOff, value) || IsOneOf(kOn, value)) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("{} is '{}', which is neither on nor off", name, value))
      .WithHint(fmt::format("set it to 1 or 0: {}=1", name));
}

Result<std::int64_t> ParseEpoch(const std::string& text) {
  constexpr std::int64_t kZipEpoch = 315532800;        // 1980-01-01, the first day a zip can tell
  constexpr std::int64_t kLatestEpoch = 077777777777;  // eleven octal digits of a tar
  if (text.empty()) return kZipEpoch;
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < 0) {
    return Error(ErrorCode::kUsage, fmt::format("SOURCE_DATE_EPOCH is '{}', not a number of seconds", text));
  }
  if (value > kLatestEpoch) {
    return Error(ErrorCode::kUsage,
                 fmt::format("SOURCE_DATE_EPOCH is '{}', later than packages can tell", text))
        .WithHint(fmt::format("it counts seconds, at most {} (the year 2242)", kLatestEpoch));
  }
  // An earlier time is legal for SOURCE_DATE_EPOCH (often 0 or 1), but no zip can hold it.
  return std::max(value, kZipEpoch);
}

Result<AbsPath> CacheFolder(const CommonFlags& flags, const std::map<std::string, std::string>& variables,
                            const AbsPath& cwd) {
  for (const std::string& named : {flags.cache_dir, Variable(variables, "PTPKG_CACHE_DIR")}) {
    if (named.empty()) continue;
    PTPKG_CHECK(RefuseUrl(named));
    return AbsPath::Resolve(cwd, named);
  }
  // The XDG Base Directory Specification demands absolute paths, and that others are ignored.
  if (const std::string cache = Variable(variables, "XDG_CACHE_HOME"); cache.starts_with('/')) {
    PTPKG_TRY(const AbsPath folder, AbsPath::Parse(cache));
    return folder / "ptpkg";
  }
  const std::string home = Variable(variables, "HOME");
  if (!home.starts_with('/')) {
    return Error(ErrorCode::kUsage, "no cache directory: HOME is not set")
        .WithHint("name one with --cache-dir DIR or PTPKG_CACHE_DIR");
  }
  PTPKG_TRY(const AbsPath folder, AbsPath::Parse(home));
  return folder / ".cache/ptpkg";
}

/// `usual` where the variable is not set.
Result<std::chrono::milliseconds> SecondsIn(const std::map<std::string, std::string>& variables,
                                            const std::string& name, std::chrono::milliseconds usual) {
  constexpr std::int64_t kMost = 86'400;
  const std::string text = Variable(variables, name);
  if (text.empty()) return usual;
  std::int64_t value = 0;
  const auto [end, status] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (status != std::errc() || end != text.data() + text.size() || value < 1 || value > kMost) {
    return Error(ErrorCode::kUsage, fmt::format("{} is '{}', not a number of seconds", name, text))
        .WithHint(fmt::format("set it to a whole number from 1 to {}", kMost));
  }
  return std::chrono::milliseconds(std::chrono::seconds(value));
}

/// Whom the clients of Python and curl trust, where a company's proxy or index has an authority of its own.
Result<HttpLimits> LimitsOf(const std::map<std::string, std::string>& variables) {
  HttpLimits limits;
  PTPKG_TRY(limits.answer_timeout, SecondsIn(variables, "PTPKG_ANSWER_TIMEOUT", limits.answer_timeout));
  for (const char* name : {"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}) {
    limits.ca_file = Variable(variables, name);
    if (limits.ca_file.empty()) continue;
    limits.ca_variable = name;
    break;
  }
  return limits;
}

LogFormat ParseLogFormat(const std::string& name) {
  if (name == "terminal") return LogFormat::kTerminal;
  if (name == "plain") return LogFormat::kPlain;
  if (name == "json") return LogFormat::kJson;
  return LogFormat::kAuto;
}

/// Values of the variables that hold a secret by their name, whoever reads them later, also a build script
/// that prints them.
void RememberSecretVariables(const std::map<std::string, std::string>& variables) {
  constexpr std::size_t kShortest = 8;  // of a variable that nobody here reads, shorter ones are words
  for (const auto& variable : variables) {
    const std::string& name = variable.first;
    const std::string& value = variable.second;
    // TOKEN_FILE and their like name a place, which messages have to show.
    const bool is_place = NamesPlace(name) || value.starts_with('/');
    if (NamesSecret(name) && !is_place && value.size() >= kShortest) RememberSecret(Trim(value));
    if (value.find("://") != std::string::npos) RememberSecretsOf(value);
  }
}

/// A scheme as RFC 3986 has it.
bool IsUrl(std::string_view text) {
  const std::size_t scheme = text.find("://");
  const auto fits = [](unsigned char c) { return std::isalnum(c) != 0 || c == '+' || c == '-' || c == '.'; };
  return scheme != std::string_view::npos && scheme > 0 && std::ranges::all_of(text.substr(0, scheme), fits);
}

}  // namespace

std::map<std::string, std::string> ReadEnvironment(const char* const* environment) {
  std::map<std::string, std::string> variables;
  for (; *environment != nullptr; ++environment) {
    const std::string_view entry = *environment;
    const std::size_t equals = entry.find('=');
    if (equals != std::string_view::npos)
      variables.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return variables;
}

Result<void> RefuseUrl(const std::string& text) {
  if (!IsUrl(text)) return Ok();
  return Error(ErrorCode::kUsage, fmt::format("'{}' is a URL, where ptpkg takes a path", text))
      .WithHint(text.starts_with("file://") ? "leave 'file://' out"
                                            : "give a file or directory of this machine");
}

Result<AbsPath> WorkingDirectory() {
  std::array<char, PATH_MAX> buffer{};
  if (::getcwd(buffer.data(), buffer.size()) == nullptr)
    return ErrnoError(errno, "cannot find the working directory");
  return AbsPath::Parse(buffer.data());
}

Result<std::unique_ptr<Context>> Context::Create(const CommonFlags& flags, const CancelToken& cancel,
                                                 const char* const* environment) {
  auto variables = ReadEnvironment(environment);
  // First: the errors below must not print a secret.
  RememberSecretVariables(variables);
  PTPKG_TRY(const AbsPath cwd, WorkingDirectory());
  PTPKG_TRY(const AbsPath cache, CacheFolder(flags, variables, cwd));
  PTPKG_TRY(const std::int64_t epoch, ParseEpoch(Variable(variables, "SOURCE_DATE_EPOCH")));
  for (const char* name : {"PTPKG_OFFLINE", "PTPKG_CCACHE", "PTPKG_REMOTE_CACHE_READ_ONLY"})
    PTPKG_CHECK(CheckSwitch(variables, name));
  PTPKG_TRY(const HttpLimits limits, LimitsOf(variables));
  std::unique_ptr<Context> context(new Context(flags));
  // From here on nothing fails: variables are checked before anything is made.
  context->fs_ = MakeOsFs();
  context->http_ = MakeCurlHttp(limits);
  context->clock_ = MakeOsClock();
  context->start_ = context->clock_->Now();
  const bool offline = IsSwitchedOn(variables, "PTPKG_OFFLINE");
  // --color always is a wish for this run and wins. NO_COLOR is only a default, as https://no-color.org has
  // it.
  const bool no_color = !Variable(variables, "NO_COLOR").empty();
  context->reporter_ =
      MakeReporter(*context->clock_, StderrSink(),
                   {.format = ParseLogFormat(flags.log_format),
                    .quiet = flags.quiet,
                    .verbose = flags.verbose,
                    .color = flags.color == "always" ||
                             (flags.color == "auto" && StderrSink().Width().has_value() && !no_color),
                    .in_ci = IsSwitchedOn(variables, "CI"),
                    .cwd = cwd.str()});
  context->safe_reporter_ = MakeSafeReporter(*context->reporter_);
  // Stages and commands only see the safe reporter: all text from outside passes it.
  context->process_ = MakeOsProcess(context->safe_reporter_.get());
  // A program that says nothing needs no clock.
  if (!flags.quiet) context->ticker_.emplace(*context->reporter_);
  // A number of the user is kept apart: little free memory lowers only a computed one.
  const int jobs = flags.jobs > 0 ? static_cast<int>(flags.jobs) : ReadUsableCores(*context->fs_);
  context->env_.emplace(Env{.fs = *context->fs_,
                            .process = *context->process_,
                            .http = *context->http_,
                            .clock = *context->clock_,
                            .reporter = *context->safe_reporter_,
                            .cancel = cancel,
                            .jobs = jobs,
                            .jobs_of_run = jobs,
                            .jobs_given = flags.jobs > 0,
                            .source_date_epoch = epoch,
                            .cache_dir = cache,
                            .cwd = cwd,
                            .variables = std::move(variables),
                            .offline = offline});
  return context;
}

bool Context::IsSet(const std::string& name) const { return IsSwitchedOn(env_->variables, name); }

Result<AbsPath> Context::Path(const std::string& text) const {
  PTPKG_CHECK(RefuseUrl(text));
  auto path = AbsPath::Resolve(env_->cwd, text);
  if (!path) return Error(ErrorCode::kUsage, path.error().message());
  return path;
}

Result<void> Context::UseTemporaryCache() {
  const auto named = env_->variables.find("TMPDIR");
  const bool is_named = named != env_->variables.end() && named->second.starts_with('/');
  PTPKG_TRY(const AbsPath parent, AbsPath::Parse(is_named ? named->second : "/tmp"));
  PTPKG_TRY(TempDir made, TempDir::Create(*fs_, parent, "cache"));
  temporary_cache_.emplace(std::move(made));
  env_->cache_dir = temporary_cache_->path();
  return Ok();
}

std::string Context::Shown(std::string_view path) const {
  const std::string below = env_->cwd.str() + "/";
  if (path.size() > below.size() && path.starts_with(below)) path.remove_prefix(below.size());
  return std::string(path);
}

void Context::SettleReporter() { reporter_->Settle(); }

void Context::Print(std::string_view text) {
  SettleReporter();
  PrintResult(text);
}

void Context::PrintJson(const Json& document) { Print(JsonDocument(document)); }

void Context::Log(std::string_view line) {
  if (flags_.quiet) return;
  const std::optional<std::size_t> width = LogWidth();
  if (!width || logs_json()) return LogAlways(line);
  // Broken lines are indented, so that each line at the left margin is a new message.
  constexpr std::size_t kIndent = 4;
  const std::size_t begin = std::min(line.find_first_not_of(' '), line.size());
  LogAlways(std::string(begin, ' ') +
            WrapWords(line.substr(begin), {.width = *width, .indent = begin + kIndent, .already = begin}));
}

void Context::LogAlways(std::string_view line) {
  // Readers of the JSON log parse every line of stderr, so ptpkg writes no plain text there.
  if (logs_json()) return LogEvent({{"event", "note"}, {"message", line}});
  SettleReporter();
  PrintLog(line);
}

void Context::LogEvent(const Json& event) {
  if (logs_json()) StderrSink().Write(JsonLine(event));
}

void Context::SetErrorDetails(const Json& details) { error_details_ = details; }

double Context::SecondsSoFar() const { return std::chrono::duration<double>(clock_->Now() - start_).count(); }

}  // namespace ptpkg::cli
