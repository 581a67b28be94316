// Which Pythons accept a tag (PEP 425). Installers compute the tags of the one Python that runs them. ptpkg
// inverts this: it computes the range of Pythons from the tag, so that no interpreter is needed.
// Rules per kind: "cp" with its own ABI is one version, with abi3 every later one (PEP 384), "py" every later
// one without an ABI, "pp" the ABI of PyPy for that version. Tags of unknown interpreters are accepted from
// their version on, unless the ABI is of another interpreter.
// A tag with "any" as the platform and another ABI than "none" fits no Python: installers combine "any" only
// with "none".
// HasRelease tries each release that a range can have, instead of solving the specifiers. They are few, and
// every operator of PEP 440 works without a special case.

#include "wheel/interpreter_tags.h"

#include <algorithm>
#include <fmt/core.h>
#include <set>

#include "support/text/text.h"
#include "wheel/metadata/pep440_version.h"

namespace ptpkg::wheel {
namespace {

constexpr int kFirstStableAbi = 2;      // PEP 384
constexpr int kFirstFreeThreaded = 13;  // PEP 703

/// "cp311" in parts.
struct PythonTag {
  std::string_view kind;    // "cp"
  std::string_view digits;  // "311", "3" or ""
};

PythonTag SplitPython(std::string_view word) {
  const std::size_t end = word.find_last_not_of("0123456789");
  const std::size_t letters = end == std::string_view::npos ? 0 : end + 1;
  return {.kind = word.substr(0, letters), .digits = word.substr(letters)};
}

/// "311" as 3 and 11, "3" as 3 and -1; nullopt for a version that Python has not.
std::optional<PythonRange> ReadDigits(std::string_view digits) {
  if (digits.empty() || (digits.front() != '2' && digits.front() != '3')) return std::nullopt;
  const int major = digits.front() - '0';
  const int newest = major == 3 ? kNewestOf3 : kNewestOf2;
  digits.remove_prefix(1);
  if (digits.empty()) return PythonRange{.major = major, .first = -1, .last = newest};
  if (digits.size() > 2 || (digits.size() == 2 && digits.front() == '0')) return std::nullopt;
  const int minor = std::stoi(std::string(digits));
  if (minor > newest) return std::nullopt;
  return PythonRange{.major = major, .first = minor, .last = minor};
}

/// "dm" of "cp37dm": whether builds of the version can have these flags, in this order.
bool AreAbiFlagsOf(const PythonRange& python, std::string_view flags) {
  // t: without the global lock (PEP 703). d: a debug build. m: pymalloc, a flag until 3.7. u: wide Unicode, a
  // flag until 3.2 (PEP 393).
  const auto take = [&](char flag, bool exists) {
    if (exists && flags.starts_with(flag)) flags.remove_prefix(1);
  };
  const bool is_3 = python.major == 3;
  take('t', is_3 && python.first >= kFirstFreeThreaded);
  take('d', true);
  take('m', !is_3 || python.first < 8);
  take('u', !is_3 || python.first < 3);
  return flags.empty();
}

PythonRange From(PythonRange range) {
  range.last = range.major == 3 ? kNewestOf3 : kNewestOf2;
  range.first = std::max(range.first, 0);
  return range;
}

std::optional<PythonRange> PythonsOfCPython(const PythonRange& python, std::string_view digits,
                                            std::string_view abi) {
  if (python.first < 0) return std::nullopt;  // "cp3"
  if (abi == "none") return python;
  // abi3 begins with 3.2. packaging also accepts abi3t with tags from cp32 on, but only for free-threaded
  // interpreters, and the first of these is 3.13.
  const bool stable = python.major == 3 && python.first >= kFirstStableAbi;
  if (abi == "abi3") return stable ? std::optional(From(python)) : std::nullopt;
  if (abi == "abi3t") {
    PythonRange range = From(python);
    range.first = std::max(range.first, kFirstFreeThreaded);
    return stable ? std::optional(range) : std::nullopt;
  }
  const std::string own = fmt::format("cp{}", digits);
  const bool fits = abi.starts_with(own) && AreAbiFlagsOf(python, abi.substr(own.size()));
  return fits ? std::optional(python) : std::nullopt;
}

/// "pypy310_pp73" of Python 3.10; "pypy_73" names no version.
bool IsAbiOfPyPy(std::string_view abi, std::string_view digits) {
  constexpr std::string_view kPyPy = "pypy";
  if (!abi.starts_with(kPyPy)) return false;
  abi.remove_prefix(kPyPy.size());
  return abi.starts_with('_') || (abi.starts_with(digits) && abi.substr(digits.size()).starts_with('_'));
}

}  // namespace

std::optional<PythonRange> PythonsOf(const Tag& plain) {
  // Installers compare tags in lower case.
  const std::string word = ToLower(plain.python);
  const std::string abi = ToLower(plain.abi);
  const auto [kind, digits] = SplitPython(word);
  const std::optional<PythonRange> python = ReadDigits(digits);
  const bool any = ToLower(plain.platform) == "any";
  if (!python || (any && abi != "none")) return std::nullopt;
  if (kind == "cp") return PythonsOfCPython(*python, digits, abi);
  if (kind == "py") return abi == "none" ? std::optional(From(*python)) : std::nullopt;
  if (kind == "pp") {
    // All versions together are "pp3", for files of any platform alone.
    const bool all = python->first < 0;
    const bool fits = abi == "none" ? !all || (any && python->major == 3) : !all && IsAbiOfPyPy(abi, digits);
    return fits ? std::optional(all ? From(*python) : *python) : std::nullopt;
  }
  const bool foreign = abi.starts_with("cp") || abi.starts_with("abi3") || abi.starts_with("pypy");
  if (foreign || kind.empty() || kind == "python" ||
      (kind == "graalpy" && abi != "none" && !abi.starts_with(kind)))
    return std::nullopt;
  return From(*python);
}

TagVerdict JudgeTag(const Tag& tag) {
  TagVerdict verdict;
  std::set<std::string> idle;
  for (const std::string& word : Split(tag.python, '.')) idle.insert(word);
  for (const std::string& word : Split(tag.abi, '.')) idle.insert(word);
  for (const Tag& plain : ExpandTag(tag)) {
    const auto pythons = PythonsOf(plain);
    if (!pythons) continue;
    idle.erase(plain.python);
    idle.erase(plain.abi);
    if (std::find(verdict.pythons.begin(), verdict.pythons.end(), *pythons) == verdict.pythons.end())
      verdict.pythons.push_back(*pythons);
  }
  verdict.idle.assign(idle.begin(), idle.end());
  return verdict;
}

namespace {

/// "3.11" of "3.11.*".
bool HasPrefix(const std::vector<std::string>& release, std::string_view prefix) {
  const std::vector<std::string> wanted = Split(prefix, '.');
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if ((i < release.size() ? release[i] : "0") != wanted[i]) return false;
  }
  return true;
}

/// `release`: a final release of Python in three numbers.
bool Fulfils(const Version& release, std::string_view op, std::string version) {
  if (op == "===") return release.str() == Trim(version);
  const bool prefix = version.ends_with(".*");
  if (prefix) version.resize(version.size() - 2);
  const Result<Version> wanted = ParseVersion(version);
  // An invalid condition must not lead to a second finding, "no Python fits".
  if (!wanted) return true;  // has a finding of its own
  if (prefix) return HasPrefix(release.release, Join(wanted->release, ".")) == (op == "==");
  const std::strong_ordering order = CompareVersions(release, *wanted);
  if (op == "==") return order == 0;
  if (op == "!=") return order != 0;
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  if (op == ">") return order > 0;
  if (op == ">=") return order >= 0;
  std::vector<std::string> series = wanted->release;  // "~="
  if (series.size() > 1) series.pop_back();
  return order >= 0 && HasPrefix(release.release, Join(series, "."));
}

}  // namespace

bool HasRelease(const PythonRange& range, const Specifiers& specifiers) {
  for (int minor = range.first; minor <= range.last; ++minor) {
    for (int micro = 0; micro < kMostReleases; ++micro) {
      const Version release{
          .release = {std::to_string(range.major), std::to_string(minor), std::to_string(micro)},
          .pre_kind = {},
          .pre = {},
          .post = {},
          .dev = {},
          .local = {}};
      if (std::all_of(specifiers.begin(), specifiers.end(),
                      [&](const auto& one) { return Fulfils(release, one.first, one.second); }))
        return true;
    }
  }
  return false;
}

}  // namespace ptpkg::wheel
