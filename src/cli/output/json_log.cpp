// The JSON that ptpkg prints is read by machines and by people at a terminal, and holds names from archives
// and servers. So it stays the same value for a parser, and harmless for a terminal. Layer: cli.

#include "cli/output/json_log.h"

#include "support/secret.h"
#include "support/text/display_json.h"
#include "support/text/display_text.h"
#include "support/text/json.h"

namespace ptpkg::cli {

std::string JsonLine(const Json& event) {
  // Escapes only what a terminal would obey. The text stays the same JSON value.
  return DisplayJson(event.dump(-1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

/// A path need not be UTF-8. The work that its document describes is done, so U+FFFD stands for such bytes,
/// where nlohmann's default would end the run with an exception.
std::string JsonDocument(const Json& document) {
  return DisplayJson(document.dump(2, ' ', false, Json::error_handler_t::replace));
}

/// Passwords in URLs are masked here: the writers after this (terminal_output.cpp) know remembered secrets
/// only.
Json ErrorToJson(const Error& error) {
  std::vector<std::string> context;
  for (const std::string& frame : error.context()) context.push_back(MaskAllSecrets(frame));
  Json object = {{"code", ErrorCodeName(error.code())},
                 {"message", MaskAllSecrets(error.message())},
                 {"context", context},
                 {"hint", MaskAllSecrets(error.hint())}};
  if (error.span()) {
    object["file"] = error.span()->file.str();
    object["line"] = error.span()->line;
    object["column"] = error.span()->column;
  }
  return object;
}

}  // namespace ptpkg::cli
