#include "primitives/effects_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "primitives/document_change.h"
#include "primitives/keys.h"
#include "primitives/record.h"

namespace once::effects {
namespace {

using Checked = Result<void>;

constexpr Duration kMinIdTtl = 2 * kAttemptLife;  // No attempt outlives its id.
constexpr Duration kMaxIdTtl = std::chrono::days(30);

// The same error, with the part it is about.
std::unexpected<Error> about(std::string_view part, std::size_t index, Error error) {
  error.message = std::string(part) + " " + std::to_string(index) + ": " + error.message;
  return std::unexpected(std::move(error));
}

Checked check_request(const Request& request, const Limits& limits) {
  if (limits.writes_per_commit == 1) {
    return failure(ErrorCode::unsupported, "this store cannot commit several writes together");
  }
  const Effects& effects = request.effects;
  if (effects.appends().size() + effects.documents().size() + effects.tallies().size() >
      kMaxEffects) {
    return failure(ErrorCode::invalid, "a commit has at most 1000 parts");
  }
  if (!request.claim && effects.result()) {
    return failure(ErrorCode::invalid, "a result without a claim to complete");
  }
  return keys::check_namespace(request.name_space);
}

Checked take_id(Work& work, const Request& request, Time now) {
  if (request.id.empty()) return {};
  if (Checked ok = keys::check_name(request.id); !ok) return ok;
  if (request.id_ttl < kMinIdTtl || request.id_ttl > kMaxIdTtl) {
    return failure(ErrorCode::invalid, "the ttl of a commit's id is 2 minutes to 30 days");
  }
  work.id_key = keys::commit_id(request.name_space, request.id);
  work.id_until = later(now, request.id_ttl);
  return {};
}

Checked take_claim(Work& work, const Request& request) {
  if (!request.claim) return {};
  if (Checked ok = keys::check_name(request.claim->name); !ok) return ok;
  Result<claims::OpenTicket> ticket = claims::unseal(request.claim->ticket);
  work.fenced = !ticket.has_value();  // It proves nothing.
  if (work.fenced) return {};
  work.claim_key = keys::claim(request.name_space, request.claim->name);
  work.ticket = std::move(*ticket);
  work.result = request.effects.result().value_or(Bytes());
  return {};
}

// All appends to one stream are one batch, and so one key.
Checked take_appends(Work& work, const Request& request, const Limits& limits, Time now) {
  std::map<std::string, std::size_t> streams;
  std::vector<std::vector<LogEvent>> batches;
  const auto& appends = request.effects.appends();
  for (std::size_t i = 0; i < appends.size(); ++i) {
    if (Checked ok = keys::check_name(appends[i].stream); !ok) {
      return about("log", i, std::move(ok.error()));
    }
    if (appends[i].events.empty()) {
      return about("log", i, {ErrorCode::invalid, "an append without events"});
    }
    const std::size_t at = streams.try_emplace(appends[i].stream, streams.size()).first->second;
    if (at == batches.size()) batches.emplace_back();
    work.appends.push_back({at, static_cast<std::int64_t>(batches[at].size()),
                            static_cast<std::int64_t>(appends[i].events.size())});
    batches[at].insert(batches[at].end(), appends[i].events.begin(), appends[i].events.end());
  }
  work.jobs.resize(streams.size());
  for (const auto& [name, at] : streams) {
    auto job = logs::job_of(logs::stream(request.name_space, name), std::move(batches[at]), {},
                            limits, now);
    if (!job) return std::unexpected(std::move(job.error()));
    work.jobs[at] = std::move(*job);
  }
  return {};
}

Result<DocumentPart> document_of(const Request& request, const Effects::Document& wanted) {
  if (Checked ok = keys::check_name(wanted.name); !ok) return std::unexpected(ok.error());
  if (Checked ok = documents::check_content(wanted.content); !ok) {
    return std::unexpected(ok.error());
  }
  DocumentPart part{keys::document(request.name_space, wanted.name), wanted.content, {}};
  if (const auto* match = std::get_if<documents::IfMatch>(&wanted.condition)) {
    part.match = documents::version_of(match->etag).value_or(Version{});
  }
  return part;
}

Checked take_documents(Work& work, const Request& request) {
  std::set<std::string> names;
  const auto& documents = request.effects.documents();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!names.insert(documents[i].name).second) {
      return about("doc", i, {ErrorCode::invalid, "the same document twice"});
    }
    Result<DocumentPart> part = document_of(request, documents[i]);
    if (!part) return about("doc", i, std::move(part.error()));
    work.documents.push_back(std::move(*part));
  }
  return {};
}

