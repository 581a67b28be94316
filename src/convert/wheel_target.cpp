// Chooses the conda package that a wheel becomes: subdir, Python, dependencies, and the environments in which
// its markers are evaluated.
// 1. Tags that no CPython 3 under Linux accepts are dropped. Free-threaded tags stay only if there are no
//    others, because one package can't use the site-packages of both.
// 2. One exact Python makes a package for that Python, with its ABI pinned by python_abi from 3.13 on.
// 3. Tags for several Pythons make a noarch package, with a subdir of its own for compiled files (CEP 20). An
//    abi3 wheel also depends on _python_abi3_support, which free-threaded Pythons don't satisfy.
// 4. glibc becomes a '__glibc' dependency. The lowest tag counts, because each tag of a set is a declaration
//    that the files run there.
// A noarch package has no markers, so they are evaluated for the first and the last patch release of each
// admitted Python, and requirement_map.cpp joins the results.

#include "convert/wheel_target.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>
#include <set>

#include "convert/requirement_map.h"
#include "support/text/text.h"
#include "versions/build_string.h"
#include "versions/constraint.h"
#include "versions/python_version.h"
#include "versions/version_spec.h"
#include "wheel/metadata/requirement.h"

namespace ptpkg::convert {

namespace {

struct Machine {
  std::string_view tag;     // end of a platform tag
  std::string_view subdir;  // of conda
};
constexpr std::array<Machine, 4> kMachines = {{{"x86_64", "linux-64"},
                                               {"aarch64", "linux-aarch64"},
                                               {"ppc64le", "linux-ppc64le"},
                                               {"s390x", "linux-s390x"}}};

/// A python tag of PEP 425, taken apart.
struct PythonTag {
  bool exact = false;   // "cp39": this version alone, unless the ABI is abi3
  std::string version;  // "3.9"; "" of "py3"
};

/// nullopt for Python 2 and other interpreters.
std::optional<PythonTag> ReadPythonTag(std::string_view tag) {
  if (tag == "py3") return PythonTag{};
  if (!tag.starts_with("cp3") && !tag.starts_with("py3")) return std::nullopt;
  const Result<std::string> minor = versions::PythonMinor("3." + std::string(tag.substr(3)));
  if (!minor) return std::nullopt;
  return PythonTag{.exact = tag.starts_with("cp"), .version = *minor};
}

bool IsLinux(std::string_view platform) {
  return platform.starts_with("linux_") || platform.starts_with("manylinux");
}

Error NoSubdir(std::string_view platform) {
  return Error(ErrorCode::kUnsupported,
               fmt::format("ptpkg writes no conda packages for the platform '{}'", platform))
      .WithHint("wheels for linux with glibc and pure Python wheels can be converted");
}

/// Free-threaded CPython: "cp313t".
bool IsFreeThreaded(const wheel::Tag& tag) { return tag.abi == tag.python + "t"; }

/// True if conda's Pythons have the ABI: none, abi3, "cp313", "cp37m" and "cp313t". Debug builds ("cp313d")
/// are not among them, and the stable ABI of the free-threaded ones ("abi3t") has no package to depend on.
bool IsKnownAbi(const wheel::Tag& tag) {
  constexpr std::string_view kCPython = "cp3";
  if (tag.abi == "none" || tag.abi == "abi3" || IsFreeThreaded(tag)) return true;
  if (!tag.abi.starts_with(kCPython)) return false;
  std::string_view rest = std::string_view(tag.abi).substr(kCPython.size());
  while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') rest.remove_prefix(1);
  return rest.empty() || rest == "m";
}

Error NoAbi(const wheel::Tag& tag) {
  return Error(ErrorCode::kUnsupported,
               fmt::format("the tag '{}' is for the ABI '{}', which conda's Python does not have", tag.str(),
                           tag.abi))
      .WithHint("wheels for cp3XY, cp3XYt, abi3 and none can be converted");
}

/// The plain tags of `info` that CPython 3 under Linux takes. Either all or none are for free-threaded ones:
/// one package cannot lie in the directories of both.
Result<std::vector<wheel::Tag>> UsableTags(const wheel::WheelInfo& info) {
  std::vector<wheel::Tag> usable;
  std::optional<Error> error;
  for (const wheel::Tag& set : info.tags) {
    for (wheel::Tag& tag : wheel::ExpandTag(set)) {
      if (!ReadPythonTag(tag.python)) {
        if (!error) {
          error = Error(ErrorCode::kUnsupported, fmt::format("the tag '{}' is not for CPython 3", tag.str()));
        }
      } else if (tag.platform != "any" && !IsLinux(tag.platform)) {
        if (!error) error = NoSubdir(tag.platform);
      } else if (!IsKnownAbi(tag)) {
        if (!error) error = NoAbi(tag);
      } else {
        usable.push_back(std::move(tag));
      }
    }
  }
  if (usable.empty()) return error.value_or(Error(ErrorCode::kInvalidInput, "the wheel has no tags"));
  if (!std::all_of(usable.begin(), usable.end(), IsFreeThreaded)) std::erase_if(usable, IsFreeThreaded);
  return usable;
}

/// The lowest glibc that the tags ask for: "2.28" of manylinux_2_28. "" without one.
std::string LowestGlibc(const std::vector<wheel::Tag>& tags) {
  static constexpr std::array<std::pair<std::string_view, int>, 3> kLegacy = {
      {{"manylinux1_", 5}, {"manylinux2010_", 12}, {"manylinux2014_", 17}}};
  int lowest = 0;
  for (const wheel::Tag& tag : tags) {
    int minor = 0;
    for (const auto& [prefix, value] : kLegacy) {
      if (tag.platform.starts_with(prefix)) minor = value;
    }
    constexpr std::string_view kPerennial = "manylinux_2_";
    if (tag.platform.starts_with(kPerennial)) {
      for (std::size_t i = kPerennial.size();
           i < tag.platform.size() && tag.platform[i] != '_' && minor < 1000; ++i) {
        minor = minor * 10 + (tag.platform[i] - '0');
      }
    }
    if (minor > 0 && (lowest == 0 || minor < lowest)) lowest = minor;
  }
  return lowest == 0 ? "" : fmt::format("2.{}", lowest);
}

/// `python`: "3.11.0".
wheel::MarkerEnvironment MarkersFor(const std::string& python, std::string_view machine) {
  return {{"os_name", "posix"},
          {"sys_platform", "linux"},
          {"platform_system", "Linux"},
          {"platform_machine", std::string(machine)},
          {"platform_python_implementation", "CPython"},
          {"platform_release", ""},
          {"platform_version", ""},
          {"implementation_name", "cpython"},
          {"implementation_version", python},
          {"python_version", python.substr(0, python.rfind('.'))},
          {"python_full_version", python}};
}

int MinorOf(const std::string& version) { return std::stoi(version.substr(version.find('.') + 1)); }

/// One of Pythons that the tags name one by one; "" for all of them, whose files are the same.
Result<std::string> ChooseExactPython(const std::vector<wheel::Tag>& tags, const std::set<int>& minors,
                                      const std::string& wanted) {
  std::vector<std::string> versions;
  for (const int minor : minors) versions.push_back(fmt::format("3.{}", minor));
  if (wanted.starts_with("3.") && minors.contains(MinorOf(wanted))) return wanted;
  if (!wanted.empty()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("the wheel is only for Python {}, but --python is {}",
                                                       Join(versions, ", "), wanted))
        .WithHint(versions.size() == 1 ? "remove --python: the tags of the wheel determine it"
                                       : "use a Python from the tags of the wheel");
  }
  if (versions.size() == 1) return versions.front();
  if (std::all_of(tags.begin(), tags.end(), [](const wheel::Tag& tag) { return tag.abi == "none"; }))
    return wanted;
  return Error(ErrorCode::kInvalidInput,
               fmt::format("the wheel is for Python {}, which have different ABIs", Join(versions, ", ")))
      .WithHint(fmt::format("choose one of them: --python {}", Join(versions, ",")));
}

/// `wanted`, or the only one that the tags are for; "" for tags that fit several when none is wanted.
Result<std::string> ChoosePython(const std::vector<wheel::Tag>& tags, const std::string& wanted) {
  std::set<int> exact;
  for (const wheel::Tag& tag : tags) {
    const PythonTag python = ReadPythonTag(tag.python).value_or(PythonTag{});
    if (python.version.empty()) return wanted;
    if (python.exact && tag.abi != "abi3") {
      if (python.version == wanted) return wanted;
      exact.insert(MinorOf(python.version));
      continue;
    }
    if (wanted.empty()) return wanted;
    PTPKG_TRY(const bool fits, versions::VersionMatches(wanted, ">=" + python.version));
    if (fits) return wanted;
    return Error(
        ErrorCode::kInvalidInput,
        fmt::format("the wheel needs Python {} or later, but --python is {}", python.version, wanted));
  }
  return ChooseExactPython(tags, exact, wanted);
}

/// ">=3.11.4" excludes some releases of 3.11, not all.
Result<bool> SomePatchReleaseFits(const std::string& minor, const std::string& constraint) {
  PTPKG_TRY(const versions::Constraint releases,
            versions::Constraint::Of({.name = "python", .version = minor + ".*"}));
  PTPKG_TRY(const versions::Constraint wanted,
            versions::Constraint::Of({.name = "python", .version = constraint}));
  return versions::CanBeSatisfied(std::array{releases, wanted});
}

/// Requires-Python as conda's conditions. Errors: kInvalidInput when it excludes `python`, unless
/// that is "".
Result<std::set<std::string>> RequiredPythons(const wheel::WheelInfo& info, const std::string& python) {
  const std::string text(Trim(info.metadata.Get("Requires-Python")));
  if (text.empty()) return std::set<std::string>();
  // The blank keeps "3.8", which is not a condition, from becoming a part of the name.
  const Result<wheel::Requirement> parsed = wheel::ParseRequirement("python " + text);
  if (!parsed) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the wheel's Requires-Python '{}' is not a list of version conditions", text))
        .WithHint("write it like '>=3.10'");
  }
  const std::string constraint = CondaConstraint(parsed->specifiers);
  PTPKG_TRY(const bool fits, python.empty() ? Result<bool>(true) : SomePatchReleaseFits(python, constraint));
  if (!fits) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("the wheel requires Python '{}', which {} does not satisfy", text, python));
  }
  const std::vector<std::string> terms = Split(constraint, ',');
  return std::set<std::string>(terms.begin(), terms.end());
}

