// The public functions of LIEF's logging.cpp, where there is nothing to log.
#include <LIEF/logging.hpp>

namespace LIEF {
namespace logging {

const char* to_string(LOGGING_LEVEL) { return ""; }
void disable() {}
void enable() {}
void set_level(LOGGING_LEVEL) {}

}  // namespace logging
}  // namespace LIEF
