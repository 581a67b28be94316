#include "repair/name_tags.h"

#include <set>

namespace ptpkg::repair {

wheel::RetagRequest TagsOfName(const wheel::FileName& name, const wheel::WheelFile& said) {
  wheel::RetagRequest request;
  const std::vector<wheel::Tag> due = wheel::ExpandTag(name.tag);
  std::set<wheel::Tag> tags;
  for (const wheel::Tag& tag : said.tags) {
    for (const wheel::Tag& one : wheel::ExpandTag(tag)) tags.insert(one);
  }
  const bool differ = tags != std::set<wheel::Tag>(due.begin(), due.end());
  if (differ || !said.tag_faults.empty()) request.platform = name.tag.platform;
  if (said.build != name.build) request.build = name.build;
  return request;
}

}  // namespace ptpkg::repair
