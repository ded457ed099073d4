// Answers of DynamoDB that DynamoDB Local never gives, for a Relay.
#pragma once

#include "testing/relay/relay.h"

namespace once::testing {

// A refusal in DynamoDB's words: refused("ThrottlingException").
Answer refused(const std::string& type, const std::string& status = "400 Bad Request",
               const std::string& message = "injected");

Answer throttled();
Answer transaction_conflict();  // Of a single write.
Answer transaction_in_progress();
Answer access_denied();
Answer internal_error();       // 500
Answer service_unavailable();  // 503, from a load balancer: no JSON.

// A TransactWriteItems cancelled because another transaction was at one of its items, the one at
// `place`.
Answer transaction_cancelled(const RelayedRequest& request, std::size_t place = 0);

// Of a BatchGetItem, the first `served` keys are read and the others come back as unprocessed; of a
// BatchWriteItem, the first so many requests are done. Other requests pass.
Fault unprocessed_beyond(std::size_t served, const RelayedRequest& request);

}  // namespace once::testing
