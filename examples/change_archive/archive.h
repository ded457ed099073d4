// A change that many work on: one JSON object that says how things are, and by which entries they
// came to be so.
//
//   {"title": "...", "meetings": {"review": "scheduled"}, "processed": {"acme": ["dns"]},
//    "history": [{"id": "created", "type": "created", "by": "ann", "about": ["..."], "time": 0}]}
//
// An entry has an id, and the history has it at most once: who does not know whether an entry was
// recorded records it again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "once/open.h"

namespace change_archive {

using Json = nlohmann::json;

inline constexpr std::size_t kMostEntries = 10'000;

// All of it is UTF-8.
struct Entry {
  std::string id;
  std::string type;  // created, edited, processed, meeting_scheduled or meeting_cancelled.
  std::string by;
  std::vector<std::string> about;  // The title; the meeting; or the customer and the task.
  std::int64_t time = 0;           // Milliseconds since 1970, by the recorder's clock.
};

// Whether it is recorded. `invalid`: another one is, under its id.
once::Result<bool> has(const Json& change, const Entry& entry);

// The change with this entry added, and with what the entry says done. `invalid` if that cannot be:
// a meeting cancelled that is not scheduled, say. Pure: it may be tried on one state after another.
once::Result<Json> with(const std::optional<Json>& change, const Entry& entry);

// What the entries of the history make, one after the other, from nothing.
once::Result<Json> replayed(const Json& history);

struct Loaded {
  Json change;
  std::string etag;
};
once::Result<std::optional<Loaded>> load(once::Once& once, const std::string& name);

struct Recorded {
  bool before = false;  // It was in the history already.
  int conflicts = 0;    // How often somebody else was faster.
};

// Adds an entry to the current document. Others who do the same lose nothing. While the
// store is down it is tried again, for a minute.
once::Result<Recorded> record(once::Once& once, const std::string& name, const Entry& entry);

// The same for a person who saw the change as it was at `etag`: not if it is another by now.
struct Stale {
  std::string etag;  // Of the current document.
};
once::Result<std::variant<Recorded, Stale>> save(once::Once& once, const std::string& name,
                                                 const std::string& etag, const Entry& entry);

}  // namespace change_archive