/// The Pythons that the tags are for: "py39", and "cp39" with abi3, is 3.9 and later, "cp39" 3.9 alone.
std::set<std::string> PythonsOfTags(const std::vector<wheel::Tag>& tags) {
  std::set<int> exact;
  std::optional<int> floor;
  for (const wheel::Tag& tag : tags) {
    const PythonTag python = ReadPythonTag(tag.python).value_or(PythonTag{});
    if (python.version.empty()) return {};
    const int minor = MinorOf(python.version);
    if (python.exact && tag.abi != "abi3") {
      exact.insert(minor);
    } else {
      floor = std::min(minor, floor.value_or(minor));
    }
  }
  if (floor) return {fmt::format(">=3.{}", std::min(*floor, exact.empty() ? *floor : *exact.begin()))};
  std::set<std::string> terms = {fmt::format(">=3.{}", *exact.begin()),
                                 fmt::format("<3.{}.0a0", *exact.rbegin() + 1)};
  for (int minor = *exact.begin(); minor < *exact.rbegin(); ++minor) {
    if (!exact.contains(minor)) terms.insert(fmt::format("!=3.{}.*", minor));
  }
  return terms;
}

/// The markers of every Python that `constraint` admits on `machines`, under Linux: what only other systems
/// need may not even exist for Linux.
Result<std::vector<wheel::MarkerEnvironment>> NoarchMarkers(const std::string& constraint,
                                                            const std::vector<std::string_view>& machines) {
  // Backports for older Pythons refuse to be installed beside today's.
  constexpr int kOldest = 7;
  constexpr int kNewest = 20;
  std::vector<wheel::MarkerEnvironment> markers;
  for (int minor = kOldest; minor <= kNewest; ++minor) {
    // The first and the last of 3.9, for "python_full_version < '3.9.2'".
    for (const int patch : {0, 99}) {
      const std::string python = fmt::format("3.{}.{}", minor, patch);
      PTPKG_TRY(const bool fits, versions::VersionMatches(python, constraint));
      if (!fits) continue;
      for (const std::string_view machine : machines) markers.push_back(MarkersFor(python, machine));
    }
  }
  return markers;
}

