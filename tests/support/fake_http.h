#pragma once
// A web of a few URLs that a test sets up. http_stub.h is the one that speaks HTTP.

#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "support/net/http.h"

namespace ptpkg::test {

/// A call that came, with its whole body.
struct FakeCall {
  std::string request;  ///< "PUT https://host/f"
  std::map<std::string, std::string> headers;
  std::string body;
  bool skips_proxy = false;  ///< See HttpCall.
};

class FakeHttp final : public Http {
 public:
  /// From now on `url` gives `body`.
  void Serve(const std::string& url, std::string body, std::map<std::string, std::string> headers = {});
  /// The next request of `url` fails with `error`; several calls queue up. Served bodies come after.
  void FailNext(const std::string& url, Error error);

  /// kNotFound for an unknown URL. The sink gets the body in pieces of 1000 bytes.
  Result<HttpResponse> Get(const HttpRequest& request, ByteSink& sink) override;

  /// The next Call of `request` ("PUT https://host/f") gets `answer`; several queue up, and each is given
  /// once.
  void AnswerNext(const std::string& request, Result<HttpAnswer> answer);

  /// Status 404 where no answer is left. A body that is not `body_bytes` long is kIo, as of the real one.
  Result<HttpAnswer> Call(const HttpCall& call) override;

  /// Calls so far, in order, also those that failed by AnswerNext.
  [[nodiscard]] std::vector<FakeCall> calls() const;

  /// URLs asked for so far by Get, in order.
  [[nodiscard]] std::vector<std::string> requested() const;

 private:
  struct Page {
    std::deque<Error> errors;
    std::optional<std::string> body;
    std::map<std::string, std::string> headers;
  };

  mutable std::mutex mutex_;
  std::map<std::string, Page> pages_;
  std::vector<std::string> requested_;
  std::map<std::string, std::deque<Result<HttpAnswer>>> answers_;
  std::vector<FakeCall> calls_;
};

}  // namespace ptpkg::test
