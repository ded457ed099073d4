// The answer to a change of a document, as put, patch and removal have it in common.
#pragma once

#include "api/call.h"
#include "wire/documents.h"

namespace once::api {

// `status` is that of a success. A refusal counts as a conflict of `spot`.
Plan<Response> written_response(documents::WriteOutcome outcome, int status, HotSpot spot);

}  // namespace once::api
