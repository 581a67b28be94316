// A pin is a wheel's file name and digest. Name and version are read from the file name, so they cannot
// contradict it. Plans come from files, so a pin's file name must be a plain name: it becomes a path in the
// cache.

#include "builder/pip/locked_wheels.h"

#include <algorithm>
#include <array>
#include <fmt/core.h>

#include "support/text/json.h"
#include "support/text/text.h"

namespace ptpkg::builder {

namespace {

constexpr std::array<std::string_view, 3> kUses = {"toolkit", "build", "host"};

Result<WheelRole> RoleFromName(const std::string& name, std::string_view where) {
  const auto* found = std::find(kUses.begin(), kUses.end(), name);
  if (found != kUses.end()) return static_cast<WheelRole>(found - kUses.begin());
  return Error(ErrorCode::kInvalidInput, fmt::format("{}: '{}' is not a wheel role", where, name));
}

}  // namespace

Result<WheelPin> PinFromFileName(std::string_view file) {
  constexpr std::string_view kEnding = ".whl";
  const std::vector<std::string> parts = Split(file, '-');
  // name, version, perhaps a build number, and three tags
  const bool right = file.ends_with(kEnding) && (parts.size() == 5 || parts.size() == 6);
  if (!right || parts[0].empty() || parts[1].empty() || !RelPath::Parse(file) ||
      file.find('/') != std::string_view::npos) {
    return Error(ErrorCode::kInvalidInput, fmt::format("'{}' is not the name of a wheel", file));
  }
  WheelPin pin{.name = ToLower(parts[0]), .version = parts[1], .file = std::string(file), .sha256 = {}};
  for (char& c : pin.name) {
    if (c == '_' || c == '.') c = '-';
  }
  return pin;
}

Json LockedWheelsToJson(const LockedWheels& given) {
  Json pins = Json::array();
  for (const WheelPin& pin : given.pins) {
    pins.push_back({{"use", kUses.at(static_cast<std::size_t>(pin.use))},
                    {"file", pin.file},
                    {"sha256", pin.sha256.Hex()}});
  }
  return {{"requirements", given.names}, {"wheels", std::move(pins)}};
}

Result<LockedWheels> LockedWheelsFromJson(const Json& json, std::string_view where) {
  LockedWheels given;
  if (!json.is_object() || !json.contains("wheels") || !json.at("wheels").is_array()) {
    return Error(ErrorCode::kInvalidInput, fmt::format("{}: expected 'requirements' and 'wheels'", where));
  }
  PTPKG_TRY(given.names, JsonStringsOr(json, "requirements", {}, where));
  for (const Json& item : json.at("wheels")) {
    PTPKG_TRY(const std::string file, JsonString(item, "file", where));
    PTPKG_TRY(const std::string sha256, JsonString(item, "sha256", where));
    PTPKG_TRY(const std::string use, JsonString(item, "use", where));
    PTPKG_TRY(WheelPin pin, PinFromFileName(file));
    PTPKG_TRY(pin.sha256, Sha256::FromHex(sha256));
    PTPKG_TRY(pin.use, RoleFromName(use, where));
    given.pins.push_back(std::move(pin));
  }
  return given;
}

}  // namespace ptpkg::builder
