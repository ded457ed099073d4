#include "once/effects.h"

#include <algorithm>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "primitives/commit_resolved.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"
#include "primitives/prepared_effects.h"
#include "primitives/store_secret.h"

namespace once {

Effects& Effects::result(Bytes result) {
  result_ = std::move(result);
  return *this;
}

Effects& Effects::append(std::string stream, Bytes event) {
  std::vector<LogEvent> events;
  events.push_back({std::move(event), std::nullopt});
  return append(std::move(stream), std::move(events));
}

Effects& Effects::append(std::string stream, std::vector<LogEvent> events) {
  appends_.push_back({std::move(stream), std::move(events)});
  return *this;
}

Effects& Effects::put(std::string document, documents::Content content,
                      documents::Condition condition) {
  documents_.push_back({std::move(document), std::move(content), std::move(condition)});
  return *this;
}

Effects& Effects::add(std::string tally, std::int64_t amount) {
  return merge(std::move(tally), {.shape = {.kind = TallyKind::sum}, .input = amount});
}

Effects& Effects::merge(std::string tally, TallyRequest request) {
  tallies_.push_back({std::move(tally), std::move(request)});
  return *this;
}

namespace effects {
namespace {

// The current item of each key that was read.
using CurrentItems = std::map<Key, std::optional<Item>>;

// Who adds and raises integers. The store's own arithmetic meets no races, but cannot say which
// part overflows.
enum class Arithmetic : std::uint8_t { by_store, by_us };

// One try at the commit, built on the items that were just read.
struct Draft {
  std::vector<Write> writes;
  Receipt receipt;
  std::vector<Tallied> tallied;

  // For each merge by the store: the index of its write, whose number is the tally's value.
  std::vector<std::optional<std::size_t>> number_at;
};

using State = claims::ClaimRecord::State;

const std::optional<Item>& item_at(const CurrentItems& items, const Key& key) {
  static const std::optional<Item> nothing;
  const auto found = items.find(key);
  return found != items.end() ? found->second : nothing;
}

bool merged_by_store(const PreparedEffects& prepared, const BucketPart& bucket,
                     Arithmetic arithmetic) {
  return arithmetic == Arithmetic::by_store && bucket.merges.size() == 1 &&
         tallies::is_native(prepared.merges[bucket.merges[0]].kind());
}

Outcome refused(Refused::Part part, decltype(Refused::why) why, std::size_t index = 0) {
  return Refused{part, index, std::move(why)};
}

Made made_before(const PreparedEffects& prepared, const Receipt& receipt) {
  Made made{receipt.call != prepared.call, receipt.appended, {}, {}};
  for (Appended& appended : made.appended) appended.replayed = made.replayed;
  made.etags.assign(prepared.documents.size(), documents::etag_of(receipt.version));
  made.tallied.assign(prepared.merges.size(), Tallied{made.replayed, std::nullopt});
  return made;
}

Result<std::optional<Outcome>> outcome_by_receipt(const PreparedEffects& prepared,
                                                  const Value& value, Refused::Part part) {
  const Result<Receipt> receipt = decode_receipt(value);
  if (!receipt) return std::unexpected(receipt.error());
  if (receipt->hash != prepared.hash) return refused(part, Mismatch{});
  return made_before(prepared, *receipt);
}

Result<std::optional<Outcome>> outcome_by_claim(const PreparedEffects& prepared,
                                                const std::optional<Item>& item) {
  if (!item) return refused(Refused::Part::claim, Fenced{});
  const Result<claims::ClaimRecord> record = claims::decode_claim(*item);
  if (!record) return std::unexpected(record.error());
  if (!claims::is_ticket_of(*prepared.ticket, *record, prepared.claim_key, prepared.secret) ||
      record->state == State::free) {
    return refused(Refused::Part::claim, Fenced{});
  }
  if (record->state == State::busy) return std::nullopt;
  if (!record->receipt.empty())
    return outcome_by_receipt(prepared, record->receipt, Refused::Part::claim);
  const bool same = record->state == State::done && prepared.only_completes() &&
                    record->result == prepared.result;
  if (!same) return refused(Refused::Part::claim, Mismatch{});
  return Made{true, {}, {}, {}};
}

// Fills a draft, part by part. A function that returns Refused ends the commit.
class Drafter {
 public:
  Drafter(const PreparedEffects& prepared, const CurrentItems& items, Arithmetic arithmetic,
          Time now)
      : prepared_(prepared), items_(items), arithmetic_(arithmetic), now_(now) {
    draft_.tallied.resize(prepared.merges.size());
    draft_.number_at.resize(prepared.merges.size());
  }

