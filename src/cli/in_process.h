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
    Result<api::Response> ran =
        driver_.run(std::get<Plan<api::Response>>(std::move(answer)), api::kRequestPatience);
    return ran ? std::move(*ran) : api::Service::failed(ran.error());
  }

  Store& store() { return *store_; }

 private:
  std::unique_ptr<Store> store_;
  BlockingDriver driver_;
  api::Service service_;
};

inline std::unexpected<Error> no_store_behind_a_server() {
  return failure(
      ErrorCode::unsupported,
      "a server stands before the store; give the store itself, with the server stopped");
}

}  // namespace once::cli
