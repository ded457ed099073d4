#include "once/effects.h"

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>

#include "primitives/commit_resolved.h"
#include "primitives/document_change.h"
#include "primitives/keys.h"
#include "primitives/log_group.h"
#include "primitives/prepared_effects.h"
#include "primitives/recorded.h"
#include "primitives/store_secret.h"
#include "primitives/tally_meta.h"

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
  Document part{.name = std::move(document), .content = std::move(content)};
  part.condition = std::move(condition);
  documents_.push_back(std::move(part));
  return *this;
}

Effects& Effects::overwrite(std::string document, documents::Content content) {
  documents_.push_back({.name = std::move(document), .content = std::move(content)});
  return *this;
}

Effects& Effects::patch(std::string document, MergePatch patch, std::optional<std::string> etag) {
  Document part{.name = std::move(document), .action = Document::Action::patch};
  part.patch = std::move(patch);
  if (etag) part.condition = documents::IfMatch{std::move(*etag)};
  documents_.push_back(std::move(part));
  return *this;
}

Effects& Effects::remove(std::string document, std::optional<std::string> etag) {
  Document part{.name = std::move(document), .action = Document::Action::remove};
  if (etag) part.condition = documents::IfMatch{std::move(*etag)};
  documents_.push_back(std::move(part));
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
  struct Owner {
    Refused::Part part = Refused::Part::claim;
    std::size_t index = 0;
  };

  std::vector<Write> writes;
  std::vector<Owner> owners;  // The part of the request that each write belongs to.
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
  return Outcome(std::in_place_type<Refused>, part, index, std::move(why));
}

std::vector<std::string> etags_of(const PreparedEffects& prepared, Version version) {
  std::vector<std::string> etags;
  for (const DocumentPart& part : prepared.documents) {
    const bool removed = part.action == Effects::Document::Action::remove;
    etags.push_back(removed ? "" : documents::etag_of(version));
  }
  return etags;
}

