#include "remote/tallies.h"

#include <utility>

#include "base/names.h"
#include "remote/listing.h"
#include "wire/tallies.h"

namespace once::remote {
namespace {

std::unexpected<Error> not_for_servers() {
  return failure(ErrorCode::unsupported, "a server knows no tally of a program's own kind");
}

// Whether merging the same input again changes nothing.
bool is_idempotent(TallyKind kind) {
  return kind == TallyKind::max || kind == TallyKind::min || kind == TallyKind::distinct ||
         kind == TallyKind::bloom;
}

}  // namespace

Result<TallyOutcome> RemoteTallies::merge(std::string_view name, const TallyRequest& given,
                                          Duration within) {
  Result<wire::Request> request = server_.request("POST", "tallies", name);
  if (!request) return std::unexpected(std::move(request.error()));
  // Without `at`, a repeat may fall into a later bucket, where merging again does change something:
  // it needs an id.
  TallyRequest wanted = given;
  const bool idempotent = is_idempotent(wanted.shape.kind);
  const bool may_drift = wanted.shape.window != TallyWindow::none && !wanted.at;
  const bool own_id = wanted.id.empty() && idempotent && may_drift;
  if (own_id) wanted.id = server_.new_id();
  Result<std::string> body = wire::encode(wanted, server_.form());
  if (!body) return std::unexpected(std::move(body.error()));
  request->body = std::move(*body);
  const Repeat repeat = !wanted.id.empty() || idempotent ? Repeat::safe : Repeat::never;
  const Result<CallResult> called = server_.call(*request, repeat, within);
  if (!called) return std::unexpected(called.error());
  Result<TallyOutcome> outcome =
      wire::decode_tally_outcome(called->response, wanted.shape.kind, server_.form());
  auto* const tallied = outcome ? std::get_if<Tallied>(&*outcome) : nullptr;
  if (tallied != nullptr && (own_id || called->was_retried)) tallied->replayed = false;
  return outcome;
}

// GET of a tally, with `more` behind the parameters of the range.
Result<wire::Response> RemoteTallies::get(std::string_view name, const TallyRange& range,
                                          std::string_view more, Duration within) {
  Result<wire::Request> request = server_.request("GET", "tallies", name);
  if (!request) return std::unexpected(std::move(request.error()));
  Result<std::string> target = wire::target_of(name, range);
  if (!target) return std::unexpected(std::move(target.error()));
  request->target = std::move(*target);
  if (!more.empty()) {
    const bool has_query = request->target.find('?') != std::string::npos;
    request->target.append(has_query ? "&" : "?").append(more);
  }
  Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(std::move(called.error()));
  return std::move(called->response);
}

Result<std::optional<TallyReading>> RemoteTallies::read(std::string_view name,
                                                        const TallyRange& range,
                                                        std::shared_ptr<const Monoid> own,
                                                        Duration within) {
  if (own != nullptr) return not_for_servers();
  const Result<wire::Response> response = get(name, range, "", within);
  if (!response) return std::unexpected(response.error());
  return wire::decode_tally_reading(*response, server_.form());
}

Result<std::vector<std::optional<TallyReading>>> RemoteTallies::read_all(
    std::span<const std::string> names, const TallyRange& range, std::shared_ptr<const Monoid> own,
    Duration within) {
  if (own != nullptr) return not_for_servers();
  for (const std::string& name : names) {
    if (Result<void> ok = keys::check_name(name); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
  }
  return read_by({{names.begin(), names.end()}, range, {}}, names.size(), within);
}

Result<std::vector<std::optional<TallyReading>>> RemoteTallies::read_each(
    std::span<const TallyRead> reads, std::shared_ptr<const Monoid> own, Duration within) {
  if (own != nullptr) return not_for_servers();
  wire::TalliesReadRequest wanted;
  for (const TallyRead& read : reads) {
    if (Result<void> ok = keys::check_name(read.name); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
    wanted.reads.push_back({read.name, read.range, {}, {}});
  }
  return read_by(wanted, reads.size(), within);
}

Result<std::vector<std::optional<TallyReading>>> RemoteTallies::read_by(
    const wire::TalliesReadRequest& wanted, std::size_t count, Duration within) {
  Result<wire::Request> request = server_.request("POST", "/v1/tallies/read");
  if (!request) return std::unexpected(std::move(request.error()));
  Result<std::string> body = wire::encode(wanted);
  if (!body) return std::unexpected(std::move(body.error()));
  request->body = std::move(*body);
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_tally_readings(called->response, count, server_.form());
}

Result<std::optional<TallySeries>> RemoteTallies::series(std::string_view name,
                                                         const TallyRange& range,
                                                         std::shared_ptr<const Monoid> own,
                                                         Duration within) {
  if (own != nullptr) return not_for_servers();
  const Result<wire::Response> response = get(name, range, "series=true", within);
  if (!response) return std::unexpected(response.error());
  return wire::decode_tally_series(*response, server_.form());
}

// What an earlier try of this call removed is gone when it is repeated.
Result<bool> RemoteTallies::remove(std::string_view name, Duration within) {
  const Result<wire::Request> request = server_.request("DELETE", "tallies", name);
  if (!request) return std::unexpected(request.error());
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return called->response.status == 204 || called->was_retried;
}

Result<TallyPage> RemoteTallies::list(const Listing& listing, Duration within) {
  const Result<CallResult> called = list_page(server_, "tallies", listing, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_tally_page(called->response);
}

Result<BulkRemoved> RemoteTallies::remove_all(const Listing& listing, BulkRun run,
                                              Duration within) {
  return remove_page(server_, "tallies", listing, run, within);
}

}  // namespace once::remote
