#include "primitives/prepared_effects.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "once/effects.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"
#include "primitives/record.h"

namespace once::effects {
namespace {

using Checked = Result<void>;

constexpr Duration kMaxIdTtl = std::chrono::days(30);

// The error, with the part it concerns.
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

Checked prepare_id(PreparedEffects& prepared, const Request& request, Time now) {
  if (request.id.empty()) return {};
  if (Checked ok = keys::check_name(request.id); !ok) return ok;
  if (request.id_ttl < kMinIdTtl || request.id_ttl > kMaxIdTtl) {
    return failure(ErrorCode::invalid, "the ttl of a commit's id is 2 minutes to 30 days");
  }
  prepared.id_key = keys::commit_id(request.name_space, request.id);
  prepared.id_expires = later(now, request.id_ttl);
  return {};
}

Checked prepare_claim(PreparedEffects& prepared, const Request& request) {
  if (!request.claim) return {};
  if (Checked ok = keys::check_name(request.claim->name); !ok) return ok;
  prepared.claim_key = keys::claim(request.name_space, request.claim->name);
  prepared.result = request.effects.result().value_or(Bytes());
  return {};
}

// All appends to one stream become one batch, and so one key.
Checked prepare_appends(PreparedEffects& prepared, const Request& request, const Limits& limits,
                        Time now) {
  std::map<std::string, std::size_t> streams;
  std::vector<std::vector<LogEvent>> events;
  const auto& appends = request.effects.appends();
  for (std::size_t i = 0; i < appends.size(); ++i) {
    if (Checked ok = keys::check_name(appends[i].stream); !ok) {
      return about("log", i, std::move(ok.error()));
    }
    if (appends[i].events.empty()) {
      return about("log", i, {ErrorCode::invalid, "an append without events"});
    }
    const std::size_t at = streams.try_emplace(appends[i].stream, streams.size()).first->second;
    if (at == events.size()) events.emplace_back();
    prepared.appends.push_back({at, static_cast<std::int64_t>(events[at].size()),
                                static_cast<std::int64_t>(appends[i].events.size())});
    events[at].insert(events[at].end(), appends[i].events.begin(), appends[i].events.end());
  }
  prepared.batches.resize(streams.size());
  for (const auto& [name, at] : streams) {
    auto batch = logs::prepare_append(logs::stream(request.name_space, name), std::move(events[at]),
                                      {}, limits, now);
    if (!batch) return std::unexpected(std::move(batch.error()));
    prepared.batches[at] = std::move(*batch);
  }
  return {};
}

Result<DocumentPart> document_of(const Request& request, const Effects::Document& wanted) {
  if (Checked ok = keys::check_name(wanted.name); !ok) return std::unexpected(ok.error());
  if (Checked ok = documents::check_content(wanted.content); !ok) {
    return std::unexpected(ok.error());
  }
  using Action = Effects::Document::Action;
  const auto* match =
      wanted.condition ? std::get_if<documents::IfMatch>(&*wanted.condition) : nullptr;
  const bool creates = wanted.condition && match == nullptr;
  if (wanted.action != Action::put && creates) {
    return failure(ErrorCode::invalid, "only a put creates a document");
  }
  if (wanted.action == Action::patch && !wanted.patch.modify) {
    return failure(ErrorCode::invalid, "a patch that does nothing");
  }
  DocumentPart part{keys::document(request.name_space, wanted.name), wanted.content, {}};
  if (match != nullptr) part.match = documents::version_of(match->etag).value_or(Version{});
  part.any = !wanted.condition;
  part.action = wanted.action;
  part.modify = wanted.patch.modify;
  return part;
}

Checked prepare_documents(PreparedEffects& prepared, const Request& request) {
  std::set<std::string> names;
  const auto& documents = request.effects.documents();
  for (std::size_t i = 0; i < documents.size(); ++i) {
    if (!names.insert(documents[i].name).second) {
      return about("doc", i, {ErrorCode::invalid, "the same document twice"});
    }
    Result<DocumentPart> part = document_of(request, documents[i]);
    if (!part) return about("doc", i, std::move(part.error()));
    prepared.documents.push_back(std::move(*part));
  }
  return {};
}

Result<tallies::PreparedMerge> merge_of(const Request& request, const Effects::Tally& wanted,
                                        const Limits& limits, Time now) {
  if (Checked ok = keys::check_name(wanted.name); !ok) return std::unexpected(ok.error());
  return tallies::prepare_merge(keys::tally(request.name_space, wanted.name), wanted.request, now,
                                limits);
}

// Several merges into one tally must have one kind and window, and different ids.
Checked check_agreement(const tallies::PreparedMerge& merge,
                        const std::vector<tallies::PreparedMerge>& others) {
  for (const tallies::PreparedMerge& other : others) {
    if (other.key != merge.key) continue;
    if (!other.shape().same_shape(merge.shape())) {
      return failure(ErrorCode::invalid, "two kinds or windows for one tally");
    }
    if (merge.has_id() && other.request.id == merge.request.id) {
      return failure(ErrorCode::invalid, "the same id twice");
    }
  }
  return {};
}

// Before anything of that size is made: a few bytes declare a large sketch. Several merges of one
// tally share its state, but each has an input that may be as large, and is hashed.
Checked check_budget(const Request& request) {
  std::size_t total = 0;
  for (const Effects::Tally& tally : request.effects.tallies()) {
    total += tallies::most_bytes_of(tally.request.shape);
  }
  if (total <= request.tally_bytes) return {};
  return failure(ErrorCode::too_large, "the tallies of one commit can have " +
                                           std::to_string(request.tally_bytes >> 20) +
                                           " MiB together");
}

Checked prepare_tallies(PreparedEffects& prepared, const Request& request, const Limits& limits,
                        Time now) {
  if (Checked ok = check_budget(request); !ok) return ok;
  std::map<Key, std::size_t> buckets;
  const auto& tallies = request.effects.tallies();
  for (std::size_t i = 0; i < tallies.size(); ++i) {
    Result<tallies::PreparedMerge> merge = merge_of(request, tallies[i], limits, now);
    if (!merge) return about("tally", i, std::move(merge.error()));
    if (Checked ok = check_agreement(*merge, prepared.merges); !ok) {
      return about("tally", i, std::move(ok.error()));
    }
    const std::size_t at =
        buckets.try_emplace(merge->bucket_key(), prepared.buckets.size()).first->second;
    if (at == prepared.buckets.size()) prepared.buckets.push_back({merge->bucket_key(), {}});
    prepared.buckets[at].merges.push_back(i);
    prepared.merges.push_back(std::move(*merge));
  }
  return {};
}

void hash_tally(RecordWriter& out, const tallies::PreparedMerge& merge) {
  out.bytes(merge.key.partition.home);
  out.bytes(merge.input_hash());
  out.number(static_cast<std::uint64_t>(merge.request.shape.window.length.count()));
  out.bytes(merge.request.id);
  out.time(merge.request.at.value_or(kNever));
}

// What a document's part does. A content type has no control characters, so that a put is never
// taken for a patch, nor one without a condition for one that creates.
void hash_document(RecordWriter& out, const DocumentPart& part, const Effects::Document& wanted) {
  using Action = Effects::Document::Action;
  out.bytes(part.key.partition.home);
  if (part.action == Action::put) {
    const std::optional<Duration>& ttl = part.content.ttl;
    out.bytes(part.content.type + (ttl ? "\n" + std::to_string(ttl->count()) : "") +
              (part.any ? "\nany" : ""));
    out.bytes(part.content.bytes);
  } else {
    out.bytes(part.action == Action::patch ? "\npatch" : "\nremove");
    out.bytes(wanted.patch.text);
  }
  out.number(part.match ? part.match->number : 0);
}

// Every field has a length, so different requests never give the same bytes.
Bytes hash_of(const PreparedEffects& prepared, const Request& request) {
  const Effects& effects = request.effects;
  RecordWriter out(RecordKind::receipt, 0);
  out.bytes(request.claim ? prepared.claim_key.partition.home : "");
  out.bytes(prepared.result);
  out.number(effects.appends().size());
  for (const Effects::Append& append : effects.appends()) {
    out.bytes(append.stream);
    out.bytes(logs::hash_of(append.events));
  }
  out.number(prepared.documents.size());
  for (std::size_t i = 0; i < prepared.documents.size(); ++i) {
    hash_document(out, prepared.documents[i], effects.documents()[i]);
  }
  out.number(prepared.merges.size());
  for (const tallies::PreparedMerge& merge : prepared.merges) hash_tally(out, merge);
  return claims::hash_of(out.finish());
}

constexpr std::uint8_t kFormat = 1;

}  // namespace

Result<PreparedEffects> prepared_effects(const Request& request, const Limits& limits, Time now) {
  PreparedEffects prepared;
  Checked ok = check_request(request, limits);
  if (ok) ok = prepare_id(prepared, request, now);
  if (ok) ok = prepare_claim(prepared, request);
  if (ok) ok = prepare_appends(prepared, request, limits, now);
  if (ok) ok = prepare_documents(prepared, request);
  if (ok) ok = prepare_tallies(prepared, request, limits, now);
  if (!ok) return std::unexpected(std::move(ok.error()));
  prepared.hash = hash_of(prepared, request);
  prepared.until = later(now, kAttemptLife);
  prepared.clock_error = limits.clock_error;
  return prepared;
}

void open_claim(PreparedEffects& prepared, const Request& request, const StoreSecret& secret) {
  Result<claims::OpenTicket> ticket =
      claims::unseal(request.claim->ticket, prepared.claim_key, secret);
  prepared.fenced = !ticket.has_value();
  if (ticket) prepared.ticket = std::move(*ticket);
  prepared.secret = secret;
}

Bytes encode(const Receipt& receipt) {
  RecordWriter out(RecordKind::receipt, kFormat);
  out.bytes(receipt.hash);
  out.number(receipt.call);
  out.number(receipt.version.number);
  out.number(receipt.appended.size());
  for (const Appended& appended : receipt.appended) {
    out.number(static_cast<std::uint64_t>(appended.first));
    out.number(static_cast<std::uint64_t>(appended.last));
  }
  return out.finish();
}

Result<Receipt> decode_receipt(const Value& value) {
  const Bytes* bytes = std::get_if<Bytes>(&value);
  if (bytes == nullptr) return failure(ErrorCode::corrupt, "a commit's id holds a number");
  Result<RecordReader> in = RecordReader::open(*bytes, RecordKind::receipt, kFormat);
  if (!in) return std::unexpected(std::move(in.error()));
  Receipt receipt;
  receipt.hash = in->bytes();
  receipt.call = in->number();
  receipt.version = {in->number()};
  const std::uint64_t count = in->number(kMaxEffects);
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto first = static_cast<std::int64_t>(in->number());
    const auto last = static_cast<std::int64_t>(in->number());
    receipt.appended.push_back({first, last, true});
  }
  if (!in->sound()) {
    return failure(ErrorCode::corrupt, "a receipt does not parse");
  }
  return receipt;
}

}  // namespace once::effects
