#include "cli/target.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "cli/answer.h"
#include "cli/directory_target.h"
#include "cli/in_process.h"
#include "directory/owner.h"
#include "once/open.h"
#include "open/backend.h"
#include "remote/remote.h"
#include "wire/problem.h"

namespace once::cli {
namespace {

class ServerTarget final : public Target {
 public:
  ServerTarget(const std::string& url, std::string token, client::ServerTrust trust)
      : client_(url, std::move(token), std::move(trust)) {}

  Result<api::Response> send(const api::Request& request, Duration within) override {
    return client_.call(request, within);
  }
  Result<client::HttpClient*> server() override { return &client_; }

 private:
  client::HttpClient client_;
};

// An address that names no store is a slip of the one who typed it.
Error explained(Error error) {
  if (error.code == ErrorCode::unsupported) error.code = ErrorCode::invalid;
  return error;
}

// A store that is no directory: open to everybody at once, or to this process alone.
class StoreTarget final : public Target {
 public:
  explicit StoreTarget(std::string address) : address_(std::move(address)) {}

  Result<api::Response> send(const api::Request& request, Duration) override {
    if (!here_) {
      Result<std::unique_ptr<Store>> opened = open_store(address_);
      if (!opened) return std::unexpected(explained(std::move(opened.error())));
      here_ = std::make_unique<InProcess>(std::move(*opened));
    }
    return here_->call(request);
  }
  Result<client::HttpClient*> server() override { return nullptr; }

 private:
  const std::string address_;
  std::unique_ptr<InProcess> here_;
};

// Answers everything with one error: what is wrong comes out where every other problem does.
class NoTarget final : public Target {
 public:
  explicit NoTarget(Error error) : error_(std::move(error)) {}

  Result<api::Response> send(const api::Request&, Duration) override {
    return std::unexpected(error_);
  }
  Result<client::HttpClient*> server() override { return std::unexpected(error_); }

