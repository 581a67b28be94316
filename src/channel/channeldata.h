#pragma once
// channeldata.json: one entry per package name over all subdirs. Layer: channel.
// Source: CEP 38; conda-index index/__init__.py _update_channeldata.

#include "channel/conda_record.h"

namespace ptpkg::channel {

/// `subdirs`: records by subdir name.
Json MakeChanneldata(const std::map<std::string, CondaRecords>& subdirs);

}  // namespace ptpkg::channel
