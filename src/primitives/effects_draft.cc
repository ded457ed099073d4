#include "primitives/effects_draft.h"

#include <set>
#include <string>
#include <utility>

#include "primitives/document_change.h"
#include "primitives/keys.h"

namespace once::effects {
namespace {

using State = claims::ClaimRecord::State;

const std::optional<Item>& seen_at(const Sight& sight, const Key& key) {
  static const std::optional<Item> nothing;
  const auto found = sight.find(key);
  return found != sight.end() ? found->second : nothing;
}

bool by_store(const Work& work, const BucketPart& bucket, Arithmetic arithmetic) {
  return arithmetic == Arithmetic::the_stores && bucket.orders.size() == 1 &&
         tallies::is_native(work.orders[bucket.orders[0]].kind());
}

Outcome refused(Refused::Part part, decltype(Refused::why) why, std::size_t index = 0) {
  return Refused{part, index, std::move(why)};
}

Made made_before(const Work& work, const Receipt& receipt) {
  Made made{receipt.call != work.call, receipt.appended, {}, {}};
  for (Appended& appended : made.appended) appended.replayed = made.replayed;
  made.etags.assign(work.documents.size(), documents::etag_of(receipt.version));
  made.tallied.assign(work.orders.size(), Tallied{made.replayed, std::nullopt});
  return made;
}

Result<std::optional<Outcome>> verdict_of(const Work& work, const Value& value,
                                          Refused::Part part) {
  const Result<Receipt> receipt = decode_receipt(value);
  if (!receipt) return std::unexpected(receipt.error());
  if (receipt->hash != work.hash) return refused(part, Mismatch{});
  return made_before(work, *receipt);
}

Result<std::optional<Outcome>> claims_verdict(const Work& work, const std::optional<Item>& item) {
  if (!item) return refused(Refused::Part::claim, Fenced{});
  const Result<claims::ClaimRecord> record = claims::decode_claim(*item);
  if (!record) return std::unexpected(record.error());
  if (!claims::same_claim(*record, work.ticket->record) || record->state == State::free) {
    return refused(Refused::Part::claim, Fenced{});
  }
  if (record->state == State::busy) return std::nullopt;
  if (!record->receipt.empty()) return verdict_of(work, record->receipt, Refused::Part::claim);
  const bool same =
      record->state == State::done && work.claims_only() && record->result == work.result;
  if (!same) return refused(Refused::Part::claim, Mismatch{});
  return Made{true, {}, {}, {}};
}

// Fills a draft, part by part. Each function answers what refuses the commit, if anything does.
class Drafter {
 public:
  Drafter(const Work& work, const Sight& sight, Arithmetic arithmetic, Time now)
      : work_(work), sight_(sight), arithmetic_(arithmetic), now_(now) {
    draft_.tallied.resize(work.orders.size());
    draft_.number_at.resize(work.orders.size());
  }

  void append(const std::vector<logs::Place>& places) {
    for (std::size_t i = 0; i < work_.jobs.size(); ++i) {
      for (Write& write : work_.jobs[i].writes_at(places[i])) add(std::move(write));
    }
    for (const AppendPart& part : work_.appends) {
      const std::int64_t first = places[part.job].first + part.offset;
      draft_.receipt.appended.push_back({first, first + part.count - 1, false});
    }
  }

  Result<std::optional<Refused>> put_document(std::size_t index, Version version) {
    const DocumentPart& part = work_.documents[index];
    const std::optional<Item>& standing = seen_at(sight_, part.key);
    Result<documents::DocumentRecord> last = documents::decode_document(standing);
    if (!last) return std::unexpected(std::move(last.error()));
    const bool holds =
        part.match ? last->exists && standing->version == *part.match : !last->exists;
    if (!holds) {
      documents::PreconditionFailed failed;
      if (last->exists) failed.etag = documents::etag_of(standing->version);
      return Refused{Refused::Part::document, index, std::move(failed)};
    }
    const documents::Call call{.key = part.key, .stamp = version, .clock_error = work_.clock_error};
    const auto record = documents::record_after(std::move(*last), part.content, call, now_);
    if (!record) return std::unexpected(record.error());
    const Guard guard = standing ? unchanged(standing->version) : absent();
    add(put(part.key, documents::encode(*record), guard,
            documents::expiry_of(*record, now_, work_.clock_error)));
    draft_.writes.back().version = version;
    return std::nullopt;
  }

  // The kind, and the id if there is one.
  Result<std::optional<Refused>> admit(std::size_t index) {
    const tallies::Order& order = work_.orders[index];
    const Key meta = keys::tally_meta(order.key);
    const std::optional<Item>& fixed = seen_at(sight_, meta);
    if (!fixed) {
      if (metas_.insert(meta).second) add(put(meta, encode(order.meta()), absent_lasting()));
    } else {
      const Result<tallies::TallyMeta> standing = tallies::decode_meta(fixed->value);
      if (!standing) return std::unexpected(standing.error());
      if (*standing != order.meta()) {
        return Refused{Refused::Part::tally, index, OtherTally{standing->monoid, standing->window}};
      }
    }
    return order.named() ? admit_id(index) : std::nullopt;
  }

  Result<void> merge(const BucketPart& bucket) {
    std::vector<std::size_t> fresh;
    for (const std::size_t index : bucket.orders) {
      if (!draft_.tallied[index].replayed) fresh.push_back(index);
    }
    if (fresh.empty()) return {};
    if (by_store(work_, bucket, arithmetic_)) {
      draft_.number_at[fresh[0]] = draft_.writes.size();
      add(work_.orders[fresh[0]].native_write());
      return {};
    }
    return merge_here(bucket.key, fresh);
  }

