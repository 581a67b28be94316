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
  bool cuts_head = false;      ///< Closes before the blank line behind the headers.
  /// Answers when so many bytes of the request's body have come, and takes no more of them; 0: without asking
  /// for it by 100 Continue. Then waits for the client to leave.
  std::optional<std::size_t> answer_after = {};
  bool reset = false;  ///< With answer_after: closes on what it did not read, which resets the connection.
  bool knows_no_expect = false;    ///< Waits for the body without 100 Continue.
  bool leaves_length_out = false;  ///< The end of the connection is the end of the body.
};

struct StubRequest {
  std::string method;
  std::string target;                          ///< Path and query.
  std::map<std::string, std::string> headers;  ///< Names in lower case.
  std::string body;                            ///< What of it was read.
};

/// A socket on a free port of the loopback interface. Nobody else can bind the port, and until Listen it
/// refuses connections.
class BoundSocket {
 public:
  BoundSocket();
  BoundSocket(BoundSocket&&) = delete;
  BoundSocket& operator=(BoundSocket&&) = delete;
  ~BoundSocket();

  void Listen() const;
  [[nodiscard]] int fd() const { return fd_; }
  [[nodiscard]] int port() const { return port_; }

 private:
  int fd_ = -1;
  int port_ = 0;
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
  [[nodiscard]] int port() const { return listener_.port(); }

  /// Replies for `path` (without query) in this order; the last one stays. Unknown paths get 404.
  void ServeInTurn(const std::string& path, std::vector<StubReply> replies);
  void Serve(const std::string& path, StubReply reply) { ServeInTurn(path, {std::move(reply)}); }

  [[nodiscard]] std::vector<StubRequest> requests() const;

 private:
  void AcceptLoop();
  void Answer(int socket);
  /// Up to the blank line; what came of the body with it is in `body`.
  std::optional<StubRequest> ReadHead(int socket) const;
  /// Until `request.body` has `bytes`; false when the client leaves.
  bool ReadBody(int socket, std::size_t bytes, StubRequest& request) const;
  bool ReadMore(int socket, std::string& text) const;
  void Record(const StubRequest& request);
  void WaitForLeave(int socket) const;
  void Send(int socket, const StubReply& reply, bool without_body) const;
  bool SendAll(int socket, std::string_view bytes) const;
  StubReply NextReply(const StubRequest& request);

  BoundSocket listener_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::map<std::string, std::deque<StubReply>> replies_;
  std::vector<StubRequest> requests_;
  std::vector<std::thread> connections_;  // touched by the accepting thread, then by the destructor
  std::thread acceptor_;
};

}  // namespace ptpkg::test
