#include "demo/store_process.h"

#include <utility>

#include "once/batching_driver.h"
#include "once/open.h"
#include "server/handler.h"
#include "server/serve.h"
#include "server/server.h"
#include "wire/problem.h"

namespace once::demo {
namespace {

constexpr Duration kStartsWithin = std::chrono::seconds(30);
constexpr const char* kListen = "127.0.0.1:0";
constexpr std::string_view kFailed = "!";  // Before an error message instead of a URL.

// A table of names and texts with only GET and PUT, for workers that read first and write later. It
// is on the same embedded store as the other side, and as durable.
class PlainTable final : public server::Handler {
 public:
  explicit PlainTable(BatchingDriver& driver) : driver_(driver) {}  // Must outlive it.

  // GET: 200 and the text, or 404. PUT: 200, whether or not the name existed.
  server::Reply respond(api::Request request, Executor& executor, ReplyCallback later) override;

 private:
  BatchingDriver& driver_;
};

Plan<api::Response> read(Key key) {
  const std::optional<Item> item = co_await get(key);
  if (!item) co_return api::Response{.status = 404};
  const auto* text = std::get_if<Bytes>(&item->value);
  co_return api::Response{.status = 200, .body = text != nullptr ? *text : ""};
}

Plan<api::Response> write(Key key, std::string text) {
  Write replacing = put(std::move(key), std::move(text), anything());
  (void)co_await commit(replacing);
  co_return api::Response{.status = 200};
}

server::Reply PlainTable::respond(api::Request request, Executor&, ReplyCallback later) {
  Key key{{std::move(request.target), ""}};
  Plan<api::Response> plan = request.method == "PUT"
                                 ? write(std::move(key), std::move(request.body))
                                 : read(std::move(key));
  const Result<void> started = driver_.start<api::Response>(
      std::move(plan), [later = std::move(later)](Result<api::Response> outcome) mutable {
        later(outcome ? std::move(*outcome) : api::problem(outcome.error()));
      });
  if (started) return server::Awaited{};
  return api::problem(started.error());
}

void tell_failure(int socket, const Error& error) {
  (void)send_message(socket, std::string(kFailed) + error.message);
}

void serve_api(const std::filesystem::path& directory, int socket) {
  server::ServeOptions options;
  options.store = directory.string();
  options.listen = kListen;
  // The line is for people, and has the URL as its third word.
  const Result<void> served = server::serve(std::move(options), [socket](const std::string& line) {
    const std::size_t begin = line.find("http://");
    (void)send_message(socket, line.substr(begin, line.find(' ', begin) - begin));
  });
  if (!served) tell_failure(socket, served.error());
}

void serve_table(const std::filesystem::path& directory, int socket) {
  const Result<std::unique_ptr<Store>> store = open_store(directory.string());
  if (!store) return tell_failure(socket, store.error());
  std::optional<server::Server> server;  // Outlives the driver, whose last answers come here.
  BatchingDriver driver(**store, {.batch_window = false});
  PlainTable table(driver);
  server.emplace(server::Settings(), table);
  const Result<std::string> url = server->listen(kListen);
  if (!url) return tell_failure(socket, url.error());
  (void)send_message(socket, *url);
  (void)receive_message(socket);  // Until the owner ends.
  server->stop();
}

}  // namespace

Result<StoreProcess> start_store(Way way, const std::filesystem::path& directory) {
  Result<Child> process = Child::start([&](int socket) {
    way == Way::once ? serve_api(directory, socket) : serve_table(directory, socket);
  });
  if (!process) return std::unexpected(std::move(process.error()));
  std::optional<std::string> url = process->receive_within(kStartsWithin);
  if (!url) return failure(ErrorCode::unavailable, "the store did not start");
  if (url->starts_with(kFailed)) return failure(ErrorCode::unavailable, url->substr(1));
  return StoreProcess{std::move(*process), std::move(*url)};
}

}  // namespace once::demo
