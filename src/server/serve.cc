#include "server/serve.h"

#include <utility>

#include "api/checkpoints.h"
#include "api/text.h"
#include "once/metered_store.h"
#include "once/open.h"
#include "server/address_file.h"
#include "server/lifetime.h"
#include "server/responder.h"
#include "server/running_metrics.h"
#include "server/server.h"
#include "server/store_sweep.h"
#include "server/warnings.h"

namespace once::server {
namespace {

constexpr Duration kTokensEvery = std::chrono::seconds(2);
constexpr Duration kDrain = std::chrono::seconds(4);
constexpr auto kExit = std::chrono::milliseconds(4'700);  // From the signal.

Circumstances circumstances_of(const ServeOptions& options, const tokens::Table& tokens) {
  return look_around(
      {.store = options.store,
       .listen = options.listen,
       .has_tokens = !tokens.empty(),
       .if_store_down_proceed = options.service.if_store_down == IfStoreDown::proceed,
       .max_connections = options.settings.max_connections});
}

Result<void> check_listen(const ServeOptions& options, const tokens::Table& tokens) {
  if (is_loopback(options.listen) || options.open_to_all || !tokens.empty()) return {};
  return failure(ErrorCode::invalid, "refusing to listen on " + options.listen +
                                         " without tokens; see 'once help serve'");
}

// Another process on the same store may have made or revoked some. What cannot be read now is read
// the next time.
void refresh_tokens(BatchingDriver& driver, tokens::Table& table) {
  Result<std::vector<tokens::Token>> known = driver.run(tokens::list());
  if (known) table.replace(std::move(*known));
}

// The server asks the driver, the door and the hub, these two go through the driver, and the driver
// answers to all: asking ends first, then the driver, then those it answers to.
struct Stopping {
  std::optional<Server>& server;
  events::Door& door;
  FollowHub& hub;
  ~Stopping() {
    if (server) server->stop();
    door.stop();
    hub.stop();
  }
};

}  // namespace

Result<void> serve(ServeOptions options, const std::function<void(const std::string&)>& ready) {
  ExitBy exit_by;  // Until all else is gone.
  const sigset_t signals = hold_signals();
  allow_many_descriptors();
  Result<std::unique_ptr<Store>> store =
      open_store(options.store, {.sweep_every = Duration::zero()});
  if (!store) return std::unexpected(std::move(store.error()));
  options.service.instance = api::hex_text(system_entropy().random());
  options.service.store = (*store)->describe();
  options.settings.max_document_bytes =
      std::max(options.settings.max_document_bytes, (*store)->limits().value_bytes);
  std::optional<api::Checkpoints> checkpoints;
  if (const auto directory = directory_of(options.store)) {
    checkpoints.emplace(*directory, [&](const auto& to) { return checkpoint(**store, to); });
    options.service.checkpoints = &*checkpoints;
  }
  // Beyond loopback the last token's end opens nothing.
  options.service.needs_tokens = !is_loopback(options.listen) && !options.open_to_all;
  api::Service service(options.service);
  Result<std::vector<tokens::Token>> known = BlockingDriver(**store).run(tokens::list());
  if (!known) return std::unexpected(std::move(known.error()));
  service.tokens().replace(std::move(*known));
  if (Result<void> ok = check_listen(options, service.tokens()); !ok) return ok;
  Journal journal(options.journal);
  Observer observer(service.metrics(), journal, options.service.instance);
  const std::unique_ptr<MeteredStore> metered = meter(**store);
  const StoreSweep sweeping(*metered, service.metrics(), system_clock());
  std::optional<Server> server;  // These outlive the driver, whose last answers come here.
  std::optional<Responder> responder;
  std::optional<FollowHub> hub;
  std::optional<events::Door> door;
  BatchingDriver driver(*metered, {.gathers = false});
  hub.emplace(driver, system_clock());
  door.emplace(driver, service.options().events.routes, options.events);
  const Stopping stop{server, *door, *hub};
  const Periodic refreshing(system_clock(), kTokensEvery, [&] {
    refresh_tokens(driver, service.tokens());
    return false;
  });
  responder.emplace(service, driver, *hub, observer, *door, options.settings.work);
  server.emplace(options.settings, *responder);
  const RunningMetrics running(service.metrics().registry(), metered.get(), *server,
                               options.version);
  const Result<std::string> url = server->listen(options.listen);
  if (!url) return std::unexpected(url.error());
  std::optional<AddressFile> file;
  if (const auto directory = directory_of(options.store)) {
    Result<AddressFile> written = AddressFile::write(*directory, {*url, options.service.instance});
    if (!written) return std::unexpected(std::move(written.error()));
    file.emplace(std::move(*written));
  }
  ready("once: serving " + *url + " on " + (*store)->describe());
  warn(journal, circumstances_of(options, service.tokens()));
  journal.line(Level::info, "start").text("url", *url).text("store", (*store)->describe());
  const int signal = wait_for(signals);
  exit_by.arm(kExit);
  journal.line(Level::info, "stop").integer("signal", signal);
  server->drain(kDrain);
  const auto left = static_cast<std::int64_t>(server->connections());
  if (left > 0) journal.line(Level::warning, "stopped_early").integer("connections", left);
  return {};
}

}  // namespace once::server