  void append(const std::vector<logs::AppendPosition>& positions) {
    for (std::size_t i = 0; i < prepared_.batches.size(); ++i) {
      for (Write& write : prepared_.batches[i].writes_at(positions[i])) add(std::move(write));
    }
    for (const AppendPart& part : prepared_.appends) {
      const std::int64_t first = positions[part.batch].first + part.offset;
      draft_.receipt.appended.push_back({first, first + part.count - 1, false});
    }
  }

  Result<std::optional<Refused>> put_document(std::size_t index, Version version) {
    const DocumentPart& part = prepared_.documents[index];
    const std::optional<Item>& current = item_at(items_, part.key);
    Result<documents::DocumentRecord> last = documents::decode_document(current);
    if (!last) return std::unexpected(std::move(last.error()));
    const bool holds = part.match ? last->exists && current->version == *part.match : !last->exists;
    if (!holds) {
      documents::PreconditionFailed failed;
      if (last->exists) failed.etag = documents::etag_of(current->version);
      return Refused{Refused::Part::document, index, std::move(failed)};
    }
    const documents::ChangeCall call{
        .key = part.key, .stamp = version, .clock_error = prepared_.clock_error};
    const auto record = documents::record_after(std::move(*last), part.content, call, now_);
    if (!record) return std::unexpected(record.error());
    const Guard guard = current ? unchanged(current->version) : absent();
    add(put(part.key, documents::encode(*record), guard,
            documents::expiry_of(*record, now_, prepared_.clock_error)));
    draft_.writes.back().version = version;
    return std::nullopt;
  }

  // Checks the tally's kind, and the id if there is one.
  Result<std::optional<Refused>> check_tally(std::size_t index) {
    const tallies::PreparedMerge& merge = prepared_.merges[index];
    const Key meta = keys::tally_meta(merge.key);
    const std::optional<Item>& fixed = item_at(items_, meta);
    if (!fixed) {
      if (metas_.insert(meta).second) add(put(meta, encode(merge.meta()), absent_lasting()));
    } else {
      const Result<tallies::TallyMeta> current = tallies::decode_meta(fixed->value);
      if (!current) return std::unexpected(current.error());
      if (*current != merge.meta()) {
        return Refused{Refused::Part::tally, index, OtherTally{current->monoid, current->window}};
      }
    }
    return merge.has_id() ? check_tally_id(index) : std::nullopt;
  }

  Result<void> merge(const BucketPart& bucket) {
    std::vector<std::size_t> fresh;
    for (const std::size_t index : bucket.merges) {
      if (!draft_.tallied[index].replayed) fresh.push_back(index);
    }
    if (fresh.empty()) return {};
    if (merged_by_store(prepared_, bucket, arithmetic_)) {
      draft_.number_at[fresh[0]] = draft_.writes.size();
      add(prepared_.merges[fresh[0]].native_write());
      return {};
    }
    return merge_by_us(bucket.key, fresh);
  }

  Draft finish(Version version, std::optional<Item> claim) {
    draft_.receipt.hash = prepared_.hash;
    draft_.receipt.call = prepared_.call;
    draft_.receipt.version = version;
    if (prepared_.id_key) {
      add(put(*prepared_.id_key, encode(draft_.receipt), absent_lasting(), prepared_.id_expires));
    }
    if (claim) complete(*claim);
    return std::move(draft_);
  }

