// What a process that serves takes from its configuration again when it gets SIGHUP: all of it or
// nothing. Each part first prepares what is new, from options that were read again, without
// changing anything. Only when every part could, they are taken into use, in the order in which
// they were added.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "once/error.h"
#include "server/journal.h"

namespace once::server {

// What a part has prepared.
struct Change {
  std::string what;                       // For the log; empty if nothing is new.
  std::move_only_function<void()> apply;  // Cannot fail. Null if there is nothing to do.
};

// `Options` are what the process was started with. Besides, they have `changed`, a list of names,
// and `taken`, which is called when they are taken into use.
template <class Options>
class Reload {
 public:
  using Read = std::function<Result<Options>()>;
  using Prepare = std::function<Result<Change>(const Options& fresh)>;

  // `read` reads the options again; one that cannot be changed while it serves is an error.
  explicit Reload(Read read) : read_(std::move(read)) {}

  void add(Prepare prepare) { parts_.push_back(std::move(prepare)); }

  // Says in the journal what changed, or why nothing did.
  void run(Journal& journal) const {
    Result<std::vector<Change>> changes = prepare();
    if (!changes) {
      journal.line(Level::error, "reload_refused").text("reason", changes.error().message);
      return;
    }
    std::string what;
    for (Change& change : *changes) {
      if (change.apply) change.apply();
      if (!change.what.empty()) what.append(what.empty() ? "" : ", ").append(change.what);
    }
    journal.line(Level::warning, "reload").text("changed", what.empty() ? "nothing" : what);
  }

 private:
  static std::string joined(const std::vector<std::string>& names) {
    std::string all;
    for (const std::string& name : names) all.append(all.empty() ? "" : ", ").append(name);
    return all;
  }

  Result<std::vector<Change>> prepare() const {
    if (!read_) return failure(ErrorCode::unsupported, "there is no configuration to read again");
    const Result<Options> fresh = read_();
    if (!fresh) return std::unexpected(fresh.error());
    std::vector<Change> changes;
    changes.push_back({joined(fresh->changed), fresh->taken});
    for (const Prepare& part : parts_) {
      Result<Change> change = part(*fresh);
      if (!change) return std::unexpected(std::move(change.error()));
      changes.push_back(std::move(*change));
    }
    return changes;
  }

  const Read read_;
  std::vector<Prepare> parts_;
};

}  // namespace once::server
