#include <utility>

#include "once/documents.h"
#include "primitives/keys.h"

namespace once {

using namespace documents;

Documents::Documents(Store& store, std::string name_space, Clock& clock, Entropy& entropy)
    : name_space_(std::move(name_space)), driver_(store, clock, entropy) {}

Result<Key> Documents::key_of(std::string_view name) const {
  if (Result<void> ok = keys::check_namespace(name_space_); !ok) {
    return std::unexpected(std::move(ok.error()));
  }
  if (Result<void> ok = keys::check_name(name); !ok) return std::unexpected(std::move(ok.error()));
  return keys::document(name_space_, name);
}

Result<std::optional<Document>> Documents::get(std::string_view name) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::get(std::move(*key)));
}

Result<WriteOutcome> Documents::put(std::string_view name, Content content, Condition condition,
                                    Identity identity) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::put(std::move(*key), std::move(content), std::move(condition),
                                    std::move(identity)));
}

Result<WriteOutcome> Documents::remove(std::string_view name, std::string etag, Identity identity) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::remove(std::move(*key), std::move(etag), std::move(identity)));
}

Result<WriteOutcome> Documents::update_if(std::string_view name, std::string etag,
                                          UpdateRequest request) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::update_if(std::move(*key), std::move(etag), std::move(request)));
}

Result<UpdateOutcome> Documents::update(std::string_view name, UpdateRequest request) {
  Result<Key> key = key_of(name);
  if (!key) return std::unexpected(std::move(key.error()));
  return driver_.run(documents::update(std::move(*key), std::move(request), contention_));
}

}  // namespace once
