#pragma once
// CLI11's help formatter in our layout. Layer: cli.

#include <memory>

namespace CLI {
class FormatterBase;
}

namespace ptpkg::cli {

/// Pages whose lines have at most `width` columns, a long word or a usage line excepted.
std::shared_ptr<CLI::FormatterBase> MakeHelpFormatter(std::size_t width);

}  // namespace ptpkg::cli
