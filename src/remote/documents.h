// Documents through a server. A change without an id gets one of its own, so that it is made once
// although an answer is lost.
#pragma once

#include "once/documents.h"
#include "remote/server_client.h"

namespace once::remote {

class RemoteDocuments final : public Documents {
 public:
  // `server` must outlive it.
  explicit RemoteDocuments(ServerClient& server) : server_(server) {}

  Result<std::optional<documents::Document>> get(std::string_view name, Duration within) override;
  Result<documents::WriteOutcome> put(std::string_view name, documents::Content content,
                                      documents::Condition condition, documents::Identity identity,
                                      Duration within) override;
  Result<documents::WriteOutcome> remove(std::string_view name, std::string etag,
                                         documents::Identity identity, Duration within) override;

  // The function runs here, between a GET and a PUT with the ETag that was got.
  Result<documents::WriteOutcome> update_if(std::string_view name, std::string etag,
                                            documents::UpdateRequest request,
                                            Duration within) override;
  Result<documents::UpdateOutcome> update(std::string_view name, documents::UpdateRequest request,
                                          Duration within) override;
  Result<documents::DocumentPage> list(const Listing& listing, Duration within) override;
  Result<BulkRemoved> remove_all(const Listing& listing, BulkRun run, Duration within) override;

 private:
  // Whether this class chose the id of a change, or its caller.
  enum class OwnId : std::uint8_t { no, yes };

  // Sends a put or a removal.
  Result<documents::WriteOutcome> change(std::string_view name, wire::Request request, OwnId own_id,
                                         Duration within);

  // One try: nothing if the document was left absent.
  using Tried = Result<std::optional<documents::WriteOutcome>>;
  Tried apply(std::string_view name, const documents::Modify& modify,
              const std::optional<documents::Document>& standing, Duration within);

  ServerClient& server_;
  documents::Contention contention_;
};

}  // namespace once::remote