 private:
  void add(Write write) { draft_.writes.push_back(std::move(write)); }

  Result<std::optional<Refused>> check_tally_id(std::size_t index) {
    const tallies::PreparedMerge& merge = prepared_.merges[index];
    const std::optional<Item>& current =
        item_at(items_, keys::tally_id(merge.key, merge.request.id));
    if (!current) {
      add(merge.marker());
      return std::nullopt;
    }
    const Result<tallies::TallyMarker> marker = tallies::decode_marker(current->value);
    if (!marker) return std::unexpected(marker.error());
    if (!merge.same_input(*marker)) return Refused{Refused::Part::tally, index, TallyMismatch{}};
    draft_.tallied[index].replayed = true;
    return std::nullopt;
  }

  // Each merge builds on the one before.
  Result<void> merge_by_us(const Key& key, const std::vector<std::size_t>& fresh) {
    const std::optional<Item>& current = item_at(items_, key);
    std::optional<Item> merged = current;
    for (const std::size_t index : fresh) {
      tallies::MergeResult result = tallies::MergeResult::merged;
      Result<Edit> edit = prepared_.merges[index].edit(merged, result);
      if (!edit) {
        edit.error().message = "tally " + std::to_string(index) + ": " + edit.error().message;
        return std::unexpected(std::move(edit.error()));
      }
      auto& replaced = std::get<Replace>(*edit);
      merged = Item{std::move(replaced.value), {}, replaced.expiry};
    }
    for (const std::size_t index : fresh) {
      draft_.tallied[index].value = prepared_.merges[index].value_in(merged);
    }
    const Guard guard = current ? unchanged(current->version) : absent();
    add(put(key, std::move(merged->value), guard, merged->expiry));
    return {};
  }

  void complete(const Item& claim) {
    claims::ClaimRecord record = *claims::decode_claim(claim);
    record = claims::with_outcome(std::move(record), State::done, prepared_.result, now_);
    if (!prepared_.only_completes()) record.receipt = encode(draft_.receipt);
    const Time expiry = claims::expiry_of(record, now_);
    add(put(prepared_.claim_key, claims::encode(record), unchanged(claim.version), expiry));
  }

