#include "convert/wheel_target.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>
#include <optional>

#include "convert/requirement_map.h"
#include "spec/build_string.h"
#include "spec/constraint.h"
#include "spec/python_version.h"
#include "spec/version_spec.h"
#include "support/text.h"
#include "wheel/requirement.h"

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

/// "3.11" of "cp311"; nullopt for other interpreters.
std::optional<std::string> CpythonVersion(std::string_view python_tag) {
  if (!python_tag.starts_with("cp3")) return std::nullopt;
  const Result<std::string> minor = spec::PythonMinor("3." + std::string(python_tag.substr(3)));
  return minor ? std::optional(*minor) : std::nullopt;
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

wheel::MarkerEnvironment MarkersFor(const std::string& python, std::string_view machine) {
  return {{"os_name", "posix"},
          {"sys_platform", "linux"},
          {"platform_system", "Linux"},
          {"platform_machine", std::string(machine)},
          {"platform_python_implementation", "CPython"},
          {"platform_release", ""},
          {"platform_version", ""},
          {"implementation_name", "cpython"},
          {"implementation_version", python + ".0"},
          {"python_version", python},
          {"python_full_version", python + ".0"}};
}

Result<std::string> ChoosePython(const wheel::WheelInfo& info, const std::string& wanted) {
  const wheel::Tag& first = info.tags.front();
  const bool several = first.abi == "abi3" || first.abi == "none";
  if (!several) {
    const auto version = CpythonVersion(first.python);
    if (!version) {
      return Error(ErrorCode::kUnsupported, fmt::format("the tag '{}' is not of CPython 3", first.str()));
    }
    return *version;
  }
  if (const auto floor = CpythonVersion(first.python)) {
    PTPKG_TRY(const bool fits, spec::VersionMatches(wanted, ">=" + *floor));
    if (!fits) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the wheel needs Python {} or later, --python is {}", *floor, wanted));
    }
  }
  return wanted;
}

/// ">=3.11.4" excludes some releases of 3.11, not all.
Result<bool> SomePatchReleaseFits(const std::string& minor, const std::string& constraint) {
  PTPKG_TRY(const spec::Constraint releases,
            spec::Constraint::Of({.name = "python", .version = minor + ".*"}));
  PTPKG_TRY(const spec::Constraint wanted, spec::Constraint::Of({.name = "python", .version = constraint}));
  return spec::CanMeet(std::array{releases, wanted});
}

}  // namespace

Result<std::string> PythonOption(std::string_view python) {
  Result<std::string> minor = spec::PythonMinor(python);
  if (minor) return minor;
  return Error(ErrorCode::kUsage, fmt::format("--python: {}", minor.error().message()))
      .WithHint(minor.error().hint());
}

Result<WheelTarget> TargetOf(const wheel::WheelInfo& info, const std::string& python) {
  WheelTarget target;
  const bool any = std::all_of(info.tags.begin(), info.tags.end(), [](const wheel::Tag& tag) {
    return tag.platform == "any" && tag.abi == "none";
  });
  const std::string requires_python(info.metadata.Get("Requires-Python"));
  PTPKG_TRY(const std::string wanted, PythonOption(python));
  PTPKG_TRY(target.python, ChoosePython(info, wanted));
  std::string constraint;
  if (!requires_python.empty()) {
    PTPKG_TRY(const wheel::Requirement parsed, wheel::ParseRequirement("python" + requires_python));
    constraint = CondaConstraint(parsed.specifiers);
    PTPKG_TRY(const bool fits, SomePatchReleaseFits(target.python, constraint));
    if (!fits) {
      return Error(ErrorCode::kInvalidInput,
                   fmt::format("the wheel requires Python '{}', which {} does not satisfy", requires_python,
                               target.python));
    }
  }
  if (any) {
    target.noarch = true;
    target.site_packages = "site-packages";
    target.subdir = "noarch";
    target.build_prefix = "py";
    target.depends.push_back(constraint.empty() ? "python" : "python " + constraint);
    target.markers = MarkersFor(target.python, "x86_64");
    return target;
  }
  const std::string& platform = info.tags.front().platform;
  const auto machine = std::find_if(kMachines.begin(), kMachines.end(), [&](const Machine& known) {
    return platform.ends_with(known.tag) && platform.find("linux") != std::string::npos;
  });
  if (machine == kMachines.end()) {
    return Error(ErrorCode::kUnsupported,
                 fmt::format("platform '{}' has no conda subdir that ptpkg writes", platform))
        .WithHint("wheels for linux and pure Python wheels can be converted");
  }
  target.site_packages = fmt::format("lib/python{}/site-packages", target.python);
  target.subdir = machine->subdir;
  target.build_prefix = "py" + spec::VersionDigits(target.python, 2);
  PTPKG_TRY(const std::string pin, spec::PythonPin(target.python));
  target.depends.push_back("python " + pin);
  if (const std::string glibc = LowestGlibc(info.tags); !glibc.empty()) {
    target.depends.push_back(fmt::format("__glibc >={},<3.0.a0", glibc));
  }
  target.markers = MarkersFor(target.python, machine->tag);
  return target;
}

}  // namespace ptpkg::convert
