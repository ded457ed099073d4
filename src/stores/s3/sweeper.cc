#include "stores/s3/sweeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "stores/s3/limits.h"
#include "stores/s3/listing.h"
#include "stores/s3/names.h"
#include "stores/s3/plain_object.h"
#include "stores/s3/startup.h"

namespace once::s3 {
namespace {

constexpr Duration kBetweenWalks = std::chrono::hours(24);

// Expired by every clock, and too old for anyone to still resolve it.
bool is_over(const Object& object, Time now) {
  if (!object.tombstone) return later(object.item.expiry, kClockError) <= now;
  const Time erased(Duration(std::get<std::int64_t>(object.item.value)));
  return later(erased, kAttemptLife + kClockError) <= now;
}

}  // namespace

Result<Swept> Sweeper::sweep(const ReadContext& context, std::size_t limit, aws::Pauses pauses) {
  const Lock lock(mutex_);
  Swept swept;
  const Result<bool> may = may_sweep(context);
  if (!may) return std::unexpected(may.error());
  swept.finished = !*may;
  if (swept.finished) return swept;
  const bool hashed = cursor_.starts_with(kHashedTree);
  const bool plain = cursor_.starts_with(kBeforePlain);
  std::string after = cursor_;
  if (plain && cursor_.size() > kBeforePlain.size()) after = cursor_.substr(kBeforePlain.size());
  const Result<NamePage> page =
      list_names(context.bucket,
                 plain    ? ""
                 : hashed ? kHashedTree
                          : kPlainTree,
                 after, std::clamp<std::size_t>(limit, 1, kNamesPerList), context.deadline);
  if (!page) return std::unexpected(page.error());
  std::vector<std::string> names;
  for (const Listed& listed : page->names) {
    // The mark of a removed document is short.
    if (!plain || (is_plain_name(listed.name) && listed.size < 64)) names.push_back(listed.name);
  }
  const Result<std::vector<Found>> found = read_objects(context, names, pauses);
  if (!found) return std::unexpected(found.error());
  std::vector<aws::Request> removals;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Found& one = (*found)[i];
    if (!one.object || !is_over(*one.object, context.now)) continue;
    // Bytes that come back have the same ETag, so that a document may be written anew under it.
    if (plain && !is_removed(*one.object)) continue;
    removals.push_back(context.bucket.remove(names[i], {Condition::Kind::match, one.etag}));
  }
  for (const Result<aws::Response>& response : context.bucket.send(removals, context.deadline)) {
    if (read_written(response).kind == Written::Kind::done) ++swept.removed;
  }
  swept.examined = page->names.size();
  std::string last = page->names.empty() ? "" : page->names.back().name;
  if (plain && !last.empty()) last.insert(0, kBeforePlain);
  move_on(last, page->more, context.bucket.plain_documents(), context.now);
  swept.finished = cursor_.empty();
  return swept;
}

Result<bool> Sweeper::may_sweep(const ReadContext& context) {
  if (cursor_.empty() && context.now < next_walk_) return false;
  if (!safe_) {
    const Result<bool> safe =
        keeps_to_conditions_on_delete(context.bucket, entropy_, context.deadline);
    if (!safe) return safe;
    safe_ = *safe;
  }
  return *safe_;
}

// First the plain names, then the hashed ones, then the documents that are plain objects.
void Sweeper::move_on(const std::string& last, bool more, bool plain_documents, Time now) {
  if (more && !last.empty()) {
    cursor_ = last;
  } else if (cursor_.starts_with(kHashedTree) && plain_documents) {
    cursor_ = kBeforePlain;
  } else if (cursor_.starts_with(kHashedTree) || cursor_.starts_with(kBeforePlain)) {
    cursor_.clear();
    next_walk_ = later(now, kBetweenWalks);
  } else {
    cursor_ = kHashedTree;
  }
}

}  // namespace once::s3
