// Whether the broker drops messages of a queue that were delivered too often.
//
// AMQP has no way to ask for a queue's arguments. But a broker that refuses to declare an existing
// queue with others names one that differs, with its value. So the queue is declared again, with
// all that was learnt, until nothing differs. Policies cannot be seen this way.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "queues/rabbitmq/connection.h"

namespace once::rabbitmq {

using ArgumentValue = std::variant<std::int64_t, bool, std::string>;
using Arguments = std::map<std::string, ArgumentValue>;

// The argument that a refusal names: "inequivalent arg 'x-delivery-limit' for queue 'jobs' in vhost
// '/': received none but current is the value '4' of type 'signedint'". Nothing if it names none.
std::optional<Arguments::value_type> argument_in(std::string_view refusal);

// What to warn of, for a quorum queue with these arguments on a broker of that version.
std::optional<std::string> limit_warning(const Arguments& arguments, std::string_view version);

// The same of the queue, which must exist. Nothing if it cannot be known: it is no quorum queue, or
// this user may not declare it.
Result<std::vector<std::string>> limit_warnings(const Options& options);

}  // namespace once::rabbitmq
