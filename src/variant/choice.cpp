#include "variant/choice.h"

namespace ptpkg::variant {

using recipe::Value;

std::optional<Value> ChosenValues::Read(const std::string& key) {
  const std::string normal = recipe::NormalizedKey(key);
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    for (const Axis::Column& column : axes_[i].columns) {
      if (column.key != normal) continue;
      // An axis without a choice gives its first value, so that one evaluation finds several open axes. The
      // result doesn't count then.
      const auto chosen = choice_.find(i);
      if (chosen == choice_.end()) open_.insert(i);
      const Value& value = column.values[chosen == choice_.end() ? 0 : chosen->second];
      used_.insert_or_assign(normal, value);
      return value;
    }
  }
  return std::nullopt;
}

void ChosenValues::NoteBuiltin(const std::string& key, const Value& value) {
  used_.insert_or_assign(key, value);
}

std::vector<std::string> ChosenValues::Keys() const {
  std::vector<std::string> keys;
  for (const Axis& axis : axes_) {
    for (const Axis::Column& column : axis.columns) keys.push_back(column.key);
  }
  return keys;
}

}  // namespace ptpkg::variant
