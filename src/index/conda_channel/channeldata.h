#pragma once
// Writes channeldata.json over all subdirs. Layer: index. Source: CEP 38; conda-index index/__init__.py
// _update_channeldata.

#include "index/conda_channel/conda_record.h"

namespace ptpkg::index {

/// `subdirs`: records by subdir name.
Json MakeChanneldata(const std::map<std::string, CondaRecords>& subdirs);

}  // namespace ptpkg::index