  Draft finish(Version version, std::optional<Item> claim) {
    draft_.receipt.hash = work_.hash;
    draft_.receipt.call = work_.call;
    draft_.receipt.version = version;
    if (work_.id_key) {
      add(put(*work_.id_key, encode(draft_.receipt), absent_lasting(), work_.id_until));
    }
    if (claim) complete(*claim);
    return std::move(draft_);
  }

 private:
  void add(Write write) { draft_.writes.push_back(std::move(write)); }

  Result<std::optional<Refused>> admit_id(std::size_t index) {
    const tallies::Order& order = work_.orders[index];
    const std::optional<Item>& standing =
        seen_at(sight_, keys::tally_id(order.key, order.request.id));
    if (!standing) {
      add(order.marker());
      return std::nullopt;
    }
    const Result<tallies::TallyMarker> marker = tallies::decode_marker(standing->value);
    if (!marker) return std::unexpected(marker.error());
    if (!order.same_input(*marker)) return Refused{Refused::Part::tally, index, TallyMismatch{}};
    draft_.tallied[index].replayed = true;
    return std::nullopt;
  }

  // By our own arithmetic: each merge upon the one before.
  Result<void> merge_here(const Key& key, const std::vector<std::size_t>& fresh) {
    const std::optional<Item>& standing = seen_at(sight_, key);
    std::optional<Item> merged = standing;
    for (const std::size_t index : fresh) {
      tallies::Verdict verdict = tallies::Verdict::merged;
      Result<Edit> edit = work_.orders[index].edit(merged, verdict);
      if (!edit) {
        edit.error().message = "tally " + std::to_string(index) + ": " + edit.error().message;
        return std::unexpected(std::move(edit.error()));
      }
      auto& replaced = std::get<Replace>(*edit);
      merged = Item{std::move(replaced.value), {}, replaced.expiry};
    }
    for (const std::size_t index : fresh) {
      draft_.tallied[index].value = work_.orders[index].value_in(merged);
    }
    const Guard guard = standing ? unchanged(standing->version) : absent();
    add(put(key, std::move(merged->value), guard, merged->expiry));
    return {};
  }

  void complete(const Item& claim) {
    claims::ClaimRecord record = *claims::decode_claim(claim);
    record = claims::with_outcome(std::move(record), State::done, work_.result, now_);
    if (!work_.claims_only()) record.receipt = encode(draft_.receipt);
    const Time expiry = claims::expiry_of(record, now_);
    add(put(work_.claim_key, claims::encode(record), unchanged(claim.version), expiry));
  }

  const Work& work_;
  const Sight& sight_;
  const Arithmetic arithmetic_;
  const Time now_;
  std::set<Key> metas_;
  Draft draft_;
};

}  // namespace

std::vector<Key> witnesses(const Work& work) {
  std::vector<Key> keys;
  if (work.id_key) keys.push_back(*work.id_key);
  if (work.ticket) keys.push_back(work.claim_key);
  return keys;
}

std::vector<Key> keys_to_see(const Work& work, Arithmetic arithmetic) {
  std::vector<Key> keys = witnesses(work);
  std::set<Key> metas;
  for (const DocumentPart& part : work.documents) keys.push_back(part.key);
  for (const tallies::Order& order : work.orders) {
    const Key meta = keys::tally_meta(order.key);
    if (metas.insert(meta).second) keys.push_back(meta);
    if (order.named()) keys.push_back(keys::tally_id(order.key, order.request.id));
  }
  for (const BucketPart& bucket : work.buckets) {
    if (!by_store(work, bucket, arithmetic)) keys.push_back(bucket.key);
  }
  return keys;
}

Result<std::optional<Outcome>> verdict(const Work& work, const Sight& sight) {
  if (work.id_key) {
    if (const std::optional<Item>& standing = seen_at(sight, *work.id_key)) {
      return verdict_of(work, standing->value, Refused::Part::id);
    }
  }
  if (!work.ticket) return std::nullopt;
  return claims_verdict(work, seen_at(sight, work.claim_key));
}

Result<std::variant<Draft, Refused>> draft(const Work& work, const Sight& sight,
                                           const std::vector<logs::Place>& places, Version version,
                                           Arithmetic arithmetic, Time now) {
  Drafter drafter(work, sight, arithmetic, now);
  drafter.append(places);
  for (std::size_t i = 0; i < work.documents.size(); ++i) {
    Result<std::optional<Refused>> refused = drafter.put_document(i, version);
    if (!refused) return std::unexpected(std::move(refused.error()));
    if (*refused) return std::move(**refused);
  }
  for (std::size_t i = 0; i < work.orders.size(); ++i) {
    Result<std::optional<Refused>> refused = drafter.admit(i);
    if (!refused) return std::unexpected(std::move(refused.error()));
    if (*refused) return std::move(**refused);
  }
  for (const BucketPart& bucket : work.buckets) {
    if (Result<void> ok = drafter.merge(bucket); !ok) return std::unexpected(std::move(ok.error()));
  }
  return drafter.finish(version, work.ticket ? seen_at(sight, work.claim_key) : std::nullopt);
}

Made made_by(const Work& work, Draft draft, const Committed& committed) {
  Made made{false, std::move(draft.receipt.appended), {}, std::move(draft.tallied)};
  made.etags.assign(work.documents.size(), documents::etag_of(draft.receipt.version));
  for (std::size_t i = 0; i < work.orders.size(); ++i) {
    const std::optional<std::size_t> at = draft.number_at[i];
    if (!at || *at >= committed.numbers.size() || !committed.numbers[*at]) continue;
    const TallyKind kind = work.orders[i].kind();
    made.tallied[i].value =
        tallies::value_of(kind, tallies::state_of_native(kind, *committed.numbers[*at]));
  }
  return made;
}

}  // namespace once::effects
