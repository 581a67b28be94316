#pragma once
// Forward declaration of Json, for faster compiles. Layer: support. A source that looks into a value includes
// support/text/json.h.

#include <memory>
#include <nlohmann/json_fwd.hpp>

namespace ptpkg {

/// Keys in byte order: output never depends on insertion order.
using Json = nlohmann::json;

/// A Json as a member of a struct whose header does not know Json's size. Copies are deep. A moved-from box
/// may only be assigned or destroyed.
class JsonBox {
 public:
  JsonBox();  ///< An empty object.
  // NOLINTNEXTLINE(google-explicit-constructor): the box is a detail of the struct that holds it
  JsonBox(Json value);
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&& other) noexcept;
  JsonBox& operator=(JsonBox other) noexcept;
  ~JsonBox();

  [[nodiscard]] const Json& operator*() const { return *value_; }
  [[nodiscard]] Json& operator*() { return *value_; }

 private:
  std::unique_ptr<Json> value_;
};

}  // namespace ptpkg
