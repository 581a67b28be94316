// Lists of GPU architectures in the spellings of PyTorch, CMake, nvcc and AMD. They can be mixed in one list,
// so each word decides by its own form: a number alone is CMake's and means machine code and PTX, PyTorch's
// has a point and means machine code only, and "sm_", "compute_", "-real" and "-virtual" name one kind.
// Suffixes 'a' and 'f' stay in the name, since code for sm_90a doesn't run elsewhere.
// Names sort by the count of their digits first: sm_100 comes after sm_90, where a comparison of texts would
// put it first.

#include "versions/cuda_archs.h"

#include <algorithm>
#include <fmt/core.h>

#include "support/text/gfx_target.h"
#include "support/text/text.h"

namespace ptpkg::versions {
namespace {

constexpr std::string_view kAny = "any";
constexpr std::string_view kMore = "more";
constexpr std::string_view kHint =
    "write architectures as in TORCH_CUDA_ARCH_LIST (8.0;9.0a+PTX), CMAKE_CUDA_ARCHITECTURES (80-real;90), "
    "nvcc's names (sm_80;compute_90) or AMD's (gfx90a;gfx942:xnack+)";

Error Invalid(std::string message) {
  return Error(ErrorCode::kInvalidInput, std::move(message)).WithHint(std::string(kHint));
}

bool TakeSuffix(std::string_view& text, std::string_view suffix) {
  if (!text.ends_with(suffix)) return false;
  text.remove_suffix(suffix.size());
  return true;
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

bool IsDigits(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// "90" of "9.0", "90a" of "90a"; "" for other texts. Numbers have two or three digits.
std::string NumberOf(std::string_view text, bool dotted) {
  std::string suffix;
  if (text.ends_with('a') || text.ends_with('f')) {
    suffix = text.back();
    text.remove_suffix(1);
  }
  std::string digits(text);
  if (dotted) {
    const std::size_t dot = text.find('.');
    if (dot == std::string_view::npos || dot + 2 != text.size()) return {};
    digits.erase(dot, 1);
  }
  const bool fits = (digits.size() == 2 || digits.size() == 3) && IsDigits(digits) && digits.front() != '0';
  return fits ? digits + suffix : std::string();
}

Result<void> AddWord(const std::string& word, DeviceArchitectures& list) {
  if (word == kMore) {
    list.more = true;
    return Ok();
  }
  if (const std::optional<std::string> target = NormalGfxTarget(word)) {
    (*target == kAmdSpirv ? list.ptx : list.sass).insert(*target);
    return Ok();
  }
  std::string_view rest = word;
  const bool sass_alone = TakePrefix(rest, "sm_") || TakeSuffix(rest, "-real");
  const bool ptx_alone = !sass_alone && (TakePrefix(rest, "compute_") || TakeSuffix(rest, "-virtual"));
  const bool dotted = !sass_alone && !ptx_alone && rest.find('.') != std::string_view::npos;
  // CMake's form is a number alone and means both. PyTorch's form has a point and includes PTX only with
  // "+PTX".
  const bool ptx = ptx_alone || (dotted ? TakeSuffix(rest, "+PTX") : !sass_alone);
  const std::string number = NumberOf(rest, dotted);
  if (number.empty()) return Invalid(fmt::format("unknown GPU architecture '{}'", word));
  if (!ptx_alone) list.sass.insert("sm_" + number);
  if (ptx) list.ptx.insert("compute_" + number);
  return Ok();
}

/// nullopt: "any".
Result<std::optional<DeviceArchitectures>> ParseList(std::string_view text) {
  if (Trim(text) == kAny) return std::optional<DeviceArchitectures>();
  PTPKG_TRY(DeviceArchitectures list, ParseDeviceArchitectures(text));
  return std::optional(std::move(list));
}

bool Matches(const std::string& glob, std::string_view file) {
  return GlobMatch(glob, file) || GlobMatch("**/" + glob, file);
}

/// More digits are a larger number: none begins with 0.
std::size_t DigitsIn(const std::string& name) {
  return static_cast<std::size_t>(
      std::count_if(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; }));
}

}  // namespace

bool ArchitectureOrder::operator()(const std::string& left, const std::string& right) const {
  const std::size_t left_digits = DigitsIn(left);
  const std::size_t right_digits = DigitsIn(right);
  return left_digits != right_digits ? left_digits < right_digits : left < right;
}

Result<DeviceArchitectures> ParseDeviceArchitectures(std::string_view text) {
  DeviceArchitectures list;
  std::string words(text);
  for (char& c : words) {
    if (c == ',' || c == ' ' || c == '\t' || c == '\n' || c == '\r') c = ';';
  }
  for (const std::string& word : Split(words, ';')) {
    if (!word.empty()) PTPKG_CHECK(AddWord(word, list));
  }
  if (list.sass.empty() && list.ptx.empty()) {
    return Invalid(fmt::format("'{}' lists no GPU architecture; write '{}' for none", text, kAny));
  }
  return list;
}

Result<DeviceCodeRequest> DeviceCodeRequest::Parse(const std::vector<std::string>& texts) {
  DeviceCodeRequest request;
  bool any = false;
  for (const std::string& text : texts) {
    // The last '=', since a file name can contain one and an architecture cannot.
    const std::size_t equals = text.rfind('=');
    const std::string_view after =
        equals == std::string::npos ? text : std::string_view(text).substr(equals + 1);
    PTPKG_TRY(std::optional<DeviceArchitectures> list, ParseList(after));
    if (equals != std::string::npos) {
      std::string glob(Trim(std::string_view(text).substr(0, equals)));
      if (glob.empty()) return Invalid(fmt::format("'{}' has no file glob before '='", text));
      request.rules_.push_back({.glob = std::move(glob), .asked = std::move(list)});
      continue;
    }
    any = any || !list;
    if (!list) continue;
    if (!request.others_) request.others_.emplace();
    request.others_->sass.merge(list->sass);
    request.others_->ptx.merge(list->ptx);
    request.others_->more = request.others_->more || list->more;
  }
  if (any && request.others_) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("'{}' is combined with a list for the same files", kAny))
        .WithHint("remove one of the two, or give files: 'lib/libvendor*=any'");
  }
  return request;
}

