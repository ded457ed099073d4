#include <utility>

#include "once/local.h"
#include "primitives/keys.h"

namespace once {

LocalDocuments::LocalDocuments(Store& store, std::string name_space, Clock& clock, Entropy& entropy)
    : LocalDocuments(LocalDriver(store, clock, entropy), std::move(name_space)) {}

LocalDocuments::LocalDocuments(LocalDriver driver, std::string name_space)
    : name_space_(std::move(name_space)), driver_(driver) {}

Result<Key> LocalDocuments::key_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return keys::document(name_space_, name);
}

Result<std::optional<documents::Document>> LocalDocuments::get(std::string_view name,
                                                               Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::get(std::move(*key)), within);
}

Result<documents::WriteOutcome> LocalDocuments::put(std::string_view name,
                                                    documents::Content content,
                                                    documents::Condition condition,
                                                    documents::Identity identity, Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::put(std::move(*key), std::move(content), std::move(condition),
                                    std::move(identity)),
                     within);
}

Result<documents::WriteOutcome> LocalDocuments::remove(std::string_view name, std::string etag,
                                                       documents::Identity identity,
                                                       Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::remove(std::move(*key), std::move(etag), std::move(identity)),
                     within);
}

Result<documents::WriteOutcome> LocalDocuments::update_if(std::string_view name, std::string etag,
                                                          documents::UpdateRequest request,
                                                          Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::update_if(std::move(*key), std::move(etag), std::move(request)),
                     within);
}

Result<documents::UpdateOutcome> LocalDocuments::update(std::string_view name,
                                                        documents::UpdateRequest request,
                                                        Duration within) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::update(std::move(*key), std::move(request), contention_), within);
}

Result<documents::DocumentPage> LocalDocuments::list(const Listing& listing, Duration within) {
  if (Result<void> ok = keys::check_prefix(listing.prefix); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(documents::list(name_space_, listing), within);
}

Result<BulkRemoved> LocalDocuments::remove_all(const Listing& listing, BulkRun run,
                                               Duration within) {
  if (Result<void> ok = keys::check_prefix(listing.prefix); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  return driver_.run(documents::remove_all(name_space_, listing, run, contention_), within);
}

}  // namespace once