 private:
  const Error error_;
};

// A document or tally of a store with one write a commit keeps a bounded number of ids. Nothing was
// written.
bool has_no_room_for_ids(const api::Response& answer) {
  return answer.status == 503 && (field_of(answer, "code") == "overloaded" ||
                                  field_of(answer, "detail").starts_with("overloaded:"));
}

api::Response may_have_happened(const Error& lost, const WriteOptions& options) {
  const std::string happened = lost.message + "; it may have happened";
  if (!options.id.empty()) {
    const std::string repeat = ": repeat " + options.what + " with --request " + options.id;
    return wire::Problem(wire::Code::unknown, happened + repeat)
        .text("request", options.id)
        .finish();
  }
  const bool is_safe = options.repeat == remote::Repeat::safe;
  return wire::problem(wire::Code::unknown, happened + (is_safe ? ", and may be repeated"
                                                                : ": look before you repeat it"));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes it.
  return value != nullptr ? value : "";
}

}  // namespace

Result<api::Response> Target::send_until_answered(const api::Request& request,
                                                  remote::Repeat repeat) {
  Result<remote::CallResult> called = remote::call_until_answered(
      request, {.repeat = repeat, .within = kPatience, .grace = {}, .waits = {}, .still_there = {}},
      system_clock(), system_entropy(), [&](Duration timeout) { return send(request, timeout); });
  if (!called) return std::unexpected(std::move(called.error()));
  return std::move(called->response);
}

// What changes nothing cannot have happened. A GET is never called lost, except by a server.
Result<api::Response> Target::call(const api::Request& request) {
  const bool is_get = request.method == "GET";
  Result<api::Response> answer =
      send_until_answered(request, is_get ? remote::Repeat::never : remote::Repeat::safe);
  if (!answer && answer.error().code == ErrorCode::unknown) {
    answer.error().code = ErrorCode::unavailable;
  }
  return answer;
}

Result<api::Response> Target::write(const api::Request& request, const WriteOptions& options) {
  Result<api::Response> answer = send_until_answered(request, options.repeat);
  if (options.without_id && answer && has_no_room_for_ids(*answer)) {
    return write(*options.without_id, {.repeat = remote::Repeat::never});
  }
  if (answer || answer.error().code != ErrorCode::unknown) return answer;
  return may_have_happened(answer.error(), options);
}

Result<std::string> default_store() {
  namespace fs = std::filesystem;
  const fs::path state = variable("XDG_STATE_HOME");
  if (state.is_absolute()) return (state / "once").string();
  if (::geteuid() == 0) return "/var/lib/once";
  const fs::path home = variable("HOME");
  if (home.is_absolute()) return (home / ".local/state/once").string();
  return failure(ErrorCode::invalid, "no store: neither --store nor ONCE_STORE nor HOME is set");
}

Result<std::string> named_store(const Invocation& invocation) {
  auto named = invocation.option("store");
  return named ? Result<std::string>(std::move(*named)) : default_store();
}

client::ClientFiles client_files(const Invocation& invocation) {
  return {.ca = invocation.option("ca").value_or(""),
          .certificate = invocation.option("client-cert").value_or(""),
          .key = invocation.option("client-key").value_or("")};
}

Result<StorePlace> store_or_server(const Invocation& invocation) {
  Result<std::string> address = named_store(invocation);
  if (!address) return std::unexpected(std::move(address.error()));
  const client::ClientFiles files = client_files(invocation);
  if (is_server_address(*address)) {
    Result<client::SharedTls> tls = client::read_tls(files);
    if (!tls) return std::unexpected(std::move(tls.error()));
    return StorePlace{std::move(*address), client::trusting(std::move(*tls))};
  }
  const auto directory = directory_of(*address);
  const auto server = directory ? directory::running_server(*directory, files) : std::nullopt;
  if (!server) return StorePlace{std::move(*address), {}};
  return StorePlace{server->url, directory::trust_of(*directory, *server, files)};
}

Result<Once> open_place(const StorePlace& place, const std::string& token,
                        const std::string& name_space) {
  if (!is_server_address(place.address)) {
    return open(place.address, name_space, {.wait_for_turn = kPatienceForTurn});
  }
  Result<std::unique_ptr<Backend>> server =
      remote::connect(place.address, token, name_space, system_clock(), system_entropy(), {},
                      wire::DataForm::exact, place.trust);
  if (!server) return std::unexpected(std::move(server.error()));
  return Once(std::move(*server));
}

Result<Once> open_library(const Invocation& invocation) {
  const Result<std::string> address = named_store(invocation);
  if (!address) return std::unexpected(address.error());
  Result<std::unique_ptr<Backend>> backend =
      open_shared(*address, invocation.option("namespace").value_or(""),
                  {.wait_for_turn = kPatienceForTurn,
                   .token = invocation.option("token").value_or(""),
                   .ca = invocation.option("ca").value_or(""),
                   .client_cert = invocation.option("client-cert").value_or(""),
                   .client_key = invocation.option("client-key").value_or("")},
                  wire::DataForm::json);
  if (!backend) return std::unexpected(explained(std::move(backend.error())));
  return Once(std::move(*backend));
}

std::unique_ptr<Target> open_target(const Invocation& invocation) {
  Result<std::string> address = named_store(invocation);
  if (!address) return std::make_unique<NoTarget>(std::move(address.error()));
  std::string token = invocation.option("token").value_or("");
  if (is_server_address(*address)) {
    Result<client::SharedTls> tls = client::read_tls(client_files(invocation));
    if (!tls) return std::make_unique<NoTarget>(std::move(tls.error()));
    return std::make_unique<ServerTarget>(*address, std::move(token),
                                          client::trusting(std::move(*tls)));
  }
  if (const auto directory = directory_of(*address)) {
    return std::make_unique<DirectoryTarget>(*address, *directory, std::move(token),
                                             client_files(invocation));
  }
  return std::make_unique<StoreTarget>(std::move(*address));
}

}  // namespace once::cli
