// Listings, and removals of many, through a server.
#pragma once

#include <string>

#include "once/listing.h"
#include "remote/server_client.h"
#include "wire/bulk.h"
#include "wire/listing.h"

namespace once::remote {

// `noun` is as in the path: "docs", "tallies".
inline Result<CallResult> list_page(ServerClient& server, const std::string& noun,
                                    const Listing& listing, Duration within) {
  const wire::ListingRequest page{listing.prefix, listing.cursor, listing.limit};
  const Result<wire::Request> request =
      server.request("GET", "/v1/" + noun + "?" + wire::query_of(page));
  if (!request) return std::unexpected(request.error());
  return server.call(*request, Repeat::safe, within);
}

// Removing again what is gone changes nothing. Only the count may then be too small.
inline Result<BulkRemoved> remove_page(ServerClient& server, const std::string& noun,
                                       const Listing& listing, BulkRun run, Duration within) {
  Result<wire::Request> request = server.request("POST", "/v1/bulk/" + noun + "/delete");
  if (!request) return std::unexpected(std::move(request.error()));
  request->body = wire::encode(wire::BulkRemoval{listing, run});
  const Result<CallResult> called = server.call(*request, Repeat::safe, within);
  if (!called) return std::unexpected(called.error());
  return wire::decode_bulk_removed(called->response);
}

}  // namespace once::remote