  const PreparedEffects& prepared_;
  const CurrentItems& items_;
  const Arithmetic arithmetic_;
  const Time now_;
  std::set<Key> metas_;
  Draft draft_;
};

// The keys, at most two, whose items prove that the commit was made.
std::vector<Key> proof_keys(const PreparedEffects& prepared) {
  std::vector<Key> keys;
  if (prepared.id_key) keys.push_back(*prepared.id_key);
  if (prepared.ticket) keys.push_back(prepared.claim_key);
  return keys;
}

std::vector<Key> keys_to_read(const PreparedEffects& prepared, Arithmetic arithmetic) {
  std::vector<Key> keys = proof_keys(prepared);
  std::set<Key> metas;
  for (const DocumentPart& part : prepared.documents) keys.push_back(part.key);
  for (const tallies::PreparedMerge& merge : prepared.merges) {
    const Key meta = keys::tally_meta(merge.key);
    if (metas.insert(meta).second) keys.push_back(meta);
    if (merge.has_id()) keys.push_back(keys::tally_id(merge.key, merge.request.id));
  }
  for (const BucketPart& bucket : prepared.buckets) {
    if (!merged_by_store(prepared, bucket, arithmetic)) keys.push_back(bucket.key);
  }
  return keys;
}

// What the proof says: made, or refused; empty if the commit can still be made.
Result<std::optional<Outcome>> outcome_by_proof(const PreparedEffects& prepared,
                                                const CurrentItems& items) {
  if (prepared.id_key) {
    if (const std::optional<Item>& current = item_at(items, *prepared.id_key)) {
      return outcome_by_receipt(prepared, current->value, Refused::Part::id);
    }
  }
  if (!prepared.ticket) return std::nullopt;
  return outcome_by_claim(prepared, item_at(items, prepared.claim_key));
}

// `positions` are those of the batches; every document gets `version`.
Result<std::variant<Draft, Refused>> draft(const PreparedEffects& prepared,
                                           const CurrentItems& items,
                                           const std::vector<logs::AppendPosition>& positions,
                                           Version version, Arithmetic arithmetic, Time now) {
  Drafter drafter(prepared, items, arithmetic, now);
  drafter.append(positions);
  for (std::size_t i = 0; i < prepared.documents.size(); ++i) {
    Result<std::optional<Refused>> refused = drafter.put_document(i, version);
    if (!refused) return std::unexpected(std::move(refused.error()));
    if (*refused) return std::move(**refused);
  }
  for (std::size_t i = 0; i < prepared.merges.size(); ++i) {
    Result<std::optional<Refused>> refused = drafter.check_tally(i);
    if (!refused) return std::unexpected(std::move(refused.error()));
    if (*refused) return std::move(**refused);
  }
  for (const BucketPart& bucket : prepared.buckets) {
    if (Result<void> ok = drafter.merge(bucket); !ok) return std::unexpected(std::move(ok.error()));
  }
  return drafter.finish(version,
                        prepared.ticket ? item_at(items, prepared.claim_key) : std::nullopt);
}

// The answer once the draft is committed.
Made made_by(const PreparedEffects& prepared, Draft draft, const Committed& committed) {
  Made made{false, std::move(draft.receipt.appended), {}, std::move(draft.tallied)};
  made.etags.assign(prepared.documents.size(), documents::etag_of(draft.receipt.version));
  for (std::size_t i = 0; i < prepared.merges.size(); ++i) {
    const std::optional<std::size_t> at = draft.number_at[i];
    if (!at || *at >= committed.numbers.size() || !committed.numbers[*at]) continue;
    const TallyKind kind = prepared.merges[i].kind();
    made.tallied[i].value =
        tallies::value_of(kind, tallies::state_of_native(kind, *committed.numbers[*at]));
  }
  return made;
}

// The plans below take the effects by reference: they live in the frame of the plan that awaits.

Plan<CurrentItems> read_items(std::vector<Key> keys) {
  const Limits* limits = co_await store_limits();
  CurrentItems found;
  for (std::size_t at = 0; at < keys.size(); at += limits->keys_per_get) {
    const std::size_t count = std::min(keys.size() - at, limits->keys_per_get);
    const std::span<const Key> some(&keys[at], count);
    std::vector<std::optional<Item>> items = co_await get(some);
    for (std::size_t i = 0; i < count; ++i) found.emplace(some[i], std::move(items[i]));
  }
  co_return std::move(found);
}

Plan<std::vector<logs::AppendPosition>> find_positions(const PreparedEffects& prepared) {
  std::vector<logs::AppendPosition> positions;
  for (const logs::PendingAppend& batch : prepared.batches) {
    const logs::AppendPosition position = co_await logs::next_position(batch);
    positions.push_back(position);
  }
  co_return std::move(positions);
}

std::unexpected<Error> outcome_unknown() {
  return failure(ErrorCode::unknown, "a reply was lost; the commit may have been made");
}

// A condition does not hold. The reason may be this very commit, made by an earlier or concurrent
// call, so the proof is read once more, after the fact (docs/hazards.md#h23). While an earlier try
// may still be written, the outcome is unknown.
Plan<Outcome> refuse_unless_made(const PreparedEffects& prepared, Outcome refusal, bool sent) {
  std::vector<Key> keys = proof_keys(prepared);
  const CurrentItems items = co_await read_items(std::move(keys));
  Result<std::optional<Outcome>> found = outcome_by_proof(prepared, items);
  if (!found) co_return std::unexpected(std::move(found.error()));
  const bool made = *found && std::holds_alternative<Made>(**found);
  if (made) co_return std::move(**found);
  if (sent) co_return outcome_unknown();
  co_return std::move(refusal);
}

// One try. Empty: another write came in between, so try again.
Plan<std::optional<Outcome>> try_once(const PreparedEffects& prepared, Arithmetic arithmetic,
                                      bool sent) {
  std::vector<Key> keys = keys_to_read(prepared, arithmetic);
  const CurrentItems items = co_await read_items(std::move(keys));
  Result<std::optional<Outcome>> known = outcome_by_proof(prepared, items);
  if (!known) co_return std::unexpected(std::move(known.error()));
  if (*known) {
    if (std::holds_alternative<Made>(**known)) co_return std::move(*known);
    Outcome refused = co_await refuse_unless_made(prepared, std::move(**known), sent);
    co_return std::move(refused);
  }
  const std::vector<logs::AppendPosition> positions = co_await find_positions(prepared);
  const Version version = co_await fresh_version();
  const Time now = co_await store_now();
  auto drafted = draft(prepared, items, positions, version, arithmetic, now);
  if (!drafted) co_return std::unexpected(std::move(drafted.error()));
  if (auto* refusal = std::get_if<Refused>(&*drafted)) {
    Outcome reason = std::move(*refusal);
    Outcome refused = co_await refuse_unless_made(prepared, std::move(reason), sent);
    co_return std::move(refused);
  }
  Draft ready = std::get<Draft>(std::move(*drafted));
  if (ready.writes.empty()) co_return Outcome(made_by(prepared, std::move(ready), {}));
  if (now >= prepared.until) co_return failure(ErrorCode::unavailable, "out of time");
  const CommitOutcome outcome = co_await once::commit(ready.writes);
  const auto* committed = std::get_if<Committed>(&outcome);
  if (committed == nullptr) co_return std::optional<Outcome>();
  co_return Outcome(made_by(prepared, std::move(ready), *committed));
}

// An earlier try stays unknown whatever error a later one meets.
bool is_retryable(const Error& error, const PreparedEffects& prepared, bool sent) {
  if (!prepared.is_guarded()) return false;
  return error.code == ErrorCode::unknown || (sent && error.code == ErrorCode::unavailable);
}

Plan<Outcome> commit_prepared(PreparedEffects prepared) {
  Arithmetic arithmetic = Arithmetic::by_store;
  bool sent = false;  // An earlier try may have been written, or may yet be.
  for (int tries = 1;; ++tries) {
    Result<std::optional<Outcome>> tried = co_await attempt(try_once(prepared, arithmetic, sent));
    if (tried && *tried) co_return std::move(**tried);
    const Time now = co_await store_now();
    if (!tried) {
      const bool overflow =
          tried.error().code == ErrorCode::invalid && arithmetic == Arithmetic::by_store && !sent;
      if (!overflow && !is_retryable(tried.error(), prepared, sent)) {
        if (sent) co_return outcome_unknown();
        co_return std::unexpected(std::move(tried.error()));
      }
      sent = sent || tried.error().code == ErrorCode::unknown;
      if (overflow) arithmetic = Arithmetic::by_us;
    }
    if (now >= prepared.until) {
      if (sent) co_return outcome_unknown();
      co_return failure(ErrorCode::unavailable, "others were always faster");
    }
    co_await back_off(tries);
  }
}

}  // namespace

Plan<Outcome> commit(Request request) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PreparedEffects> prepared = prepare(request, *limits, now);
  if (!prepared) co_return std::unexpected(std::move(prepared.error()));
  if (request.claim) {
    const StoreSecret* secret = (co_await store_secret())->get();
    if (secret == nullptr) secret = co_await read_store_secret();
    open_claim(*prepared, request, *secret);
    if (prepared->ticket && !prepared->ticket->vouched) {
      secret = co_await read_store_secret();
      open_claim(*prepared, request, *secret);
    }
  }
  if (prepared->fenced) co_return Refused{Refused::Part::claim, 0, Fenced{}};
  prepared->call = co_await random_number();
  co_return co_await commit_prepared(std::move(*prepared));
}

}  // namespace effects
}  // namespace once