Result<tallies::Order> order_of(const Request& request, const Effects::Tally& wanted,
                                const Limits& limits, Time now) {
  if (Checked ok = keys::check_name(wanted.name); !ok) return std::unexpected(ok.error());
  return tallies::Order::of(keys::tally(request.name_space, wanted.name), wanted.request, now,
                            limits);
}

// What several merges into one tally must agree on.
Checked check_agreement(const tallies::Order& order, const std::vector<tallies::Order>& others) {
  for (const tallies::Order& other : others) {
    if (other.key != order.key) continue;
    if (other.meta() != order.meta()) {
      return failure(ErrorCode::invalid, "two kinds or windows for one tally");
    }
    if (order.named() && other.request.id == order.request.id) {
      return failure(ErrorCode::invalid, "the same id twice");
    }
  }
  return {};
}

Checked take_tallies(Work& work, const Request& request, const Limits& limits, Time now) {
  std::map<Key, std::size_t> buckets;
  const auto& tallies = request.effects.tallies();
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    Result<tallies::Order> order = order_of(request, tallies[i], limits, now);
    if (!order) return about("tally", i, std::move(order.error()));
    if (Checked ok = check_agreement(*order, work.orders); !ok) {
      return about("tally", i, std::move(ok.error()));
    }
    const std::size_t at =
        buckets.try_emplace(order->bucket_key(), work.buckets.size()).first->second;
    if (at == work.buckets.size()) work.buckets.push_back({order->bucket_key(), {}});
    work.buckets[at].orders.push_back(i);
    work.orders.push_back(std::move(*order));
  }
  return {};
}

void hash_tally(RecordWriter& out, const tallies::Order& order) {
  out.bytes(order.key.partition.home);
  out.bytes(order.input_hash);
  out.number(static_cast<std::uint64_t>(order.request.shape.window));
  out.bytes(order.request.id);
  out.time(order.request.at.value_or(kNever));
}

// Every field has a length, so no two requests that differ are written alike.
Bytes hash_of(const Work& work, const Effects& effects) {
  RecordWriter out(RecordKind::receipt, 0);
  out.bytes(work.ticket ? work.claim_key.partition.home : "");
  out.bytes(work.result);
  out.number(effects.appends().size());
  for (const Effects::Append& append : effects.appends()) {
    out.bytes(append.stream);
    out.bytes(logs::hash_of(append.events));
  }
  out.number(work.documents.size());
  for (const DocumentPart& part : work.documents) {
    out.bytes(part.key.partition.home);
    out.bytes(part.content.type);
    out.bytes(part.content.bytes);
    out.number(part.match ? part.match->number : 0);
  }
  out.number(work.orders.size());
  for (const tallies::Order& order : work.orders) hash_tally(out, order);
  return claims::hash_of(out.finish());
}

}  // namespace

Result<Work> Work::of(const Request& request, const Limits& limits, Time now) {
  Work work;
  Checked ok = check_request(request, limits);
  if (ok) ok = take_id(work, request, now);
  if (ok) ok = take_claim(work, request);
  if (ok) ok = take_appends(work, request, limits, now);
  if (ok) ok = take_documents(work, request);
  if (ok) ok = take_tallies(work, request, limits, now);
  if (!ok) return std::unexpected(std::move(ok.error()));
  work.hash = hash_of(work, request.effects);
  work.until = later(now, kAttemptLife);
  work.clock_error = limits.clock_error;
  return work;
}

}  // namespace once::effects
