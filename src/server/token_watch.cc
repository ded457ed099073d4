#include "server/token_watch.h"

#include <chrono>
#include <utility>

namespace once::server {

TokenWatch::TokenWatch(tokens::Table& table, Journal& journal, metrics::Registry& registry)
    : table_(table), journal_(journal), collecting_(registry, [this](metrics::Exposition& out) {
        out.family("once_tokens_age_seconds",
                   "How long ago the tokens were last read from the store.",
                   metrics::Exposition::Type::gauge);
        const Duration age = table_.age().value_or(Duration::zero());
        out.sample({}, std::chrono::duration<double>(age).count());
      }) {}

void TokenWatch::take(Result<tokens::Listing> listing, Time asked) {
  if (listing) {
    note_damaged(*listing);
    lacks_mark_ = listing->is_closed() && !listing->has_mark;
    table_.replace(std::move(*listing), asked);
  } else if (listing.error().code == ErrorCode::corrupt && !table_.age()) {
    table_.distrust();
  }
  note_trust();
}

void TokenWatch::note_damaged(const tokens::Listing& listing) {
  for (const std::string& id : listing.damaged) {
    if (!damaged_.insert(id).second) continue;
    journal_.line(Level::error, "damaged_token")
        .text("id", id)
        .text("reason", "its record cannot be read: nobody is let in by it, and it can be revoked");
  }
}

void TokenWatch::note_trust() {
  const bool is_trusted = table_.is_trusted();
  if (was_trusted_ && !is_trusted && table_.is_closed()) {
    journal_.line(Level::error, "tokens_too_old")
        .text("reason", "the tokens were not read from the store for too long: nobody is let in");
  }
  was_trusted_ = is_trusted;
}

}  // namespace once::server
