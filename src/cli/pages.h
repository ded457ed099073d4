// Verbs that go through a listing, page after page.
#pragma once

#include <string>
#include <vector>

#include "cli/answer.h"
#include "cli/command.h"

namespace once::cli {

// GET /v1/NOUN with --prefix and what else it is filtered by, until there are no more or --limit
// are printed.
int list_pages(const Invocation& invocation, const std::string& noun, const Show& show,
               std::initializer_list<std::string_view> filters = {"prefix"});

// POST /v1/bulk/NOUN/delete with --prefix, until nothing is left; with --dry-run, only counts.
// `one` and `many` name them for people: "document", "documents".
int remove_pages(const Invocation& invocation, const std::string& noun, const std::string& one,
                 const std::string& many);

}  // namespace once::cli
