#pragma once
// Child processes that a test scripts.

#include <fmt/core.h>
#include <map>
#include <mutex>
#include <vector>

#include "support/error.h"
#include "support/process/process.h"

namespace ptpkg::test {

class FakeProcess final : public Process {
 public:
  using Handler = std::function<Result<ExitStatus>(const Command&)>;

  /// `program`: the last component of argv[0]. The last handler of a program wins.
  void On(const std::string& program, Handler handler) {
    handlers_.insert_or_assign(program, std::move(handler));
  }

  /// The program prints `output` and ends with `code`.
  void Answer(const std::string& program, int code, const std::string& output) {
    On(program, [code, output](const Command&) {
      ExitStatus status;
      status.code = code;
      status.output = output;
      return status;
    });
  }

  /// kNotFound for a program without handler. Gives the status' output to on_line, line by line.
  Result<ExitStatus> Run(const Command& command) override {
    {
      const std::lock_guard lock(mutex_);
      commands_.push_back(command);
    }
    if (command.cancel != nullptr) PTPKG_CHECK(command.cancel->Check());
    const std::string program = command.argv.at(0).substr(command.argv.at(0).rfind('/') + 1);
    const auto handler = handlers_.find(program);
    if (handler == handlers_.end()) {
      return Error(ErrorCode::kNotFound, fmt::format("program '{}' was not found", command.argv.at(0)));
    }
    PTPKG_TRY(ExitStatus status, handler->second(command));
    if (command.on_line) {
      std::string_view rest = status.output;
      while (!rest.empty()) {
        const std::size_t end = rest.find('\n');
        command.on_line(rest.substr(0, end));
        rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
      }
    }
    return status;
  }

  /// All commands so far, in order. Their on_line and cancel may dangle.
  [[nodiscard]] const std::vector<Command>& commands() const { return commands_; }

 private:
  std::mutex mutex_;
  std::map<std::string, Handler> handlers_;
  std::vector<Command> commands_;
};

}  // namespace ptpkg::test
