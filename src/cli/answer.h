// The end of a verb: prints the API's answer as the options say, and chooses the exit code.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "cli/invocation.h"
#include "once/error.h"
#include "wire/json.h"
#include "wire/message.h"

namespace once::cli {

int exit_code(const Error& error);
int exit_code(const api::Response& response);

// Prints the problem on one line of stderr. Returns its exit code.
int print_error(const Invocation& invocation, const Error& error);
int print_error(const Invocation& invocation, const api::Response& problem);

// As --json prints it.
void print_line(std::string_view json);

// Prints the answer: with --json as its line, with --field one field of it, otherwise by `show`. An
// error is printed by print_error().
using Show = std::function<void(api::Json body)>;
int print_answer(const Invocation& invocation, const Result<api::Response>& answer,
                 const Show& show);

// No answer because the store cannot be asked, and the invocation would rather act twice than not
// at all.
bool proceeds(const Invocation& invocation, const Result<api::Response>& answer);

// The value of a problem's or an answer's field, "" if there is none.
std::string field_of(const api::Response& response, std::string_view name);

}  // namespace once::cli
