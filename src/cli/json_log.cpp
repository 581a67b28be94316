#include "cli/json_log.h"

#include "support/display_json.h"
#include "support/display_text.h"
#include "support/json.h"

namespace ptpkg::cli {

std::string JsonLine(const Json& event) {
  return DisplayJson(event.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string JsonDocument(const Json& document) {
  return DisplayJson(document.dump(2, ' ', false, Json::error_handler_t::replace));
}

Json ErrorToJson(const Error& error) {
  std::vector<std::string> context;
  for (const std::string& frame : error.context()) context.push_back(MaskCredentials(frame));
  Json object = {{"code", ErrorCodeName(error.code())},
                 {"message", MaskCredentials(error.message())},
                 {"context", context},
                 {"hint", MaskCredentials(error.hint())}};
  if (error.span()) {
    object["file"] = error.span()->file.str();
    object["line"] = error.span()->line;
    object["column"] = error.span()->column;
  }
  return object;
}

}  // namespace ptpkg::cli
