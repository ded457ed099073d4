// The API in this process, on a store.
#pragma once

#include <memory>
#include <utility>

#include "api/service.h"
#include "once/blocking_driver.h"

namespace once::cli {

class InProcess {
 public:
  explicit InProcess(std::unique_ptr<Store> store) : store_(std::move(store)), driver_(*store_) {}

  api::Response call(const api::Request& request) {
    api::Answer answer = service_.respond(request);
    if (auto* ready = std::get_if<api::Response>(&answer)) return std::move(*ready);
    const Duration patience = answer.patience;
    Result<api::Response> ran =
        driver_.run(std::get<Plan<api::Response>>(std::move(answer)), patience);
    return ran ? std::move(*ran) : api::Service::failed(ran.error());
  }

 private:
  std::unique_ptr<Store> store_;
  BlockingDriver driver_;
  api::Service service_;
};

}  // namespace once::cli