Made made_before(const PreparedEffects& prepared, const Receipt& receipt) {
  Made made{receipt.call != prepared.call, receipt.appended, {}, {}};
  for (Appended& appended : made.appended) appended.replayed = made.replayed;
  made.etags = etags_of(prepared, receipt.version);
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

// How many batches are written by the group of their stream, and not by the draft.
std::size_t batches_by_group(const PreparedEffects& prepared) {
  return prepared.to_be_sealed ? 0 : std::min<std::size_t>(1, prepared.batches.size());
}

// The index of the first append that the batch is made of.
std::size_t first_append_to(const PreparedEffects& prepared, std::size_t batch) {
  const auto part = std::ranges::find(prepared.appends, batch, &AppendPart::batch);
  return static_cast<std::size_t>(part - prepared.appends.begin());
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
    for (std::size_t i = batches_by_group(prepared_); i < prepared_.batches.size(); ++i) {
      const std::size_t part = first_append_to(prepared_, i);
      for (Write& write : prepared_.batches[i].writes_at(positions[i])) {
        add(Part::log, part, std::move(write));
      }
    }
    for (const AppendPart& part : prepared_.appends) {
      const std::int64_t first = positions[part.batch].first + part.offset;
      draft_.receipt.appended.push_back({first, first + part.count - 1, false});
    }
  }

  Result<std::optional<Refused>> change_document(std::size_t index, Version version) {
    const DocumentPart& part = prepared_.documents[index];
    const std::optional<Item>& current = item_at(items_, part.key);
    Result<documents::DocumentRecord> last = documents::decode_document(current, now_);
    if (!last) return std::unexpected(std::move(last.error()));
    if (!holds(part, *last, current)) {
      documents::PreconditionFailed failed;
      if (last->exists) failed.etag = documents::etag_of(current->version);
      return Refused{Refused::Part::document, index, std::move(failed)};
    }
    const Guard guard = current ? unchanged(current->version) : absent();
    if (part.action == Action::remove && !last->exists) {
      add(Part::document, index, check(part.key, guard));
      return std::nullopt;
    }
    const Result<documents::Modified> wanted = wanted_by(part, last->content);
    if (!wanted && wanted.error().code == ErrorCode::invalid) {
      return Refused{Refused::Part::document, index,
                     documents::DoesNotApply{wanted.error().message}};
    }
    if (!wanted) return std::unexpected(wanted.error());
    const documents::ChangeCall call{.key = part.key,
                                     .stamp = version,
                                     .clock_error = prepared_.clock_error,
                                     .keeps_end = part.action == Action::patch};
    const auto record = documents::record_after(std::move(*last), *wanted, call, now_);
    if (!record) return std::unexpected(record.error());
    add(Part::document, index,
        put(part.key, documents::encode(*record), guard,
            documents::expiry_of(*record, now_, prepared_.clock_error)));
    draft_.writes.back().version = version;
    return std::nullopt;
  }

  // Checks the tally's kind, and the id if there is one.
  Result<std::optional<Refused>> check_tally(std::size_t index) {
    const tallies::PreparedMerge& merge = prepared_.merges[index];
    const Key meta = keys::tally_meta(merge.key);
    const std::optional<Item>& fixed = item_at(items_, meta);
    std::optional<tallies::TallyMeta> current;
    if (fixed) {
      Result<tallies::TallyMeta> found = tallies::decode_meta(fixed->value);
      if (!found) return std::unexpected(std::move(found.error()));
      current = std::move(*found);
    }
    const bool is_live = current && current->state == tallies::TallyMeta::State::live;
    if (is_live && !current->same_shape(merge.shape())) {
      return Refused{Refused::Part::tally, index, OtherTally{current->monoid, current->window}};
    }
    if (metas_.insert(meta).second) {
      add(Part::tally, index, meta_write(meta, current, fixed));
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
      add(Part::tally, fresh[0], prepared_.merges[fresh[0]].native_write());
      return {};
    }
    return merge_by_us(bucket.key, fresh);
  }

  Draft finish(Version version, std::optional<Item> claim) {
    draft_.receipt.hash = prepared_.hash;
    draft_.receipt.call = prepared_.call;
    draft_.receipt.version = version;
    if (prepared_.id_key) {
      add(Part::id, 0,
          put(*prepared_.id_key, encode(draft_.receipt), absent_lasting(), prepared_.id_expires));
    }
    if (claim) complete(*claim);
    return std::move(draft_);
  }

 private:
  using Action = Effects::Document::Action;
  using Part = Refused::Part;

  // Only what exists is patched. Without a condition, what does not exist counts as removed.
  static bool holds(const DocumentPart& part, const documents::DocumentRecord& last,
                    const std::optional<Item>& current) {
    if (part.any) return last.exists || part.action != Action::patch;
    if (!part.match) return !last.exists;
    return last.exists && current->version == *part.match;
  }

  static Result<documents::Modified> wanted_by(const DocumentPart& part,
                                               const documents::Content& current) {
    if (part.action == Action::remove) return Clear{};
    if (part.action == Action::put) return part.content;
    Result<documents::Modified> wanted = part.modify(current);
    const auto* content = wanted ? std::get_if<documents::Content>(&*wanted) : nullptr;
    if (content == nullptr) return wanted;
    if (Result<void> ok = documents::check_content(*content); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
    return wanted;
  }

  void add(Part part, std::size_t index, Write write) {
    draft_.writes.push_back(std::move(write));
    draft_.owners.push_back({part, index});
  }

  // Checks the meta, or replaces it by one that all merges into this tally need.
  Write meta_write(const Key& key, const std::optional<tallies::TallyMeta>& current,
                   const std::optional<Item>& item) const {
    std::optional<tallies::TallyMeta> next = current;
    for (const tallies::PreparedMerge& merge : prepared_.merges) {
      if (keys::tally_meta(merge.key) == key) next = merge.meta_after(next, true);
    }
    if (next == current) return check(key, unchanged(item->version));
    return put(key, encode(*next), item ? unchanged(item->version) : absent(), next->expiry());
  }

  Result<std::optional<Refused>> check_tally_id(std::size_t index) {
    const tallies::PreparedMerge& merge = prepared_.merges[index];
    const std::optional<Item>& current = item_at(items_, merge.id_key());
    if (!current) {
      add(Part::tally, index, merge.marker());
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
    add(Part::tally, fresh[0], put(key, std::move(merged->value), guard, merged->expiry));
    return {};
  }

  void complete(const Item& claim) {
    claims::ClaimRecord record = *claims::decode_claim(claim);
    record = claims::with_outcome(std::move(record), State::done, prepared_.result, now_);
    if (!prepared_.only_completes()) record.receipt = encode(draft_.receipt);
    const Time expiry = claims::expiry_of(record, now_);
    add(Part::claim, 0,
        put(prepared_.claim_key, claims::encode(record), unchanged(claim.version), expiry));
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
    if (merge.has_id()) keys.push_back(merge.id_key());
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
    Result<std::optional<Refused>> refused = drafter.change_document(i, version);
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
  made.etags = etags_of(prepared, draft.receipt.version);
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

// The positions of all batches but one that a group writes, whose position the group finds.
Plan<std::vector<logs::AppendPosition>> find_positions(PreparedEffects& prepared) {
  std::vector<logs::AppendPosition> positions(batches_by_group(prepared));
  for (std::size_t i = positions.size(); i < prepared.batches.size(); ++i) {
    const logs::AppendPosition position = co_await logs::next_position(prepared.batches[i]);
    prepared.batches[i].stream.life = position.life;
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

// The first append to that batch's log, which is closed.
Result<Outcome> refused_by_log(const PreparedEffects& prepared, std::size_t batch) {
  if (prepared.records_removals && batch + 1 == prepared.batches.size()) {
    return failure(ErrorCode::unavailable, "the log that records such changes is closed");
  }
  return Refused{Refused::Part::log, first_append_to(prepared, batch), LogClosed{}};
}

// Commits the draft together with the first batch and with others' appends to its stream. Empty:
// another write came in between.
Plan<std::optional<Outcome>> commit_joined(PreparedEffects& prepared,
                                           std::function<Draft(std::int64_t first)> draft_at) {
  const auto also = [&](std::int64_t first) { return draft_at(first).writes; };
  logs::GroupedAppend member(prepared.batches.front(), nullptr, also);
  co_await join(member);
  if (std::holds_alternative<logs::GroupedAppend::Closed>(member.outcome)) {
    Result<Outcome> refused = refused_by_log(prepared, 0);
    if (!refused) co_return std::unexpected(std::move(refused.error()));
    co_return std::move(*refused);
  }
  auto* placed = std::get_if<logs::GroupedAppend::Placed>(&member.outcome);
  if (placed == nullptr) co_return std::optional<Outcome>();
  const Committed numbers{std::move(placed->numbers)};
  co_return Outcome(made_by(prepared, draft_at(placed->first), numbers));
}

// Finishes removals of tallies that the effects merge into, and learns which lives those are in.
// False if the items have to be read again.
Plan<bool> settle_tallies(PreparedEffects& prepared, const CurrentItems& items) {
  bool settled = true;
  for (tallies::PreparedMerge& merge : prepared.merges) {
    const std::optional<Item>& item = item_at(items, keys::tally_meta(merge.key));
    if (!item) {
      settled = settled && std::exchange(merge.life, 0) == 0;
      continue;
    }
    const Result<tallies::TallyMeta> meta = tallies::decode_meta(item->value);
    if (!meta) co_return std::unexpected(meta.error());
    if (meta->state == tallies::TallyMeta::State::removing) {
      co_await tallies::finish_removal(merge.key, *item);
      settled = false;
      break;
    }
    settled = settled && std::exchange(merge.life, meta->life) == meta->life;
  }
  for (BucketPart& bucket : prepared.buckets) {
    bucket.key = prepared.merges[bucket.merges.front()].bucket_key();
  }
  co_return settled;
}

// A draft, and what it was made of.
struct Drafted {
  CurrentItems items;
  std::vector<logs::AppendPosition> positions;
  Version version;
  Time now;
  Draft draft;
};

// Another write came in between.
struct Overtaken {};

using Drafting = std::variant<Overtaken, Outcome, Drafted>;

// Reads all that the commit depends on, and drafts it unless its outcome is known by then.
Plan<Drafting> draft_once(PreparedEffects& prepared, Arithmetic arithmetic, bool sent) {
  std::vector<Key> keys = keys_to_read(prepared, arithmetic);
  CurrentItems items = co_await read_items(std::move(keys));
  Result<std::optional<Outcome>> known = outcome_by_proof(prepared, items);
  if (!known) co_return std::unexpected(std::move(known.error()));
  if (*known) {
    if (std::holds_alternative<Made>(**known)) co_return std::move(**known);
    Outcome refused = co_await refuse_unless_made(prepared, std::move(**known), sent);
    co_return std::move(refused);
  }
  const bool settled = co_await settle_tallies(prepared, items);
  if (!settled) co_return Overtaken{};
  std::vector<logs::AppendPosition> positions = co_await find_positions(prepared);
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (!positions[i].closed) continue;
    Result<Outcome> reason = refused_by_log(prepared, i);
    if (!reason) co_return std::unexpected(std::move(reason.error()));
    Outcome refused = co_await refuse_unless_made(prepared, std::move(*reason), sent);
    co_return std::move(refused);
  }
  const Version version = co_await fresh_version();
  const Time now = co_await store_now();
  auto drafted = draft(prepared, items, positions, version, arithmetic, now);
  if (!drafted) co_return std::unexpected(std::move(drafted.error()));
  if (auto* refusal = std::get_if<Refused>(&*drafted)) {
    Outcome reason = std::move(*refusal);
    Outcome refused = co_await refuse_unless_made(prepared, std::move(reason), sent);
    co_return std::move(refused);
  }
  co_return Drafted{std::move(items), std::move(positions), version, now,
                    std::get<Draft>(std::move(*drafted))};
}

// One try. Empty: try again.
Plan<std::optional<Outcome>> try_once(PreparedEffects& prepared, Arithmetic arithmetic, bool sent) {
  Drafting drafting = co_await draft_once(prepared, arithmetic, sent);
  if (std::holds_alternative<Overtaken>(drafting)) co_return std::optional<Outcome>();
  if (auto* known = std::get_if<Outcome>(&drafting)) co_return std::move(*known);
  auto& drafted = std::get<Drafted>(drafting);
  Draft& ready = drafted.draft;
  if (ready.writes.empty() && prepared.batches.empty()) {
    co_return Outcome(made_by(prepared, std::move(ready), {}));
  }
  if (drafted.now >= prepared.until) co_return failure(ErrorCode::unavailable, "out of time");
  if (!prepared.batches.empty()) {
    const std::function<Draft(std::int64_t)> draft_at = [&](std::int64_t first) {
      std::vector<logs::AppendPosition> moved = drafted.positions;
      moved.front().first = first;
      auto again = draft(prepared, drafted.items, moved, drafted.version, arithmetic, drafted.now);
      return std::get<Draft>(std::move(*again));
    };
    std::optional<Outcome> joined = co_await commit_joined(prepared, draft_at);
    if (!joined || std::holds_alternative<Made>(*joined)) co_return std::move(joined);
    Outcome refused = co_await refuse_unless_made(prepared, std::move(*joined), sent);
    co_return std::move(refused);
  }
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

// Of the documents that it removes. One that is removed without a condition may be gone already.
Plan<std::vector<Key>> removed_keys(const PreparedEffects& prepared) {
  std::vector<Key> keys;
  for (const DocumentPart& part : prepared.documents) {
    if (part.action != Effects::Document::Action::remove) continue;
    bool exists = true;
    if (part.any) {
      const std::optional<Item> current = co_await get(part.key);
      const Time now = co_await store_now();
      const Result<documents::DocumentRecord> last = documents::decode_document(current, now);
      exists = last && last->exists;
    }
    if (exists) keys.push_back(part.key);
  }
  co_return std::move(keys);
}

// One more batch, of the log that records removals. It is no part of the request: neither its hash
// nor its receipt knows of it.
Result<void> add_record(PreparedEffects& prepared, const std::vector<Key>& removed,
                        const Recording::To& to, const Limits& limits, Time now) {
  std::vector<LogEvent> events;
  for (const Key& key : removed) events.push_back({to.event(key), std::nullopt});
  const AppendRequest request{.batch = "", .expect = std::nullopt, .ttl = to.keep};
  auto batch = logs::prepare_append(to.log, std::move(events), request, limits, now);
  if (!batch) return std::unexpected(std::move(batch.error()));
  prepared.batches.push_back(std::move(*batch));
  prepared.records_removals = true;
  return {};
}

bool is_new(const Outcome& outcome) {
  const auto* made = std::get_if<Made>(&outcome);
  return made != nullptr && !made->replayed;
}

// A commit that completes a claim has its ticket, opened with the store's secret.
Plan<PreparedEffects> open_request(const Request& request) {
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  Result<PreparedEffects> prepared = prepared_effects(request, *limits, now);
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
  prepared->call = co_await random_number();
  co_return std::move(*prepared);
}

// --- What is sealed, and not committed here ---

constexpr std::size_t kMaxSealedBytes = 8U << 20;  // Of all values in one token.

std::size_t bytes_of(const std::vector<Write>& writes) {
  std::size_t total = 0;
  for (const Write& write : writes) {
    const auto* bytes = std::get_if<Bytes>(&write.value);
    if (bytes != nullptr) total += bytes->size();
  }
  return total;
}

// Claim and id come first: if one of them is no longer as it was, that is the reason to tell.
bool is_proof(const Draft::Owner& owner) {
  return owner.part == Refused::Part::claim || owner.part == Refused::Part::id;
}

// The log that records removals is no part of the request.
std::string sealed_part(const PreparedEffects& prepared, const Draft::Owner& owner) {
  const bool records = prepared.records_removals && owner.part == Refused::Part::log &&
                       owner.index + 1 == prepared.batches.size();
  return records ? "audit" : part_name(owner.part, owner.index);
}

Plan<Sealed> seal(const PreparedEffects& prepared, Draft draft, Time now) {
  if (bytes_of(draft.writes) > kMaxSealedBytes) {
    co_return failure(ErrorCode::too_large, "what is prepared can have 8 MiB");
  }
  std::vector<Write> writes;
  std::vector<std::string> parts;
  for (const bool proofs : {true, false}) {
    for (std::size_t i = 0; i < draft.writes.size(); ++i) {
      if (is_proof(draft.owners[i]) != proofs) continue;
      writes.push_back(std::move(draft.writes[i]));
      if (!writes.back().version) writes.back().version = co_await fresh_version();
      parts.push_back(sealed_part(prepared, draft.owners[i]));
    }
  }
  const Limits* limits = co_await store_limits();
  co_return Sealed{limits->sealer->seal(writes, parts, later(now, kSealedLife))};
}

PrepareOutcome as_prepare_outcome(Outcome outcome) {
  if (auto* made = std::get_if<Made>(&outcome)) return std::move(*made);
  return std::get<Refused>(std::move(outcome));
}

Plan<PrepareOutcome> prepare_opened(PreparedEffects prepared) {
  for (int tries = 1;; ++tries) {
    Drafting drafting = co_await draft_once(prepared, Arithmetic::by_store, false);
    if (auto* known = std::get_if<Outcome>(&drafting)) {
      co_return as_prepare_outcome(std::move(*known));
    }
    if (auto* drafted = std::get_if<Drafted>(&drafting)) {
      Sealed sealed = co_await seal(prepared, std::move(drafted->draft), drafted->now);
      co_return std::move(sealed);
    }
    const Time now = co_await store_now();
    if (now >= prepared.until) co_return failure(ErrorCode::unavailable, "out of time");
    co_await back_off(tries);
  }
}

}  // namespace

std::string part_name(Refused::Part part, std::size_t index) {
  const std::string at = "[" + std::to_string(index) + "]";
  switch (part) {
    case Refused::Part::claim: return "claim";
    case Refused::Part::id: return "id";
    case Refused::Part::document: return "docs" + at;
    case Refused::Part::tally: return "tallies" + at;
    case Refused::Part::log: return "logs" + at;
  }
  return "";
}

Plan<Outcome> commit(Request request) { return commit(std::move(request), Recording{}); }

Plan<Outcome> commit(Request request, Recording recording) {
  PreparedEffects prepared = co_await open_request(request);
  if (prepared.fenced) co_return Refused{Refused::Part::claim, 0, Fenced{}};
  std::vector<Key> removed;
  if (recording) removed = co_await removed_keys(prepared);
  const Limits* limits = co_await store_limits();
  const Time now = co_await store_now();
  const bool together = !removed.empty() && !limits->one_home_per_commit;
  if (together) {
    const Result<void> added = add_record(prepared, removed, *recording.to, *limits, now);
    if (!added) co_return std::unexpected(added.error());
  }
  const std::string call = std::to_string(prepared.call);
  Outcome outcome = co_await commit_prepared(std::move(prepared));
  if (removed.empty() || !is_new(outcome)) co_return std::move(outcome);
  if (together && recording.to->recorded) recording.to->recorded();
  if (together) co_return std::move(outcome);
  for (std::size_t i = 0; i < removed.size(); ++i) {
    const std::string id = call + "/" + std::to_string(i);
    (void)co_await record(removed[i], id, recording);
  }
  co_return std::move(outcome);
}

Plan<PrepareOutcome> prepare(Request request) { return prepare(std::move(request), Recording{}); }

Plan<PrepareOutcome> prepare(Request request, Recording recording) {
  const Limits* limits = co_await store_limits();
  if (limits->sealer == nullptr) {
    co_return failure(ErrorCode::unsupported,
                      "this store cannot prepare a commit for a transaction of yours; one on "
                      "PostgreSQL can");
  }
  if (!request.claim && request.id.empty()) {
    const std::array<std::uint64_t, 2> drawn = co_await unguessable();
    request.id = "prepared-" + std::to_string(drawn[0]) + "-" + std::to_string(drawn[1]);
    request.id_ttl = kMinIdTtl;
  }
  PreparedEffects prepared = co_await open_request(request);
  if (prepared.fenced) co_return Refused{Refused::Part::claim, 0, Fenced{}};
  prepared.to_be_sealed = true;
  std::vector<Key> removed;
  if (recording) removed = co_await removed_keys(prepared);
  if (!removed.empty()) {
    const Time now = co_await store_now();
    const Result<void> added = add_record(prepared, removed, *recording.to, *limits, now);
    if (!added) co_return std::unexpected(added.error());
  }
  co_return co_await prepare_opened(std::move(prepared));
}

}  // namespace effects
}  // namespace once
