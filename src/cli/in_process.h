// The API in this process, on a store that a command has opened, called one request at a time. A
// server parks requests instead (server/responder.h).
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "api/checkpoints.h"
#include "api/service.h"
#include "once/blocking_driver.h"
#include "once/open.h"

namespace once::cli {

class InProcess {
 public:
  explicit InProcess(std::unique_ptr<Store> store)
      : store_(std::move(store)),
        driver_(*store_),
        service_(api::ServiceOptions{.store = store_->describe()}) {}

  // An embedded store, which has its data there.
  InProcess(std::unique_ptr<Store> store, const std::filesystem::path& directory)
      : store_(std::move(store)),
        checkpoints_(std::in_place, directory,
                     [this](const auto& to) { return checkpoint(*store_, to); }),
        driver_(*store_),
        service_(api::ServiceOptions{.checkpoints = &*checkpoints_, .store = store_->describe()}) {
    service_.set_facts([directory] {
      api::Facts facts;
      facts.directory = directory;
      return facts;
    });
  }

  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  // It has the time that the request asks to wait, and that of one attempt.
  wire::Response call(const wire::Request& request) {
    api::Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<wire::Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.patience(kAttemptLife);
    Result<wire::Response> made =
        driver_.run(std::get<Plan<wire::Response>>(std::move(answer)), patience);
    return made ? std::move(*made) : api::Service::failed(made.error());
  }

 private:
  const std::unique_ptr<Store> store_;
  std::optional<api::Checkpoints> checkpoints_;
  BlockingDriver driver_;
  api::Service service_;
};

}  // namespace once::cli
