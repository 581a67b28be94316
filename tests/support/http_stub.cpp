#include "support/http_stub.h"

#include <algorithm>
#include <arpa/inet.h>
#include <array>
#include <charconv>
#include <fmt/core.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdexcept>
#include <sys/socket.h>
#include <unistd.h>

namespace ptpkg::test {
namespace {

constexpr int kPollMs = 20;  // how soon a stopping server is noticed

std::string Lower(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return text;
}

std::size_t BodyBytes(const StubRequest& request) {
  std::size_t bytes = 0;
  if (const auto length = request.headers.find("content-length"); length != request.headers.end()) {
    std::from_chars(length->second.data(), length->second.data() + length->second.size(), bytes);
  }
  return bytes;
}

bool IsReadable(int socket) {
  pollfd fd{socket, POLLIN, 0};
  return ::poll(&fd, 1, kPollMs) > 0;
}

}  // namespace

BoundSocket::BoundSocket() : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  if (fd_ < 0 || ::bind(fd_, generic, length) != 0 || ::getsockname(fd_, generic, &length) != 0)
    throw std::runtime_error("cannot bind a port of the loopback interface");
  port_ = ntohs(address.sin_port);
}

BoundSocket::~BoundSocket() { ::close(fd_); }

void BoundSocket::Listen() const {
  if (::listen(fd_, 16) != 0) throw std::runtime_error("cannot listen on the loopback interface");
}

HttpStub::HttpStub() {
  listener_.Listen();
  acceptor_ = std::thread([this] { AcceptLoop(); });
}

HttpStub::~HttpStub() {
  stopping_ = true;
  acceptor_.join();
  for (std::thread& connection : connections_) connection.join();
}

std::string HttpStub::Url(const std::string& path) const {
  return fmt::format("http://127.0.0.1:{}{}", port(), path);
}

void HttpStub::ServeInTurn(const std::string& path, std::vector<StubReply> replies) {
  const std::lock_guard lock(mutex_);
  replies_.insert_or_assign(path, std::deque<StubReply>(replies.begin(), replies.end()));
}

std::vector<StubRequest> HttpStub::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

void HttpStub::AcceptLoop() {
  while (!stopping_) {
    if (!IsReadable(listener_.fd())) continue;
    const int socket = ::accept4(listener_.fd(), nullptr, nullptr, SOCK_CLOEXEC);
    if (socket < 0) continue;
    connections_.emplace_back([this, socket] {
      Answer(socket);
      ::close(socket);
    });
  }
}

void HttpStub::Answer(int socket) {
  std::optional<StubRequest> request = ReadHead(socket);
  if (!request) return;
  const StubReply reply = NextReply(*request);
  const std::size_t body_bytes = BodyBytes(*request);
  const std::size_t wanted = std::min(reply.answer_after.value_or(body_bytes), body_bytes);
  if (request->headers.contains("expect") && wanted > 0 && !reply.knows_no_expect) {
    SendAll(socket, "HTTP/1.1 100 Continue\r\n\r\n");
  }
  if (!ReadBody(socket, wanted, *request)) return;
  Record(*request);
  const auto until = std::chrono::steady_clock::now() + reply.delay;
  while (std::chrono::steady_clock::now() < until && !stopping_) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (reply.close_at_once) return;
  Send(socket, reply, request->method == "HEAD");
  if (wanted < body_bytes && !reply.reset) WaitForLeave(socket);
}

bool HttpStub::ReadMore(int socket, std::string& text) const {
  while (!stopping_) {
    if (!IsReadable(socket)) continue;
    std::array<char, 16384> buffer{};
    const ssize_t got = ::recv(socket, buffer.data(), buffer.size(), 0);
    if (got <= 0) return false;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    return true;
  }
  return false;
}

bool HttpStub::ReadBody(int socket, std::size_t bytes, StubRequest& request) const {
  while (request.body.size() < bytes) {
    if (!ReadMore(socket, request.body)) return false;
  }
  request.body.resize(bytes);
  return true;
}

std::optional<StubRequest> HttpStub::ReadHead(int socket) const {
  std::string text;
  std::size_t blank = std::string::npos;
  while (blank == std::string::npos) {
    if (!ReadMore(socket, text)) return std::nullopt;
    blank = text.find("\r\n\r\n");
  }
  StubRequest request;
  request.body = text.substr(blank + 4);
  std::size_t line_end = text.find("\r\n");
  const std::string first = text.substr(0, line_end);
  request.method = first.substr(0, first.find(' '));
  request.target = first.substr(request.method.size() + 1, first.rfind(' ') - request.method.size() - 1);
  while (line_end < blank) {
    const std::size_t begin = line_end + 2;
    line_end = text.find("\r\n", begin);
    const std::string line = text.substr(begin, line_end - begin);
    const std::size_t colon = line.find(':');
    if (colon == std::string::npos) continue;
    const std::size_t value = line.find_first_not_of(' ', colon + 1);
    request.headers[Lower(line.substr(0, colon))] = value == std::string::npos ? "" : line.substr(value);
  }
  return request;
}

void HttpStub::Record(const StubRequest& request) {
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
}

void HttpStub::WaitForLeave(int socket) const {
  ::shutdown(socket, SHUT_WR);
  // Discards what comes, as servers do that want their answer read.
  for (std::string rest; ReadMore(socket, rest);) rest.clear();
}

StubReply HttpStub::NextReply(const StubRequest& request) {
  const std::lock_guard lock(mutex_);
  const auto found = replies_.find(request.target.substr(0, request.target.find('?')));
  if (found == replies_.end() || found->second.empty()) return {.status = 404, .body = "no such page"};
  StubReply reply = found->second.front();
  if (found->second.size() > 1) found->second.pop_front();
  return reply;
}

bool HttpStub::SendAll(int socket, std::string_view bytes) const {
  while (!bytes.empty()) {
    const ssize_t put = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (put <= 0 || stopping_) return false;
    bytes.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void HttpStub::Send(int socket, const StubReply& reply, bool without_body) const {
  std::string head = fmt::format("HTTP/1.1 {} Stub\r\nConnection: close\r\n", reply.status);
  if (!reply.leaves_length_out) head += fmt::format("Content-Length: {}\r\n", reply.body.size());
  for (const auto& [name, value] : reply.headers) head += fmt::format("{}: {}\r\n", name, value);
  if (!SendAll(socket, head + (reply.cuts_head ? "" : "\r\n")) || without_body || reply.cuts_head) return;
  const std::size_t count = std::min({reply.body.size(), reply.truncate_after.value_or(reply.body.size()),
                                      reply.stall_after.value_or(reply.body.size())});
  if (!SendAll(socket, std::string_view(reply.body).substr(0, count)) || !reply.stall_after) return;
  // Until the client closes its side, which makes the socket readable.
  while (!stopping_ && !IsReadable(socket)) {
  }
}

}  // namespace ptpkg::test
