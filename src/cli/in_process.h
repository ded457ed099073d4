// The API in this process, on a store that a command has opened.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <utility>

#include "api/checkpoints.h"
#include "api/in_process.h"
#include "once/blocking_driver.h"
#include "once/open.h"

namespace once::cli {

class InProcess {
 public:
  explicit InProcess(std::unique_ptr<Store> store) : store_(std::move(store)), api_(*store_) {}

  // An embedded store, which has its data there.
  InProcess(std::unique_ptr<Store> store, const std::filesystem::path& directory)
      : store_(std::move(store)),
        checkpoints_(std::in_place, directory,
                     [this](const auto& to) { return checkpoint(*store_, to); }),
        api_(*store_, {.checkpoints = &*checkpoints_}) {}

  InProcess(const InProcess&) = delete;
  InProcess& operator=(const InProcess&) = delete;

  api::Response call(const api::Request& request) {
    Result<api::Response> answer = api_.call(request);
    return answer ? std::move(*answer) : api::Service::failed(answer.error());
  }

 private:
  const std::unique_ptr<Store> store_;
  std::optional<api::Checkpoints> checkpoints_;
  api::InProcess<BlockingDriver> api_;
};

}  // namespace once::cli