/// Targets one Python: the files go into its own directory.
Result<void> MakeForOne(bool free_threaded, std::string_view machine, WheelTarget& target) {
  // The first Python that also exists with another ABI in another directory.
  constexpr int kFirstFreeThreaded = 13;
  const std::string_view suffix = free_threaded ? "t" : "";
  const std::string digits = versions::VersionDigits(target.python, 2);
  target.site_packages = fmt::format("lib/python{}{}/site-packages", target.python, suffix);
  target.build_prefix = free_threaded ? fmt::format("cp{}t", digits) : "py" + digits;
  PTPKG_TRY(const std::string pin, versions::PythonPin(target.python));
  target.depends.push_back("python " + pin);
  if (MinorOf(target.python) >= kFirstFreeThreaded)
    target.depends.push_back(fmt::format("python_abi {}.* *_cp{}{}", target.python, digits, suffix));
  target.markers = {MarkersFor(target.python + ".0", machine)};
  return Ok();
}

/// For every Python that `python`, conda's conditions, admits: the installer puts the files where its Python
/// looks for them.
Result<void> MakeNoarch(const std::set<std::string>& python, const std::vector<std::string_view>& machines,
                        WheelTarget& target) {
  const std::string constraint = Join(std::vector<std::string>(python.begin(), python.end()), ",");
  target.noarch = true;
  target.site_packages = "site-packages";
  target.depends.push_back(constraint.empty() ? "python" : "python " + constraint);
  PTPKG_TRY(target.markers, NoarchMarkers(constraint, machines));
  if (target.markers.empty() && target.python.empty()) {
    return Error(ErrorCode::kInvalidInput,
                 fmt::format("no Python satisfies both the tags and Requires-Python: '{}'", constraint));
  }
  if (target.markers.empty()) target.markers = {MarkersFor(target.python + ".0", machines.front())};
  if (target.python.empty()) target.python = target.markers.front().find("python_version")->second;
  return Ok();
}

