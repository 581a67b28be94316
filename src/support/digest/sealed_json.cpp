#include "support/digest/sealed_json.h"

#include "support/digest/hash.h"
#include "support/text/json.h"

namespace ptpkg {

Json SealJson(Json body) {
  std::string digest = HashText(body.dump()).Hex();
  return {{"digest", std::move(digest)}, {"body", std::move(body)}};
}

std::optional<Json> OpenSealedJson(Json sealed) {
  if (!sealed.is_object()) return std::nullopt;
  const auto body = sealed.find("body");
  if (body == sealed.end() || sealed.value("digest", Json()) != HashText(body->dump()).Hex())
    return std::nullopt;
  return std::move(*body);
}

}  // namespace ptpkg
