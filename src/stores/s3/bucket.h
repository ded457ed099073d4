// The way to a bucket: requests about the objects under the store's prefix, counted.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "aws/client.h"
#include "kernel/unit_counter.h"
#include "once/s3_store.h"

namespace once::s3 {

using Responses = std::vector<Result<aws::Response>>;

inline constexpr std::size_t kMaxPrefixBytes = 256;
inline constexpr std::size_t kNamesPerList = 1'000;

// What a PUT or DELETE requires of the current object.
struct Condition {
  enum class Kind : std::uint8_t { none, absent, match };
  Kind kind = Kind::none;
  std::string etag;  // With `match`: as an answer gave it.
};

// Names here are without the prefix. Safe to share between threads.
class Bucket {
 public:
  static Result<std::unique_ptr<Bucket>> connect(const S3Options& options);

  aws::Request get(std::string_view name) const;
  // `headers` have the content type.
  aws::Request put(std::string_view name, std::string body, const Condition& condition,
                   std::vector<aws::Header> headers = {
                       {"Content-Type", "application/octet-stream"}}) const;
  aws::Request remove(std::string_view name, const Condition& condition) const;
  // Names that begin with `prefix`, in their order, those that come after `after`.
  aws::Request list(std::string_view prefix, std::string_view after, std::size_t count) const;

  // One attempt each, all in flight at once. Errors: `unavailable`, certainly not performed;
  // `unknown`, sent and no reply.
  Responses send(std::span<const aws::Request> requests, aws::Deadline deadline,
                 StoreOperation operation = StoreOperation::other);
  Result<aws::Response> send(const aws::Request& request, aws::Deadline deadline,
                             StoreOperation operation = StoreOperation::other);

  // What all names begin with in the bucket itself.
  const std::string& prefix() const { return prefix_; }
  const std::string& name() const { return name_; }
  bool bare_etags() const { return bare_etags_; }
  bool plain_documents() const { return plain_documents_; }

  // Of the object of this key.
  std::string name_of(const Key& key) const;

  // The server's time minus ours.
  const ServerOffset& server_offset() const { return client_->server_offset(); }
  S3Counts counts() const;
  StoreUnits units() const { return units_.rows(); }

 private:
  Bucket(const S3Options& options, bool in_path, std::unique_ptr<aws::Client> client);

  std::string path_of(std::string_view name) const;
  void add_condition(aws::Request& request, const Condition& condition) const;

  const std::string name_;
  const std::string prefix_;
  const std::string root_;  // What the paths of requests begin with.
  const bool bare_etags_;
  const bool plain_documents_;
  const std::unique_ptr<aws::Client> client_;

  enum Unit : std::uint8_t { kRequest, kGet, kPut, kList, kDelete };
  UnitCounter units_{"request", "get", "put", "list", "delete"};
};

}  // namespace once::s3
