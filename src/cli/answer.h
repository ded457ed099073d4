// The end of a verb: the API's answer printed as it is wanted, and an exit code.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "api/json.h"
#include "api/message.h"
#include "cli/invocation.h"
#include "once/error.h"

namespace once::cli {

int exit_code(const Error& error);
int exit_code(const api::Response& response);

// What could not be done, on one line of stderr, and its exit code.
int complain(const Invocation& invocation, const Error& error);
int complain(const Invocation& invocation, const api::Response& problem);

// As --json prints it.
void print_line(std::string_view json);

// The answer: with --json its line, with --field one field of it, for people what `show` prints; or
// a complaint.
using Show = std::function<void(api::Json body)>;
int conclude(const Invocation& invocation, const Result<api::Response>& answer, const Show& show);

// No answer because the store cannot be asked, and the invocation would rather act twice than not
// at all.
bool proceeds(const Invocation& invocation, const Result<api::Response>& answer);

// The value of a problem's or an answer's field, "" if there is none.
std::string field_of(const api::Response& response, std::string_view name);

}  // namespace once::cli
