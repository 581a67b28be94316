// Json holds any bytes in its texts and checks them only when it is written, where dump() throws or replaces
// them. A path that was replaced would lead nowhere, so it is refused before.

#include "support/text/json_utf8.h"

#include <fmt/core.h>

#include "support/text/json.h"
#include "support/text/utf8.h"

namespace ptpkg {
namespace {

/// nullptr: all are. `value` may be as deep as a parsed one, which has a limit.
const std::string* FirstBadText(const Json& value) {  // NOLINT(misc-no-recursion): see above
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    return IsUtf8(text) ? nullptr : &text;
  }
  if (value.is_object()) {
    for (const auto& [key, member] : value.get_ref<const Json::object_t&>()) {
      if (!IsUtf8(key)) return &key;
      if (const std::string* bad = FirstBadText(member)) return bad;
    }
  }
  if (value.is_array()) {
    for (const Json& item : value) {
      if (const std::string* bad = FirstBadText(item)) return bad;
    }
  }
  return nullptr;
}

Error NotUtf8(std::string_view what, const std::string& text) {
  return Error(ErrorCode::kUsage,
               fmt::format("{}: '{}' is not UTF-8, but ptpkg stores it in JSON, which must be UTF-8", what,
                           Printable(text)))
      .WithHint("use a directory whose full path is UTF-8, or a symlink with such a path");
}

}  // namespace

Result<void> CheckUtf8(const Json& value, std::string_view what) {
  if (const std::string* bad = FirstBadText(value)) return NotUtf8(what, *bad);
  return Ok();
}

Result<void> CheckUtf8(const std::string& text, std::string_view what) {
  if (!IsUtf8(text)) return NotUtf8(what, text);
  return Ok();
}

}  // namespace ptpkg
