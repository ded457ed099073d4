#include "archive.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

namespace change_archive {
namespace {

using namespace std::chrono_literals;
using once::documents::Content;
using once::documents::Modified;
using once::documents::Modify;

// Says no for as long as a minute before it gives up.
class Patience {
 public:
  bool is_over() {
    if (std::chrono::steady_clock::now() > until_) return true;
    std::this_thread::sleep_for(pause_);
    pause_ = std::min(pause_ * 2, 1000ms);
    return false;
  }

 private:
  const std::chrono::steady_clock::time_point until_ = std::chrono::steady_clock::now() + 60s;
  std::chrono::milliseconds pause_{50};
};

std::unexpected<once::Error> refused(const std::string& why) {
  return once::failure(once::ErrorCode::invalid, why);
}

once::Result<Json> parsed(const once::Bytes& bytes) {
  Json change = Json::parse(bytes, nullptr, /*allow_exceptions=*/false);
  const bool is_change = change.is_object() && change.contains("history") &&
                         change["history"].is_array() && change.contains("meetings") &&
                         change.contains("processed");
  if (!is_change) return once::failure(once::ErrorCode::corrupt, "the stored entry is no change");
  return change;
}

once::Result<void> apply(Json& change, const Entry& entry) {
  if (entry.type == "created" || entry.type == "edited") {
    change["title"] = entry.about.at(0);
  } else if (entry.type == "processed") {
    change["processed"][entry.about.at(0)].push_back(entry.about.at(1));
  } else if (entry.type == "meeting_scheduled") {
    change["meetings"][entry.about.at(0)] = "scheduled";
  } else if (entry.type == "meeting_cancelled") {
    Json& state = change["meetings"][entry.about.at(0)];
    if (state != "scheduled") return refused("no meeting " + entry.about.at(0) + " is scheduled");
    state = "cancelled";
  } else {
    return refused("there are no entries of type " + entry.type);
  }
  return {};
}

// The document with the entry added, or unchanged if it has the entry; then `before` is set.
Modify adding(const Entry& entry, bool& before) {
  return [&](const std::optional<Content>& current) -> once::Result<Modified> {
    std::optional<Json> change;
    if (current) {
      once::Result<Json> read = parsed(current->bytes);
      if (!read) return std::unexpected(read.error());
      change = std::move(*read);
    }
    const once::Result<bool> has_it = change ? has(*change, entry) : false;
    if (!has_it) return std::unexpected(has_it.error());
    before = *has_it;
    if (before) return once::Keep{};
    const once::Result<Json> next = with(change, entry);
    if (!next) return std::unexpected(next.error());
    return Content{next->dump(), "application/json"};
  };
}

}  // namespace

once::Result<bool> has(const Json& change, const Entry& entry) {
  for (const Json& old : change["history"]) {
    if (old["id"] != entry.id) continue;
    if (old["type"] == entry.type && old["about"] == entry.about) return true;
    return refused("the id " + entry.id + " was used for another entry");
  }
  return false;
}

once::Result<Json> with(const std::optional<Json>& change, const Entry& entry) {
  if (entry.type == "created" && change) return refused("there is such a change already");
  if (entry.type != "created" && !change) return refused("there is no such change");
  Json next = change.value_or(Json{
      {"meetings", Json::object()}, {"processed", Json::object()}, {"history", Json::array()}});
  if (next["history"].size() >= kMostEntries) return refused("its history is full");
  if (const once::Result<void> done = apply(next, entry); !done) {
    return std::unexpected(done.error());
  }
  next["history"].push_back({{"id", entry.id},
                             {"type", entry.type},
                             {"by", entry.by},
                             {"about", entry.about},
                             {"time", entry.time}});
  return next;
}

once::Result<Json> replayed(const Json& history) {
  std::optional<Json> change;
  for (const Json& entry : history) {
    once::Result<Json> next =
        with(change, {entry["id"], entry["type"], entry["by"], entry["about"], entry["time"]});
    if (!next) return next;
    change = std::move(*next);
  }
  if (!change) return refused("there is no history");
  return std::move(*change);
}

once::Result<std::optional<Loaded>> load(once::Once& once, const std::string& name) {
  for (Patience patience;;) {
    const auto current = once.documents().get(name);
    if (!current) {
      if (!is_transient(current.error()) || patience.is_over()) {
        return std::unexpected(current.error());
      }
      continue;
    }
    if (!*current) return std::nullopt;
    once::Result<Json> change = parsed((*current)->content.bytes);
    if (!change) return std::unexpected(change.error());
    return Loaded{std::move(*change), (*current)->etag};
  }
}

once::Result<Recorded> record(once::Once& once, const std::string& name, const Entry& entry) {
  for (Patience patience;;) {
    bool before = false;
    const auto outcome = once.documents().update(name, {.modify = adding(entry, before)});
    if (outcome) {
      if (const auto* updated = std::get_if<once::documents::Updated>(&*outcome)) {
        return Recorded{before, updated->conflicts};
      }
      if (patience.is_over()) {
        return once::failure(once::ErrorCode::unavailable, "others were always faster");
      }
    } else if (!is_transient(outcome.error()) || patience.is_over()) {
      return std::unexpected(outcome.error());
    }
  }
}

once::Result<std::variant<Recorded, Stale>> save(once::Once& once, const std::string& name,
                                                 const std::string& etag, const Entry& entry) {
  for (Patience patience;;) {
    // What is not known to be refused may have been saved: look for it first.
    const once::Result<std::optional<Loaded>> current = load(once, name);
    if (!current) return std::unexpected(current.error());
    if (!*current) return refused("there is no such change");
    const once::Result<bool> has_it = has((*current)->change, entry);
    if (!has_it) return std::unexpected(has_it.error());
    if (*has_it) return Recorded{.before = true};
    if ((*current)->etag != etag) return Stale{(*current)->etag};
    bool before = false;
    const auto outcome = once.documents().update_if(name, etag, {.modify = adding(entry, before)});
    if (!outcome) {
      if (!is_transient(outcome.error()) || patience.is_over()) {
        return std::unexpected(outcome.error());
      }
    } else if (std::holds_alternative<once::documents::Updated>(*outcome)) {
      return Recorded{before};
    } else if (const auto* other = std::get_if<once::documents::PreconditionFailed>(&*outcome)) {
      return Stale{other->etag.value_or("")};
    }
  }
}

}  // namespace change_archive
