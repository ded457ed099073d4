#include "stores/s3/reply.h"

#include <utility>

#include "aws/message.h"
#include "stores/s3/plain_object.h"

namespace once::s3 {
namespace {

constexpr int kNotFound = 404;
constexpr int kConflict = 409;
constexpr int kConditionFailed = 412;

bool succeeded(const aws::Response& response) {
  return response.status >= 200 && response.status < 300;
}

// A bucket that is gone is no absent object.
bool lacks_object(const aws::Response& response) {
  return response.status == kNotFound && aws::service_error(response).code != "NoSuchBucket";
}

Error error_in(const aws::Response& response) {
  Error error = aws::error_of(response);
  const std::string code = aws::service_error(response).code;
  if (code == "NoSuchBucket") error.code = ErrorCode::unavailable;
  if (code == "PermanentRedirect" || code == "AuthorizationHeaderMalformed") {
    error.message.append(" (the bucket is in another region)");
  }
  return error;
}

Error reading_error(Error error) {
  if (error.code == ErrorCode::unknown) error.code = ErrorCode::unavailable;
  return error;
}

std::string etag_of(const aws::Response& response) {
  return std::string(aws::header_of(response.headers, "ETag"));
}

}  // namespace

Written read_written(const Result<aws::Response>& response) {
  Written written;
  if (!response) {
    written.error = response.error();
  } else if (succeeded(*response)) {
    written.kind = Written::Kind::done;
    written.etag = etag_of(*response);
  } else if (response->status == kConditionFailed || lacks_object(*response)) {
    written.kind = Written::Kind::refused;
  } else if (response->status == kConflict) {
    written.kind = Written::Kind::again;
  } else {
    written.error = error_in(*response);
  }
  return written;
}

Result<std::optional<std::string>> read_body(const Result<aws::Response>& response) {
  if (!response) return std::unexpected(reading_error(response.error()));
  if (succeeded(*response)) return response->body;
  if (lacks_object(*response)) return std::nullopt;
  return std::unexpected(reading_error(error_in(*response)));
}

Result<Found> read_found(std::string_view name, const Result<aws::Response>& response) {
  const Result<std::optional<std::string>> body = read_body(response);
  if (!body) return std::unexpected(body.error());
  if (!*body) return Found{};
  Result<Object> object = is_plain_name(name) ? read_plain(name, *response) : read_object(**body);
  if (!object) return std::unexpected(std::move(object.error()));
  return Found{std::move(*object), etag_of(*response)};
}

Result<Found> read_found(std::string_view name, const Key& key,
                         const Result<aws::Response>& response) {
  Result<Found> found = read_found(name, response);
  if (found && found->object && found->object->key != key) {
    return failure(ErrorCode::corrupt, "an object has another key's item: " + to_text(key));
  }
  return found;
}

}  // namespace once::s3
