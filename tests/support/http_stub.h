#pragma once
// A small HTTP/1.1 server on the loopback interface, with faults. One thread per connection.

#include <atomic>
#include <chrono>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace ptpkg::test {

struct StubReply {
  int status = 200;
  std::map<std::string, std::string> headers = {};  ///< Content-Length is added.
  std::string body = {};
  std::optional<std::size_t> truncate_after = {};  ///< Closes after so many bytes of the body.
  std::chrono::milliseconds delay{0};              ///< Before the first byte.
  std::optional<std::size_t> stall_after =
      {};                      ///< Sends so many bytes, then nothing until the client leaves.
  bool close_at_once = false;  ///< No answer at all.
};

struct StubRequest {
  std::string method;
  std::string target;                          ///< Path and query.
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;
};

class HttpStub {
 public:
  HttpStub();
  HttpStub(HttpStub&&) = delete;
  HttpStub& operator=(HttpStub&&) = delete;
  /// Ends all connections.
  ~HttpStub();

  /// "http://127.0.0.1:<port><path>"
  [[nodiscard]] std::string Url(const std::string& path) const;
  [[nodiscard]] int port() const { return port_; }

  /// Replies for `path` (without query) in this order; the last one stays. Unknown paths get 404.
  void ServeInTurn(const std::string& path, std::vector<StubReply> replies);
  void Serve(const std::string& path, StubReply reply) { ServeInTurn(path, {std::move(reply)}); }

  [[nodiscard]] std::vector<StubRequest> requests() const;

 private:
  void AcceptLoop();
  void Answer(int socket);
  std::optional<StubRequest> ReadRequest(int socket) const;
  void Send(int socket, const StubReply& reply) const;
  bool SendAll(int socket, std::string_view bytes) const;
  StubReply NextReply(const StubRequest& request);

  int listener_ = -1;
  int port_ = 0;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<StubReply>> replies_;
  std::vector<StubRequest> requests_;
  std::vector<std::thread> connections_;  // touched by the accepting thread, then by the destructor
  std::thread acceptor_;
};

}  // namespace ptpkg::test
