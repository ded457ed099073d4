#include "server/follow_hub.h"

#include <algorithm>
#include <utility>

#include "api/follow.h"

namespace once::server {
namespace {

constexpr std::size_t kEventsPerRead = 1'000;

Chunk text_of(const LogPage& page) {
  std::string text;
  for (const LogEntry& entry : page.events) text += api::sse_text(entry);
  return std::make_shared<const std::string>(std::move(text));
}

}  // namespace

FollowHub::FollowHub(BatchingDriver& driver, Clock& clock, Duration poll, HomeWatch* watch)
    : driver_(driver), clock_(clock), watch_(watch), polled_(clock.now()) {
  poller_.emplace(clock, poll, [this] {
    this->poll();
    return false;
  });
}

void FollowHub::poll() {
  const Time now = clock_.now();
  if (watch_ != nullptr && watch_->is_live() && now - polled_ < kPollWatched) return;
  polled_ = now;
  hint_all();
}

void FollowHub::stop() {
  {
    const Lock lock(mutex_);
    stopped_ = true;
  }
  poller_.reset();
}

FollowHub::FollowerId FollowHub::follow(const std::string& name_space, const std::string& stream,
                                        LogStart from, Feed feed) {
  const Lock lock(mutex_);
  const FollowerId id = ++last_id_;
  Follower& follower =
      followers_.emplace(id, Follower{{name_space, stream}, from, std::move(feed)}).first->second;
  if (watch_ != nullptr) watch(follower.stream);
  wait_at(id, follower);
  return id;
}

void FollowHub::ready(FollowerId id) {
  const Lock lock(mutex_);
  const auto found = followers_.find(id);
  if (found != followers_.end()) wait_at(id, found->second);
}

void FollowHub::unfollow(FollowerId id) {
  const Lock lock(mutex_);
  const auto found = followers_.find(id);
  if (found == followers_.end()) return;
  const Follower& follower = found->second;
  const auto stream = streams_.find(follower.stream);
  if (stream != streams_.end()) {
    const auto place = stream->second.find(follower.next);
    if (place != stream->second.end()) {
      std::erase(place->second.waiting, id);
      if (place->second.waiting.empty() && !place->second.reading) stream->second.erase(place);
    }
    if (stream->second.empty()) streams_.erase(stream);
  }
  if (watch_ != nullptr) unwatch(follower.stream);
  followers_.erase(found);
}

void FollowHub::watch(const StreamName& stream) {
  const std::string home = logs::stream(stream.first, stream.second).home;
  const auto at = watched_.try_emplace(home, WatchedStream{stream}).first;
  if (at->second.followers++ == 0) watch_->add(home);
}

void FollowHub::unwatch(const StreamName& stream) {
  const std::string home = logs::stream(stream.first, stream.second).home;
  const auto at = watched_.find(home);
  if (--at->second.followers > 0) return;
  watched_.erase(at);
  watch_->remove(home);
}

void FollowHub::hint(const std::string& name_space, const std::string& stream) {
  const Lock lock(mutex_);
  const auto found = streams_.find({name_space, stream});
  if (found != streams_.end()) hint_stream(found->first, found->second);
}

void FollowHub::hint_home(const std::string& home) {
  const Lock lock(mutex_);
  const auto known = watched_.find(home);
  if (known == watched_.end()) return;
  const auto found = streams_.find(known->second.stream);
  if (found != streams_.end()) hint_stream(found->first, found->second);
}

std::size_t FollowHub::followers() {
  const Lock lock(mutex_);
  return followers_.size();
}

void FollowHub::hint_all() {
  const Lock lock(mutex_);
  for (auto& [stream, places] : streams_) hint_stream(stream, places);
}

void FollowHub::hint_stream(const StreamName& stream, Places& places) {
  for (auto& [from, place] : places) {
    if (place.reading) {
      place.again = true;
    } else {
      place.reading = true;
      read(stream, from);
    }
  }
}

// A new follower may be behind the end of the stream, so this reads at once.
void FollowHub::wait_at(FollowerId id, Follower& follower) {
  Place& place = streams_[follower.stream][follower.next];
  place.waiting.push_back(id);
  if (std::exchange(place.reading, true)) return;
  read(follower.stream, follower.next);
}

void FollowHub::read(const StreamName& stream, const LogStart& from) {
  const logs::Stream which = logs::stream(stream.first, stream.second);
  const LogRead request{.from = from.index, .limit = kEventsPerRead, .since = from.since};
  auto done = [this, stream, from](Result<LogPage> page) {
    on_page(stream, from, std::move(page));
  };
  const PlanOptions options{.tenant = api::tenant_number(stream.first)};
  if (!stopped_ && driver_.start<LogPage>(logs::read(which, request), std::move(done), options)) {
    return;
  }
  // Too much is under way; the next hint or poll tries again.
  streams_[stream][from].reading = false;
}

void FollowHub::on_page(const StreamName& stream, const LogStart& from, Result<LogPage> page) {
  // Past the last event of a closed log only its end is left to send.
  const bool at_end = page && page->closed && page->events.empty();
  const bool found = page && (!page->events.empty() || at_end);
  LogStart next = from;
  if (found && at_end) next = {std::max(from.index, page->next) + 1};
  if (found && !at_end) next = {page->events.back().index + 1};
  const std::vector<Feed> fed = move_on(stream, from, next);
  if (!found) return;
  const Chunk chunk = at_end ? std::make_shared<const std::string>(api::kEndOfLog) : text_of(*page);
  for (const Feed& feed : fed) feed(chunk);
}

// Moves all followers that wait at `from` to `next`; none if the two are equal. If a hint arrived
// during the read, reads again.
std::vector<FollowHub::Feed> FollowHub::move_on(const StreamName& stream, const LogStart& from,
                                                const LogStart& next) {
  const Lock lock(mutex_);
  const auto places = streams_.find(stream);
  if (places == streams_.end()) return {};
  const auto at = places->second.find(from);
  if (at == places->second.end()) return {};
  if (next == from) {
    at->second.reading = false;
    if (at->second.waiting.empty()) {
      places->second.erase(at);
      if (places->second.empty()) streams_.erase(places);
    } else if (std::exchange(at->second.again, false)) {
      at->second.reading = true;
      read(stream, from);
    }
    return {};
  }
  std::vector<Feed> fed;
  for (const FollowerId id : at->second.waiting) {
    Follower& follower = followers_.at(id);
    follower.next = next;
    fed.push_back(follower.feed);
  }
  places->second.erase(at);
  if (places->second.empty()) streams_.erase(places);
  return fed;
}

}  // namespace once::server
