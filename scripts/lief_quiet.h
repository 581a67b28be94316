#pragma once
// Goes before every source of LIEF (lief_build.cmake): its logging.hpp without messages, and so without spdlog.
#define LIEF_PRIVATE_LOGGING_H_

#include <LIEF/config.h>
#include <LIEF/logging.hpp>
#include <chrono>
#include <memory>
#include <spdlog/fmt/fmt.h>
#include <unordered_map>

#define LIEF_TRACE(...) static_cast<void>(0)
#define LIEF_DEBUG(...) static_cast<void>(0)
#define LIEF_INFO(...) static_cast<void>(0)
#define LIEF_WARN(...) static_cast<void>(0)
#define LIEF_ERR(...) static_cast<void>(0)
#define LIEF_SW_START(watch)
#define LIEF_SW_END(...)
#define CHECK(condition, ...) static_cast<void>(condition)

// Its sources name these without std::, as logging.hpp lets them.
using std::chrono::duration_cast;
using std::chrono::milliseconds;
