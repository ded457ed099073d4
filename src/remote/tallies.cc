#include "remote/tallies.h"

#include <utility>

#include "base/names.h"
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

Result<std::optional<TallyReading>> RemoteTallies::read(std::string_view name,
                                                        const TallyRange& range,
                                                        std::shared_ptr<const Monoid> own,
                                                        Duration within) {
  if (own != nullptr) return not_for_servers();
  Result<wire::Request> request = server_.request("GET", "tallies", name);
  if (!request) return std::unexpected(std::move(request.error()));
  Result<std::string> target = wire::target_of(name, range);
  if (!target) return std::unexpected(std::move(target.error()));
  request->target = std::move(*target);
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_tally_reading(called->response, server_.form());
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
  Result<wire::Request> request = server_.request("POST", "/v1/tallies/read");
  if (!request) return std::unexpected(std::move(request.error()));
  const wire::TalliesReadRequest wanted{{names.begin(), names.end()}, range};
  Result<std::string> body = wire::encode(wanted);
  if (!body) return std::unexpected(std::move(body.error()));
  request->body = std::move(*body);
  const Result<CallResult> called = server_.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_tally_readings(called->response, names.size(), server_.form());
}

}  // namespace once::remote
