// Documents through a server. A change without an id goes under one of its own, so that it is made
// once although an answer is lost.
#pragma once

#include "once/documents.h"
#include "remote/peer.h"

namespace once::remote {

class RemoteDocuments final : public Documents {
 public:
  // Both must outlive it. `none` is asked for nothing.
  RemoteDocuments(Peer& peer, Store& none)
      : Documents(none, peer.name_space(), peer.clock(), peer.entropy()), peer_(peer) {}

  Result<std::optional<documents::Document>> get(std::string_view name) override;
  Result<documents::WriteOutcome> put(std::string_view name, documents::Content content,
                                      documents::Condition condition,
                                      documents::Identity identity) override;
  Result<documents::WriteOutcome> remove(std::string_view name, std::string etag,
                                         documents::Identity identity) override;

  // The function runs here, between a GET and a PUT with the ETag that was got.
  Result<documents::WriteOutcome> update_if(std::string_view name, std::string etag,
                                            documents::UpdateRequest request) override;
  Result<documents::UpdateOutcome> update(std::string_view name,
                                          documents::UpdateRequest request) override;

 private:
  Result<documents::WriteOutcome> change(std::string_view name, api::Request question,
                                         std::optional<documents::Content> content,
                                         const documents::Identity& identity);

  // One try: nothing if the document was left absent.
  using Tried = Result<std::optional<documents::WriteOutcome>>;
  Tried apply(std::string_view name, const documents::Modify& modify,
              const std::optional<documents::Document>& standing);

  Peer& peer_;
};

}  // namespace once::remote
