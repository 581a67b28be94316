#include "repair/name_tags.h"

namespace ptpkg::repair {

wheel::RetagRequest TagsOfName(const wheel::FileName& name, const wheel::WheelFile& said) {
  wheel::RetagRequest request;
  const bool differ = wheel::ExpandTags(said.tags) != wheel::ExpandTags({name.tag});
  if (differ || !said.tag_faults.empty()) request.platform = name.tag.platform;
  if (said.build != name.build) request.build = name.build;
  return request;
}

}  // namespace ptpkg::repair
