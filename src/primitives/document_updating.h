// An update as a driver applies it, perhaps together with others.
#pragma once

#include <optional>
#include <string>

#include "primitives/document_change.h"

namespace once::documents {

// What an update came to when it was last applied.
enum class Came : std::uint8_t {
  nowhere,  // It was not applied.
  made,     // Nothing stands against it, so it is made if the commit happens.
  kept,     // It wants nothing changed,
  missing,  // and there is no document either.
  failed,   // It cannot be applied.
  ours,     // Its id was found in the item, as with Earlier.
  replayed,
  mismatch,
};

Came came_by(Earlier earlier);

class Updating {
 public:
  Updating(Call call, Modify modify) : call_(std::move(call)), modify_(std::move(modify)) {}

  // The next try. Refers to this object.
  Change attempt_at(Time now);

  Result<Edit> apply(const std::optional<Item>& standing);

  // Whether `item`, whose record is given, shows that the change was made. Members of one group
  // share a version, and only the last one's stamp stands. So the stamp is ours; or the item has
  // the version that the change was applied to, which then was the group's own, but no longer the
  // stamp.
  bool made_in(const std::optional<Item>& item, const DocumentRecord& record) const;

  // Whether `item` is what the change was applied to, so that it was not made, or not yet.
  bool applied_to(const std::optional<Item>& item, const DocumentRecord& record) const;

  const Call& call() const { return call_; }
  Came came() const { return came_; }

  // Of the document that the change was applied to, if there was one.
  std::optional<std::string> etag_seen() const;

 private:
  Result<Edit> edit_for(DocumentRecord last, const Modified& wanted);

  const Call call_;
  const Modify modify_;

  Time now_;
  Came came_ = Came::nowhere;
  // What the change was last applied to.
  bool exists_ = false;
  Version version_;
  Version stamp_;
};

}  // namespace once::documents
