#include "support/fake_http.h"

#include <algorithm>
#include <fmt/core.h>

namespace ptpkg::test {

void FakeHttp::Serve(const std::string& url, std::string body, std::map<std::string, std::string> headers) {
  const std::lock_guard lock(mutex_);
  Page& page = pages_[url];
  page.body = std::move(body);
  page.headers = std::move(headers);
}

void FakeHttp::FailNext(const std::string& url, Error error) {
  const std::lock_guard lock(mutex_);
  pages_[url].errors.push_back(std::move(error));
}

Result<HttpResponse> FakeHttp::Get(const HttpRequest& request, ByteSink& sink) {
  std::string body;
  HttpResponse response;
  {
    const std::lock_guard lock(mutex_);
    requested_.push_back(request.url);
    if (request.cancel != nullptr) PTPKG_CHECK(request.cancel->Check());
    const auto page = pages_.find(request.url);
    if (page != pages_.end() && !page->second.errors.empty()) {
      Error error = std::move(page->second.errors.front());
      page->second.errors.pop_front();
      return error;
    }
    if (page == pages_.end() || !page->second.body) {
      return Error(ErrorCode::kNotFound, fmt::format("the server answered 404 for '{}'", request.url));
    }
    body = *page->second.body;
    response.headers = page->second.headers;
  }
  response.status = 200;
  if (request.on_begin) PTPKG_CHECK(request.on_begin({}));
  constexpr std::size_t kPieceBytes = 1000;
  for (std::size_t done = 0; done < body.size();) {
    const std::string_view piece = std::string_view(body).substr(done, kPieceBytes);
    PTPKG_CHECK(sink.Write(AsBytes(piece)));
    done += piece.size();
    if (request.on_progress) request.on_progress(done, body.size());
  }
  return response;
}

void FakeHttp::AnswerNext(const std::string& request, Result<HttpAnswer> answer) {
  const std::lock_guard lock(mutex_);
  answers_[request].push_back(std::move(answer));
}

Result<HttpAnswer> FakeHttp::Call(const HttpCall& call) {
  if (call.cancel != nullptr) PTPKG_CHECK(call.cancel->Check());
  StringSink body;
  if (call.open_body) {
    PTPKG_TRY(const std::unique_ptr<ByteSource> source, call.open_body());
    PTPKG_CHECK(Pump(*source, body));
  }
  const std::string request = call.method + " " + call.url;
  if (body.str().size() != call.body_bytes) {
    return Error(ErrorCode::kIo, fmt::format("the body of {} has {} bytes, not {}", request,
                                             body.str().size(), call.body_bytes));
  }
  if (call.on_sent && call.body_bytes > 0) call.on_sent(call.body_bytes);
  const std::lock_guard lock(mutex_);
  calls_.push_back(
      {.request = request, .headers = call.headers, .body = body.str(), .skips_proxy = call.skips_proxy});
  const auto queue = answers_.find(request);
  if (queue == answers_.end() || queue->second.empty())
    return HttpAnswer{.status = 404, .body = "no such page"};
  Result<HttpAnswer> answer = std::move(queue->second.front());
  queue->second.pop_front();
  return answer;
}

std::vector<FakeCall> FakeHttp::calls() const {
  const std::lock_guard lock(mutex_);
  return calls_;
}

std::vector<std::string> FakeHttp::requested() const {
  const std::lock_guard lock(mutex_);
  return requested_;
}

}  // namespace ptpkg::test
