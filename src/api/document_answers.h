// Answers about documents.
#pragma once

#include <optional>

#include "api/call.h"
#include "once/documents.h"

namespace once::api {

Response document_response(const documents::Document& document);
Response with_etag(Response response, const std::optional<documents::Document>& document);
Response no_document();
Response other_change();  // Under the same Idempotency-Key.

// Nothing was changed, because of what stands there.
Plan<Response> lost_response(documents::PreconditionFailed failed, HotSpot spot);

}  // namespace once::api
