// Effects as requests and answers of the API: POST /v1/commit, and what a handler returns.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "once/effects.h"
#include "wire/data_form.h"
#include "wire/message.h"

namespace once::wire {

// Whether a commit is to be made, or prepared for a transaction of the caller's own.
enum class Commit : std::uint8_t { made, prepared };

struct CommitRequest {
  effects::Request request;
  Commit commit = Commit::made;
};

// The body of a commit. Its namespace is a header. `invalid` or `unsupported` names a part that
// cannot be sent.
Result<std::string> encode(const effects::Request& request, DataForm form,
                           Commit commit = Commit::made);
Result<CommitRequest> decode_commit_request(std::string_view body, DataForm form);

// An object of `result`, `logs`, `docs` and `tallies`, all of them optional: what a handler
// returns.
Result<Effects> decode_effects(std::string_view json);

// One answer for each part of the request, or the part that refused.
Response encode(const effects::Request& request, const effects::Outcome& outcome, DataForm form);

// `unknown` if the answer is not understood.
Result<effects::Outcome> decode_commit_outcome(const Response& response, const Effects& effects,
                                               DataForm form);

// The same for what is prepared: a token, if it was not made before.
Response encode(const effects::Request& request, const effects::PrepareOutcome& outcome,
                DataForm form);
Result<effects::PrepareOutcome> decode_prepare_outcome(const Response& response,
                                                       const Effects& effects, DataForm form);

}  // namespace once::wire
