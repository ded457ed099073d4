// The API in this process, on a store.
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
  explicit InProcess(std::unique_ptr<Store> store) : store_(std::move(store)), driver_(*store_) {}

  // An embedded store, which has its data there.
  InProcess(std::unique_ptr<Store> store, const std::filesystem::path& directory)
      : store_(std::move(store)),
        driver_(*store_),
        checkpoints_(std::in_place, directory,
                     [this](const auto& to) { return checkpoint(*store_, to); }),
        service_({.checkpoints = &*checkpoints_}) {}

  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  api::Response call(const api::Request& request) {
    api::Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<api::Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.waits + kAttemptLife;
    Result<api::Response> ran =
        driver_.run(std::get<Plan<api::Response>>(std::move(answer)), patience);
    return ran ? std::move(*ran) : api::Service::failed(ran.error());
  }

 private:
  std::unique_ptr<Store> store_;
  BlockingDriver driver_;
  std::optional<api::Checkpoints> checkpoints_;
  api::Service service_;
};

}  // namespace once::cli
