#pragma once
// Serialises reports as JSON. Layer: model.

#include "model/finding.h"
#include "support/text/json.h"

namespace ptpkg {

Json ReportToJson(const Report& report);
/// Errors: kInvalidInput naming `where`.
Result<Report> ReportFromJson(const Json& json, std::string_view where);

}  // namespace ptpkg
