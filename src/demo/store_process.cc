#include "demo/store_process.h"

#include <utility>

#include "demo/plain_table.h"
#include "once/open.h"
#include "server/serve.h"
#include "server/server.h"

namespace once::demo {
namespace {

constexpr Duration kStartsWithin = std::chrono::seconds(30);
constexpr const char* kListen = "127.0.0.1:0";
constexpr std::string_view kFailed = "!";  // Before an error message instead of a URL.

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
