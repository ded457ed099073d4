#include "api/store_check.h"

#include <algorithm>

#include "api/stored_items.h"
#include "primitives/claim_record.h"
#include "primitives/keys.h"
#include "primitives/log_record.h"
#include "primitives/log_stream.h"
#include "wire/items.h"

namespace once::api {
namespace {

constexpr std::string_view kLogHomes = "log/";
constexpr auto kOldest = static_cast<std::size_t>(logs::Mark::oldest);
constexpr auto kTidied = static_cast<std::size_t>(logs::Mark::tidied);
constexpr auto kClosedAt = static_cast<std::size_t>(logs::Mark::closed);

std::int64_t integer_in(const Item& item) {
  const auto* number = std::get_if<std::int64_t>(&item.value);
  return number != nullptr ? *number : 0;
}

}  // namespace

void StoreCheck::complain(const Key& key, std::string_view what) {
  ++damaged_;
  if (findings_.size() < kMostFindings) {
    findings_.push_back(to_text(key) + ": " + std::string(what));
  }
}

void StoreCheck::take(const ListPage::Listed& listed) {
  ++items_;
  const std::string& home = listed.key.partition.home;
  if (home != home_) end_home();
  if (!listed.item.version) complain(listed.key, "has no version");
  if (home.starts_with("store/")) return;
  if (const Result<void> ok = check_stored({listed.key, listed.item}); !ok) {
    complain(listed.key, ok.error().message);
    return;
  }
  if (home.starts_with(kLogHomes)) take_log(listed);
  if (home.starts_with(keys::kClaims)) take_claim(listed);
}

void StoreCheck::take_claim(const ListPage::Listed& listed) {
  using State = claims::ClaimRecord::State;
  const Result<claims::ClaimRecord> record = claims::decode_claim(listed.item);
  if (!record || record->state == State::free || claims::is_old_mark(*record)) return;
  if (record->fence < 1) complain(listed.key, "is claimed without a fence");
  if (record->attempt < 1) complain(listed.key, "is claimed without an attempt");
}

void StoreCheck::take_log(const ListPage::Listed& listed) {
  home_ = listed.key.partition.home;
  const std::string& part = listed.key.partition.part;
  const std::size_t slash = std::min(part.find('/'), part.size());
  const std::string_view rest = std::string_view(part).substr(slash);
  if (rest == "/l") {
    lives_[part.front()] = integer_in(listed.item);
    return;
  }
  Stream& stream = streams_[part.substr(0, slash)];
  if (rest == "/m") {
    const auto which = static_cast<std::size_t>(listed.key.sort);
    if (which < stream.marks.size()) stream.marks[which] = integer_in(listed.item);
  } else if (rest.starts_with("/b/")) {
    const Result<logs::BatchId> id = logs::decode_batch_id(listed.item.value);
    if (id) stream.ids.push_back(id->at);
  } else if (rest.empty()) {
    const Result<logs::LogRecord> record = logs::decode_log(listed.item.value);
    if (!record) return;
    const std::int64_t first = listed.key.sort;
    if (stream.closed) complain(listed.key, "is behind the end of a closed log");
    if (stream.end != 0 && first != stream.end) stream.gaps.push_back(first);
    if (stream.end != 0 && first < stream.end) complain(listed.key, "overlaps the one before");
    stream.firsts.push_back(first);
    stream.end = first + record->count;
    stream.closed = record->state == logs::LogRecord::State::closed;
  }
}

// A log that was removed is followed by another life, and what is left of it expires.
void StoreCheck::end_home() {
  for (const auto& [part, stream] : streams_) {
    std::int64_t life = 0;
    for (const char digit : part.substr(1)) life = life * 10 + (digit - '0');
    if (life >= lives_[part.front()]) check_stream(part, stream);
  }
  streams_.clear();
  lives_.clear();
  home_.clear();
}

void StoreCheck::check_stream(const std::string& part, const Stream& stream) {
  if (stream.firsts.empty()) return;
  const std::int64_t oldest = std::max<std::int64_t>(stream.marks[kOldest], 1);
  const auto at = [&](std::int64_t index) { return Key{{home_, part}, index}; };
  // Who reserves may die before it writes.
  const bool gapless = part.front() != 'r';
  for (const std::int64_t gap : stream.gaps) {
    if (gapless && gap > oldest) complain(at(gap), "does not follow the record before: a gap");
  }
  if (gapless && stream.firsts.front() > oldest) {
    complain(at(stream.firsts.front()), "is the first record, and older events are missing");
  }
  if (oldest > stream.end) complain(at(stream.end), "is the end, and more than that was trimmed");
  if (stream.marks[kTidied] > oldest) complain(at(oldest), "events were freed that can be read");
  if (stream.marks[kClosedAt] != 0 && !stream.closed) {
    complain(at(stream.end), "the log is marked as closed, and its end is missing");
  }
  for (const std::int64_t id : stream.ids) {
    const bool is_there = std::ranges::binary_search(stream.firsts, id);
    if (id >= oldest && id < stream.end && !is_there) {
      complain(at(id), "a batch id points to it, and no record begins there");
    }
  }
}

void StoreCheck::finish() { end_home(); }

}  // namespace once::api
