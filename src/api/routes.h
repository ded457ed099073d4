// The table of all operations of the API. A row says everything that must be known of an operation
// before and after its handler runs: nothing else in the server looks at a path.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "metrics/answer_metrics.h"

namespace once::api {

using metrics::Primitive;
using metrics::Subject;

struct Answer;
struct Call;

// What a token must allow.
enum class Access : std::uint8_t {
  none,   // Anyone may call it.
  read,   // Any token.
  write,  // A token that is not read-only.
  admin,  // A token for all namespaces that is not read-only.
};

// How large the body may be. The server has the number for each.
enum class BodyLimit : std::uint8_t { normal, document, items };

// What the operation has to do with followers of logs.
enum class Follow : std::uint8_t {
  none,
  possible,  // The request may ask to follow the log.
};

// Parses the request and performs nothing: what it returns does.
using Handler = Answer (*)(Call& call);

// A row that lacks a field does not compile: the handler is last and must not be null.
struct Route {
  std::string_view method;
  std::string_view path;  // At most one segment is "{}", which stands for a name.
  Access access;
  BodyLimit body;
  Follow follow;
  Subject subject;  // What it is counted as.
  Handler handler;
};

std::span<const Route> routes();

// The row for a request. The views point into the target.
struct RouteMatch {
  const Route* route = nullptr;    // Null: the path is unknown, or does not take the method.
  const Route* any_row = nullptr;  // A row of the path, for any method; null: unknown path.
  std::string_view name;           // Of the path's "{}", still percent-encoded.
  std::string_view query;          // Without the question mark.
};

// `target` is a path with or without query, or an absolute URL. HEAD is answered by GET's row.
RouteMatch match_route(std::string_view method, std::string_view target);

// Whether the operation may store something new, so that quotas for what is stored bound it.
bool adds(const Route& route);

// The methods that the target's path takes, as in the header Allow; empty if the path is unknown.
std::string allowed_methods(std::string_view target);

// The same as openapi.yaml, as it was when this was built.
std::string_view openapi_yaml();

// What a request is counted as. One whose method the path does not take still counts as a request
// to the path's primitive.
Subject subject_of(const RouteMatch& match);
Subject subject_of(std::string_view method, std::string_view target);

}  // namespace once::api
