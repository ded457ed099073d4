#include <unistd.h>

#include <array>
#include <iostream>

#include "cli/answer.h"
#include "cli/input.h"
#include "cli/pages.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::doc_command {
namespace {

std::string header(const api::Response& response, std::string_view name) {
  return std::string(response.headers.find(name).value_or(""));
}

std::string etag_of(const api::Response& response) {
  std::string etag = header(response, "ETag");
  std::erase(etag, '"');
  return etag;
}

// The API answers with a document as it is; for machines it becomes an object of its own.
api::Response described(const Invocation& invocation, const api::Response& answer) {
  api::JsonObject out;
  out.text("key", invocation.words[0]).text("etag", etag_of(answer));
  if (answer.status == 200 && !answer.body.empty()) {
    out.text("content_type", header(answer, "Content-Type"));
    out.raw("body", api::stored_as_json(answer.body));
  }
  return {answer.status, answer.headers, out.finish()};
}

void print_document(const std::string& body) {
  std::cout << body;
  if (::isatty(STDOUT_FILENO) == 1 && !body.empty() && !body.ends_with('\n')) std::cout << '\n';
}

// `show` prints for people what the API answered.
int concluded(const Invocation& invocation, const Result<api::Response>& answer,
              void (*show)(const api::Response& answer)) {
  if (!answer || answer->status >= 400) return print_answer(invocation, answer, nullptr);
  return print_answer(invocation, described(invocation, *answer),
                      [&](api::Json) { show(*answer); });
}

void add_header(api::Request& request, const Invocation& invocation, std::string name,
                std::string_view option) {
  if (auto value = invocation.option(option)) {
    request.headers.add(std::move(name), std::move(*value));
  }
}

api::Request document_request(const Invocation& invocation, std::string method) {
  api::Request request =
      request_for(invocation, std::move(method), path_to("docs", invocation.words[0]));
  add_header(request, invocation, "If-Match", "if-match");
  return request;
}

// A change of a document, which is made once under its id.
Result<api::Response> write(const Invocation& invocation, const api::Request& request) {
  const Result<RequestId> id = RequestId::of(invocation, "id");
  if (!id) return std::unexpected(id.error());
  api::Request known = request;
  known.headers.add("Idempotency-Key", id->of_batch());
  WriteOptions options{.id = id->of_batch()};
  if (!id->is_given()) options.without_id = request;
  return open_target(invocation)->write(known, options);
}

int get(const Invocation& invocation) {
  const auto answer = open_target(invocation)->call(document_request(invocation, "GET"));
  return concluded(invocation, answer,
                   [](const api::Response& document) { print_document(document.body); });
}

int put(const Invocation& invocation) {
  api::Request request = document_request(invocation, "PUT");
  add_header(request, invocation, "If-None-Match", "if-none-match");
  if (invocation.flag("create")) request.headers.add("If-None-Match", "*");
  if (request.headers.count("If-Match") + request.headers.count("If-None-Match") != 1) {
    return print_error(invocation,
                       {ErrorCode::invalid, "it takes either --create or --if-match ETAG"});
  }
  Result<std::string> content = content_of(invocation, 1);
  if (!content) return print_error(invocation, content.error());
  request.headers.add("Content-Type",
                      invocation.option("content-type").value_or(guessed_type(*content)));
  add_header(request, invocation, "Once-TTL", "ttl");
  request.body = std::move(*content);
  const auto answer = write(invocation, request);
  return concluded(invocation, answer, [](const api::Response& made) {
    std::cout << (made.status == 201 ? "created, etag " : "replaced, etag ") << etag_of(made)
              << '\n';
  });
}

// A list of operations, or a document that is merged into the current one.
std::string patch_type(const std::string& patch) {
  const Result<api::Json> json = api::parse_json(patch);
  return json && json->is_array() ? "application/json-patch+json" : "application/merge-patch+json";
}

int patch(const Invocation& invocation) {
  Result<std::string> content = content_of(invocation, 1);
  if (!content) return print_error(invocation, content.error());
  api::Request request = document_request(invocation, "PATCH");
  request.headers.add("Content-Type",
                      invocation.option("content-type").value_or(patch_type(*content)));
  add_header(request, invocation, "Once-TTL", "ttl");
  add_header(request, invocation, "Once-Retry", "retry");
  request.body = std::move(*content);
  const auto answer = write(invocation, request);
  return concluded(invocation, answer,
                   [](const api::Response& document) { std::cout << document.body << '\n'; });
}

void print_documents(api::Json page) {
  Table table({"KEY", "ETAG", "BYTES", "CONTENT TYPE"});
  for (const api::Json document : page.at_key("docs")) {
    table.add({member(document, "key"), member(document, "etag"), member(document, "bytes"),
               member(document, "content_type")});
  }
  table.print();
}

int list(const Invocation& invocation) { return list_pages(invocation, "docs", print_documents); }

int remove(const Invocation& invocation) {
  if (invocation.words.empty()) {
    if (invocation.option("prefix")) {
      return remove_pages(invocation, "docs", "document", "documents");
    }
    return print_error(invocation, {ErrorCode::invalid, "it takes a KEY, or --prefix P"});
  }
  if (invocation.option("prefix") || invocation.flag("dry-run")) {
    return print_error(invocation, {ErrorCode::invalid, "--prefix is without a KEY"});
  }
  if (!invocation.option("if-match")) {
    return print_error(invocation, {ErrorCode::invalid, "it takes --if-match ETAG"});
  }
  const auto answer = write(invocation, document_request(invocation, "DELETE"));
  return print_answer(invocation, answer, print_members);
}

constexpr std::array kPutOptions = {Option{"file"},          Option{"content-type"},
                                    Option{"if-match"},      Option{"id"},
                                    Option{"request"},       Option{"ttl"},
                                    Option{"if-none-match"}, Option{"create", Option::Kind::flag}};
constexpr std::array kPatchOptions = {Option{"file"}, Option{"content-type"}, Option{"if-match"},
                                      Option{"id"},   Option{"request"},      Option{"ttl"},
                                      Option{"retry"}};
constexpr std::array kRemoveOptions = {Option{"if-match"}, Option{"id"}, Option{"request"},
                                       Option{"prefix"}, Option{"dry-run", Option::Kind::flag}};
constexpr std::array kListOptions = {Option{"prefix"}, Option{"limit"}};

constexpr std::array kVerbs = {
    Verb{"get", 1, 1, "a KEY", {}, get},
    Verb{"put", 1, 2, "a KEY and a BODY", kPutOptions, put},
    Verb{"patch", 1, 2, "a KEY and a PATCH", kPatchOptions, patch},
    Verb{"rm", 0, 1, "a KEY", kRemoveOptions, remove},
    Verb{"list", 0, 0, "", kListOptions, list},
};

}  // namespace

