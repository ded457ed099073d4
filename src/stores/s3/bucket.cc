#include "stores/s3/bucket.h"

#include <algorithm>
#include <utility>

#include "aws/configuration.h"
#include "aws/credential_chain.h"
#include "aws/signer.h"
#include "base/encoding.h"
#include "stores/s3/names.h"
#include "stores/s3/plain_object.h"

namespace once::s3 {
namespace {

constexpr std::size_t kResponseLimit = 32U << 20;

std::string environment(const std::string& name) { return aws::process_environment()(name); }

std::string named_endpoint(const S3Options& options) {
  if (!options.endpoint.empty()) return options.endpoint;
  std::string named = environment("AWS_ENDPOINT_URL_S3");
  return named.empty() ? environment("AWS_ENDPOINT_URL") : named;
}

// Servers other than Amazon's mostly have one region and call it so.
std::string region_of(const S3Options& options, bool amazons) {
  if (!options.region.empty()) return options.region;
  std::string region = aws::configured_region(aws::process_environment());
  return region.empty() && !amazons ? "us-east-1" : region;
}

// With the bucket before its host: http://host becomes http://bucket.host.
std::string with_bucket(std::string endpoint, const std::string& bucket) {
  constexpr std::string_view kBorder = "://";
  const std::size_t at = endpoint.find(kBorder);
  if (at == std::string::npos) return endpoint;
  return endpoint.insert(at + kBorder.size(), bucket + ".");
}

// A slash is part of the path, whether it stands in a name or not: so S3 wants it signed.
std::string encoded_path(std::string_view name) {
  std::string path;
  for (;;) {
    const std::size_t slash = name.find('/');
    path += percent_encode(name.substr(0, slash));
    if (slash == std::string_view::npos) return path;
    path += '/';
    name.remove_prefix(slash + 1);
  }
}

std::string tree(const std::string& prefix) {
  return prefix.empty() || prefix.ends_with('/') ? prefix : prefix + "/";
}

}  // namespace

Result<std::unique_ptr<Bucket>> Bucket::connect(const S3Options& options) {
  std::string endpoint = named_endpoint(options);
  const bool amazons = endpoint.empty();
  const std::string region = region_of(options, amazons);
  if (region.empty()) {
    return failure(ErrorCode::invalid,
                   "s3: no region; say s3://BUCKET/PREFIX?region=REGION or set AWS_REGION");
  }
  if (amazons) endpoint.append("https://s3.").append(region).append(".amazonaws.com");
  bool in_path = options.style == S3Options::Style::path;
  if (options.style == S3Options::Style::automatic) {
    // A certificate for *.s3... does not cover a name with further dots.
    in_path = !amazons || options.bucket.find('.') != std::string::npos;
  }
  if (!in_path) endpoint = with_bucket(std::move(endpoint), options.bucket);
  auto client = aws::Client::open({.endpoint = endpoint,
                                   .region = region,
                                   .service = "s3",
                                   .credentials = aws::default_credentials(),
                                   .connections = options.connections,
                                   .response_limit = kResponseLimit});
  if (!client) return std::unexpected(std::move(client.error()));
  return std::unique_ptr<Bucket>(new Bucket(options, in_path, std::move(*client)));
}

Bucket::Bucket(const S3Options& options, bool in_path, std::unique_ptr<aws::Client> client)
    : name_(options.bucket),
      prefix_(tree(options.prefix)),
      root_(in_path ? "/" + options.bucket : std::string()),
      bare_etags_(options.bare_etags),
      plain_documents_(options.plain_documents),
      client_(std::move(client)) {}

std::string Bucket::name_of(const Key& key) const {
  std::optional<std::string> plain = plain_documents_ ? plain_name(key) : std::nullopt;
  return plain ? std::move(*plain) : object_name(key);
}

std::string Bucket::path_of(std::string_view name) const {
  std::string path = root_;
  return path.append("/").append(encoded_path(prefix_)).append(encoded_path(name));
}

aws::Request Bucket::get(std::string_view name) const {
  return {.method = "GET", .path = path_of(name), .repeatable = true};
}

aws::Request Bucket::put(std::string_view name, std::string body, const Condition& condition,
                         std::vector<aws::Header> headers) const {
  aws::Request request{.method = "PUT",
                       .path = path_of(name),
                       .headers = std::move(headers),
                       .body = std::move(body)};
  add_condition(request, condition);
  return request;
}

aws::Request Bucket::remove(std::string_view name, const Condition& condition) const {
  aws::Request request{.method = "DELETE", .path = path_of(name)};
  add_condition(request, condition);
  return request;
}

void Bucket::add_condition(aws::Request& request, const Condition& condition) const {
  if (condition.kind == Condition::Kind::absent) request.headers.push_back({"If-None-Match", "*"});
  if (condition.kind != Condition::Kind::match) return;
  std::string_view etag = condition.etag;
  const bool quoted = etag.size() >= 2 && etag.starts_with('"') && etag.ends_with('"');
  if (bare_etags_ && quoted) etag = etag.substr(1, etag.size() - 2);
  request.headers.push_back({"If-Match", std::string(etag)});
}

aws::Request Bucket::list(std::string_view prefix, std::string_view after,
                          std::size_t count) const {
  const auto whole = [this](std::string_view name) {
    return percent_encode(std::string(prefix_).append(name));
  };
  std::string query = "encoding-type=url&list-type=2&max-keys=";
  query.append(std::to_string(std::min(count, kNamesPerList)));
  query.append("&prefix=").append(whole(prefix));
  if (!after.empty()) query.append("&start-after=").append(whole(after));
  return {.method = "GET",
          .path = root_.empty() ? "/" : root_,
          .query = std::move(query),
          .repeatable = true};
}

Responses Bucket::send(std::span<const aws::Request> requests, aws::Deadline deadline,
                       StoreOperation operation) {
  for (const aws::Request& request : requests) {
    Unit unit = request.query.empty() ? kGet : kList;
    if (request.method == "PUT") unit = kPut;
    if (request.method == "DELETE") unit = kDelete;
    units_.add(operation, kRequest);
    units_.add(operation, unit);
  }
  return client_->send(requests, deadline);
}

Result<aws::Response> Bucket::send(const aws::Request& request, aws::Deadline deadline,
                                   StoreOperation operation) {
  return std::move(send(std::span(&request, 1), deadline, operation).front());
}

S3Counts Bucket::counts() const {
  const auto count = [this](Unit unit) { return static_cast<std::uint64_t>(units_.sum(unit)); };
  return {
      .gets = count(kGet), .puts = count(kPut), .lists = count(kList), .deletes = count(kDelete)};
}

}  // namespace once::s3
