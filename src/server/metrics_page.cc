#include "server/metrics_page.h"

#include <utility>

#include "server/listening.h"
#include "wire/problem.h"

namespace once::server {

Reply MetricsPage::respond(api::Request request, Executor&, ReplyCallback) {
  const std::string_view target = request.target;
  const std::string_view path = target.substr(0, target.find('?'));
  const bool is_metrics = path == "/metrics";
  if (!is_metrics && path != "/healthz") {
    return api::problem(api::Code::not_found, "there are /metrics and /healthz here");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    api::Response refused =
        api::Problem(api::Code::invalid, "this is read, and nothing else").status(405).finish();
    refused.headers.add("Allow", "GET, HEAD");
    return refused;
  }
  if (!is_metrics) return api::json_response(200, R"({"status":"ok"})");
  api::Response page{200, {}, registry_.text()};
  page.headers.add("Content-Type", std::string(metrics::kContentType));
  return page;
}

Result<std::string> MetricsServer::listen_if_asked(
    const std::string& address, std::shared_ptr<const net::TlsServerContext> tls) {
  if (address.empty()) return "";
  settings_.tls = std::move(tls);
  // On loopback a page in a browser of this machine must not read it by a name of its own. Beyond
  // loopback everybody may read it, by any name.
  settings_.browsers.any_host = !is_loopback(address);
  server_.emplace(settings_, page_);
  const Result<std::string> url = server_->listen(address);
  if (!url) return std::unexpected(url.error());
  return "; metrics at " + *url + "/metrics";
}

void MetricsServer::use(std::shared_ptr<const net::TlsServerContext> tls) {
  if (!server_) return;
  settings_.tls = std::move(tls);
  server_->apply(settings_);
}

}  // namespace once::server
