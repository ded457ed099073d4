// What goes wrong in PostgreSQL, in our words.
#pragma once

#include <string>

#include "once/error.h"

namespace once::postgres {

struct Failure;

// Another process inserted a key between our look and our insert. To be sent again at once.
bool is_race(const Failure& failure);

// Another transaction held a row for longer than we wait.
bool is_locked(const Failure& failure);

// The server takes no writes: other connections may lead to one that does.
bool is_read_only(const Failure& failure);

// The server has no room left for it.
bool is_full(const Failure& failure);

// Of a statement. `schema` is named where it is missing.
Error error_of(const Failure& failure, const std::string& schema);

// A reading has no outcome to be in doubt about: `unknown` becomes `unavailable`.
Error reading_error_of(const Failure& failure, const std::string& schema);

// Of a connection that was not made, for which libpq has a text only.
Error connecting_error(const std::string& message);

}  // namespace once::postgres
