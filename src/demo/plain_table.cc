#include "demo/plain_table.h"

#include <utility>

#include "wire/problem.h"

namespace once::demo {
namespace {

Plan<api::Response> read(Key key) {
  const std::optional<Item> item = co_await get(key);
  if (!item) co_return api::Response{.status = 404};
  const auto* text = std::get_if<Bytes>(&item->value);
  co_return api::Response{.status = 200, .body = text != nullptr ? *text : ""};
}

Plan<api::Response> written(Key key, std::string text) {
  Write write = put(std::move(key), std::move(text), anything());
  (void)co_await commit(write);
  co_return api::Response{.status = 200};
}

}  // namespace

server::Reply PlainTable::respond(api::Request request, Executor&, ReplyCallback later) {
  Key key{{std::move(request.target), ""}};
  Plan<api::Response> plan = request.method == "PUT"
                                 ? written(std::move(key), std::move(request.body))
                                 : read(std::move(key));
  const Result<void> started = driver_.start<api::Response>(
      std::move(plan), [later = std::move(later)](Result<api::Response> outcome) mutable {
        later(outcome ? std::move(*outcome) : api::problem(outcome.error()));
      });
  if (started) return server::Awaited{};
  return api::problem(started.error());
}

}  // namespace once::demo
