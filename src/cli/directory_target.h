// A directory that servers and commands share (directory/owner.h).
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "cli/in_process.h"
#include "cli/target.h"

namespace once::cli {

class DirectoryTarget final : public Target {
 public:
  DirectoryTarget(std::string address, std::filesystem::path directory, std::string token,
                  client::ClientFiles own);

  void release_store() override { here_.reset(); }
  Result<client::HttpClient*> server() override;
  bool holds_store() const override { return here_ != nullptr; }

 private:
  Result<api::Response> send(const api::Request& request, Duration within) override;

  // Finds who answers: the server, or this process as soon as it is its turn.
  Result<void> settle(Duration within);

  const std::string address_;
  const std::filesystem::path directory_;
  const std::string token_;
  const client::ClientFiles own_;

  // At most one of the two.
  std::unique_ptr<client::HttpClient> server_;
  std::unique_ptr<InProcess> here_;
};

}  // namespace once::cli
