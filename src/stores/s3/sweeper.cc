#include "stores/s3/sweeper.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "stores/s3/limits.h"
#include "stores/s3/listing.h"
#include "stores/s3/names.h"
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
  const Result<NamePage> page =
      list_names(context.bucket, hashed ? kHashedTree : kPlainTree, cursor_,
                 std::clamp<std::size_t>(limit, 1, kNamesPerList), context.deadline);
  if (!page) return std::unexpected(page.error());
  std::vector<std::string> names;
  for (const Listed& listed : page->names) names.push_back(listed.name);
  const Result<std::vector<Found>> found = read_objects(context, names, pauses);
  if (!found) return std::unexpected(found.error());
  std::vector<aws::Request> removals;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const Found& one = (*found)[i];
    if (!one.object || !is_over(*one.object, context.now)) continue;
    removals.push_back(context.bucket.remove(names[i], {Condition::Kind::match, one.etag}));
  }
  for (const Result<aws::Response>& response : context.bucket.send(removals, context.deadline)) {
    if (read_written(response).kind == Written::Kind::done) ++swept.removed;
  }
  swept.examined = names.size();
  move_on(names.empty() ? "" : names.back(), page->more, context.now);
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

// First the plain names, then the hashed ones.
void Sweeper::move_on(const std::string& last, bool more, Time now) {
  if (more && !last.empty()) {
    cursor_ = last;
  } else if (cursor_.starts_with(kHashedTree)) {
    cursor_.clear();
    next_walk_ = later(now, kBetweenWalks);
  } else {
    cursor_ = kHashedTree;
  }
}

}  // namespace once::s3