ArchitectureNames DeviceCodeRequest::Sass() const {
  ArchitectureNames names;
  if (others_) names.insert(others_->sass.begin(), others_->sass.end());
  for (const Rule& rule : rules_) {
    if (rule.asked) names.insert(rule.asked->sass.begin(), rule.asked->sass.end());
  }
  return names;
}

bool DeviceCodeRequest::RequestsCode() const {
  return others_ ||
         std::any_of(rules_.begin(), rules_.end(), [](const Rule& rule) { return rule.asked.has_value(); });
}

// The first glob decides alone, so a user can put an exception before a general rule.
const DeviceCodeRequest::Rule* DeviceCodeRequest::RuleOf(std::string_view file) const {
  const auto rule =
      std::find_if(rules_.begin(), rules_.end(), [&](const Rule& one) { return Matches(one.glob, file); });
  return rule == rules_.end() ? nullptr : &*rule;
}

const DeviceArchitectures* DeviceCodeRequest::Of(std::string_view file) const {
  const Rule* rule = RuleOf(file);
  const std::optional<DeviceArchitectures>& asked = rule == nullptr ? others_ : rule->asked;
  return asked ? &*asked : nullptr;
}

std::vector<std::string> DeviceCodeRequest::UnmatchedGlobs(const std::vector<std::string>& files) const {
  std::vector<std::string> globs;
  for (const Rule& rule : rules_) {
    // A glob whose files all belong to earlier globs is unmatched, too: it decides nothing.
    const bool has = std::any_of(files.begin(), files.end(),
                                 [&](const std::string& file) { return RuleOf(file) == &rule; });
    if (rule.asked && !has) globs.push_back(rule.glob);
  }
  return globs;
}

}  // namespace ptpkg::versions