const Command kCommand = {
    .name = "doc",
    .summary = "Keeps documents that change only under a condition",
    .help = R"help(Usage: once doc get KEY
       once doc put KEY [BODY] (--create | --if-match ETAG) [--file FILE] [--content-type TYPE]
                    [--id ID] [--ttl 7d]
       once doc patch KEY [PATCH] [--if-match ETAG] [--file FILE] [--content-type TYPE] [--id ID]
                      [--ttl 7d] [--retry adaptive|fixed]
       once doc rm KEY --if-match ETAG [--id ID]
       once doc rm --prefix P [--dry-run]
       once doc list [--prefix P] [--limit N]

get prints the document as it is; --field etag prints its ETag, and --json both. put stores BODY, the
content of FILE, or standard input: --create (or --if-none-match '*') if there is none yet, --if-match
if the one with this ETag still stands. patch changes a JSON document by an array of operations
(application/json-patch+json) or by merging an object into it (application/merge-patch+json), and
prints the new one; without --if-match it is tried again until nobody's change is lost: for ten
seconds, or four times with --retry fixed. --ttl is how long the document is kept from then on. rm
--prefix removes all documents whose keys begin so; --dry-run only counts them. A change with
--id is made once, however often it is asked for; it is also called --request. Exit 70: it may have
been made; repeat it with the --request that is printed.

Example:
  once doc put config --create '{"limit":10}'
  once doc get config
  once doc patch config '{"limit":20}' --id raise-the-limit
  echo '{"limit":30}' | once doc put config --if-match "$(once doc get config --field etag)"
  once doc rm config --if-match "$(once doc get config --field etag)"
  once doc put drafts/1 --create 'a draft' --ttl 7d
  once doc list --prefix drafts/
  once doc rm --prefix drafts/
)help",
    .verbs = kVerbs,
};

}  // namespace once::cli::doc_command