const Machine* MachineOf(const std::vector<wheel::Tag>& tags) {
  for (const wheel::Tag& tag : tags) {
    if (tag.platform == "any") continue;
    const auto* const machine = std::find_if(kMachines.begin(), kMachines.end(), [&](const Machine& known) {
      return tag.platform.ends_with(known.tag);
    });
    return machine == kMachines.end() ? nullptr : machine;
  }
  return nullptr;
}

}  // namespace

Result<std::string> PythonOption(std::string_view python) {
  Result<std::string> minor = versions::PythonMinor(python);
  if (minor) return minor;
  return Error(ErrorCode::kUsage, fmt::format("--python: {}", minor.error().message()))
      .WithHint(minor.error().hint());
}

Result<WheelTarget> TargetOf(const wheel::WheelInfo& info, const std::string& python) {
  std::string wanted;
  if (!python.empty()) {
    PTPKG_TRY(wanted, PythonOption(python));
  }
  PTPKG_TRY(const std::vector<wheel::Tag> tags, UsableTags(info));
  WheelTarget target;
  PTPKG_TRY(target.python, ChoosePython(tags, wanted));
  PTPKG_TRY(std::set<std::string> constraint, RequiredPythons(info, target.python));
  const bool any = std::all_of(tags.begin(), tags.end(), [](const wheel::Tag& tag) {
    return tag.platform == "any" && tag.abi == "none";
  });
  if (any) {
    constraint.merge(PythonsOfTags(tags));
    PTPKG_CHECK(MakeNoarch(constraint, {"x86_64", "aarch64"}, target));
    target.subdir = "noarch";
    target.build_prefix = "py";
    return target;
  }
  const Machine* const machine = MachineOf(tags);
  if (machine == nullptr) {
    const auto platform =
        std::find_if(tags.begin(), tags.end(), [](const wheel::Tag& tag) { return tag.platform != "any"; });
    return NoSubdir(platform == tags.end() ? "any" : platform->platform);
  }
  target.subdir = machine->subdir;
  if (target.python.empty()) {  // CEP 20
    constraint.merge(PythonsOfTags(tags));
    PTPKG_CHECK(MakeNoarch(constraint, {machine->tag}, target));
    const bool stable =
        std::any_of(tags.begin(), tags.end(), [](const wheel::Tag& tag) { return tag.abi == "abi3"; });
    target.build_prefix = stable ? "abi3" : "py";
    // conda-forge's package that needs python-gil, which no free-threaded Python satisfies.
    if (stable) target.depends.emplace_back("_python_abi3_support 1.*");
  } else {
    PTPKG_CHECK(MakeForOne(IsFreeThreaded(tags.front()), machine->tag, target));
  }
  if (const std::string glibc = LowestGlibc(tags); !glibc.empty()) {
    target.depends.push_back(fmt::format("__glibc >={},<3.0.a0", glibc));
  }
  return target;
}

}  // namespace ptpkg::convert
