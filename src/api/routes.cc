#include "api/routes.h"

#include <algorithm>
#include <array>

#include "api/call.h"
#include "wire/text.h"

namespace once::api {
namespace {

// clang-format off
constexpr std::array kRoutes = [] {
  using enum Primitive;
  constexpr auto none = Access::none, read = Access::read, write = Access::write, admin = Access::admin;
  constexpr auto normal = BodyLimit::normal, document = BodyLimit::document, items = BodyLimit::items;
  constexpr auto no_follow = Follow::none, follow = Follow::possible;
  constexpr auto reads = [](Primitive primitive) { return Subject{primitive, true}; };
  constexpr auto changes = [](Primitive primitive) { return Subject{primitive, false}; };
  return std::array{
      Route{"GET",    "/",                       none,   normal,    no_follow,  reads(other),        show_page},
      Route{"GET",    "/console/{}",             none,   normal,    no_follow,  reads(other),        show_asset},
      Route{"GET",    "/healthz",                none,   normal,    no_follow,  reads(other),        show_health},
      Route{"GET",    "/readyz",                 none,   normal,    no_follow,  reads(other),        show_readiness},
      Route{"GET",    "/openapi.yaml",           none,   normal,    no_follow,  reads(other),        show_openapi},
      Route{"GET",    "/metrics",                read,   normal,    no_follow,  reads(other),        show_metrics},
      Route{"POST",   "/v1/claims/{}",           write,  normal,    no_follow,  changes(claims),     take_claim},
      Route{"GET",    "/v1/claims/{}",           read,   normal,    no_follow,  reads(claims),       show_claim},
      Route{"DELETE", "/v1/claims/{}",           write,  normal,    no_follow,  changes(claims),     forget_claim},
      Route{"POST",   "/v1/claims/{}/renew",     write,  normal,    no_follow,  changes(claims),     renew_claim},
      Route{"POST",   "/v1/claims/{}/complete",  write,  normal,    no_follow,  changes(claims),     complete_claim},
      Route{"POST",   "/v1/claims/{}/release",   write,  normal,    no_follow,  changes(claims),     release_claim},
      Route{"GET",    "/v1/claims",              read,   normal,    no_follow,  reads(claims),       list_claims},
      Route{"POST",   "/v1/bulk/claims/forget",  write,  normal,    no_follow,  changes(claims),     forget_claims},
      Route{"POST",   "/v1/bulk/claims/retry",   write,  normal,    no_follow,  changes(claims),     retry_claims},
      Route{"POST",   "/v1/bulk/claims/release", write,  normal,    no_follow,  changes(claims),     release_claims},
      Route{"POST",   "/v1/seen",                write,  normal,    no_follow,  changes(seen),       mark_seen},
      Route{"GET",    "/v1/seen/{}",             read,   normal,    no_follow,  reads(seen),         show_seen},
      Route{"DELETE", "/v1/seen/{}",             write,  normal,    no_follow,  changes(seen),       forget_seen},
      Route{"GET",    "/v1/whoami",              none,   normal,    no_follow,  reads(other),        show_caller},
      Route{"POST",   "/v1/tokens",              admin,  normal,    no_follow,  changes(other),      make_token},
      Route{"GET",    "/v1/tokens",              admin,  normal,    no_follow,  reads(other),        list_tokens},
      Route{"DELETE", "/v1/tokens/{}",           admin,  normal,    no_follow,  changes(other),      revoke_token},
      Route{"GET",    "/v1/hot",                 read,   normal,    no_follow,  reads(other),        list_hot_keys},
      Route{"GET",    "/v1/namespaces",          read,   normal,    no_follow,  reads(other),        list_namespaces},
      Route{"GET",    "/v1/routes",              read,   normal,    no_follow,  reads(other),        list_event_routes},
      Route{"GET",    "/v1/workers",             read,   normal,    no_follow,  reads(other),        list_workers},
      Route{"GET",    "/v1/history",             read,   normal,    no_follow,  reads(other),        show_history},
      Route{"GET",    "/v1/doctor",              read,   normal,    no_follow,  reads(other),        show_findings},
      Route{"POST",   "/v1/logs/{}",             write,  normal,    no_follow,  changes(log),        append_log},
      Route{"GET",    "/v1/logs/{}",             read,   normal,    follow,     reads(log),          read_log},
      Route{"POST",   "/v1/logs/{}/trim",        write,  normal,    no_follow,  changes(log),        trim_log},
      Route{"POST",   "/v1/logs/{}/close",       write,  normal,    no_follow,  changes(log),        close_log},
      Route{"DELETE", "/v1/logs/{}",             write,  normal,    no_follow,  changes(log),        remove_log},
      Route{"GET",    "/v1/logs",                read,   normal,    no_follow,  reads(log),          list_logs},
      Route{"POST",   "/v1/bulk/logs/delete",    write,  normal,    no_follow,  changes(log),        delete_logs},
      Route{"GET",    "/v1/docs",                read,   normal,    no_follow,  reads(documents),    list_documents},
      Route{"POST",   "/v1/bulk/docs/delete",    write,  normal,    no_follow,  changes(documents),  remove_documents},
      Route{"GET",    "/v1/docs/{}",             read,   document,  no_follow,  reads(documents),    get_document},
      Route{"PUT",    "/v1/docs/{}",             write,  document,  no_follow,  changes(documents),  put_document},
      Route{"PATCH",  "/v1/docs/{}",             write,  document,  no_follow,  changes(documents),  patch_document},
      Route{"DELETE", "/v1/docs/{}",             write,  document,  no_follow,  changes(documents),  remove_document},
      Route{"GET",    "/v1/tallies",             read,   normal,    no_follow,  reads(tallies),      list_tallies},
      Route{"POST",   "/v1/bulk/tallies/delete", write,  normal,    no_follow,  changes(tallies),    remove_tallies},
      Route{"DELETE", "/v1/tallies/{}",          write,  normal,    no_follow,  changes(tallies),    remove_tally},
      // Before the next: a tally named "read" is reached as "%72ead".
      Route{"POST",   "/v1/tallies/read",        read,   normal,    no_follow,  reads(tallies),      read_tallies},
      Route{"POST",   "/v1/tallies/{}",          write,  normal,    no_follow,  changes(tallies),    add_to_tally},
      Route{"GET",    "/v1/tallies/{}",          read,   normal,    no_follow,  reads(tallies),      read_tally},
      Route{"POST",   "/v1/commit",              write,  normal,    no_follow,  changes(effects),    commit_effects},
      Route{"POST",   "/v1/events",              write,  normal,    no_follow,  changes(events),     receive_events},
      Route{"GET",    "/v1/items",               admin,  items,     no_follow,  reads(other),        list_items},
      Route{"POST",   "/v1/items",               admin,  items,     no_follow,  changes(other),      import_items},
      Route{"POST",   "/v1/checkpoints",         admin,  normal,    no_follow,  changes(other),      make_checkpoint},
  };
}();
// clang-format on

// That each has a handler is for a test: with UBSan, g++ 12 does not compare one with null here.
static_assert(std::ranges::all_of(kRoutes, [](const Route& row) {
  return !row.method.empty() && row.path.starts_with('/');
}));

// Where the name begins in each path, so that no pattern is searched while a request waits.
constexpr auto kNameAt = [] {
  std::array<std::size_t, kRoutes.size()> at{};
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = kRoutes[i].path.find("{}");
  return at;
}();

// Whether the path is the row's. Every request is compared with most rows: this copies nothing.
bool matches(std::size_t row, std::string_view path, std::string_view& name) {
  const std::string_view pattern = kRoutes[row].path;
  const std::size_t at = kNameAt[row];
  if (at == std::string_view::npos) return path == pattern;
  if (!path.starts_with(pattern.substr(0, at))) return false;
  const std::size_t end = std::min(path.find('/', at), path.size());
  name = path.substr(at, end - at);
  return path.substr(end) == pattern.substr(at + 2);
}

// Without the scheme and authority that a client may send, as to a proxy.
std::string_view origin_form(std::string_view target) {
  constexpr std::string_view kScheme = "http://";
  if (target.starts_with('/') || lowered(target.substr(0, kScheme.size())) != kScheme) {
    return target;
  }
  const std::size_t path = target.find('/', kScheme.size());
  return path == std::string_view::npos ? "/" : target.substr(path);
}

void add_method(std::string& allowed, std::string_view method) {
  if (allowed.find(method) != std::string::npos) return;
  if (!allowed.empty()) allowed += ", ";
  allowed += method;
}

}  // namespace

std::span<const Route> routes() { return kRoutes; }

RouteMatch match_route(std::string_view method, std::string_view target) {
  target = origin_form(target);
  const std::string_view path = target.substr(0, target.find('?'));
  RouteMatch found;
  if (path.size() < target.size()) found.query = target.substr(path.size() + 1);
  const std::string_view wanted = method == "HEAD" ? "GET" : method;
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    std::string_view name;
    if (!matches(i, path, name)) continue;
    if (found.any_row == nullptr) found.any_row = &kRoutes[i];
    if (kRoutes[i].method != wanted) continue;
    found.route = &kRoutes[i];
    found.name = name;
    return found;
  }
  return found;
}

bool adds(const Route& route) {
  constexpr std::array<Handler, 9> kAdding = {take_claim,     mark_seen,      append_log,
                                              put_document,   patch_document, add_to_tally,
                                              commit_effects, receive_events, import_items};
  return std::ranges::find(kAdding, route.handler) != kAdding.end();
}

std::string allowed_methods(std::string_view target) {
  target = origin_form(target);
  const std::string_view path = target.substr(0, target.find('?'));
  std::string allowed;
  for (std::size_t i = 0; i < kRoutes.size(); ++i) {
    std::string_view name;
    if (!matches(i, path, name)) continue;
    add_method(allowed, kRoutes[i].method);
    if (kRoutes[i].method == "GET") add_method(allowed, "HEAD");
  }
  return allowed;
}

Subject subject_of(const RouteMatch& match) {
  if (match.route != nullptr) return match.route->subject;
  if (match.any_row != nullptr) return {match.any_row->subject.primitive, false};
  return {};
}

Subject subject_of(std::string_view method, std::string_view target) {
  return subject_of(match_route(method, target));
}

}  // namespace once::api
