// The directory of an embedded store, which one process at a time may open. A server that has it
// leaves its address there, in the file `server`: its URL, and on a second line the id of this run,
// which /healthz tells. A file whose server does not answer, or has another id, is stale.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "cli/in_process.h"
#include "cli/target.h"

namespace once::cli {

// The URL of the server that has the directory; nothing if there is none.
std::optional<std::string> running_server(const std::filesystem::path& directory);

class DirectoryTarget final : public Target {
 public:
  DirectoryTarget(std::string address, std::filesystem::path directory, std::string token);

  Result<api::Response> call(const api::Request& request) override;
  void rest() override { here_.reset(); }
  Result<client::HttpClient*> server() override;
  bool is_alone() const override { return here_ != nullptr; }

 private:
  // Finds who answers: the server, or this process as soon as it is its turn.
  Result<void> settle();
  std::unique_ptr<client::HttpClient> find_server() const;

  const std::string address_;
  const std::filesystem::path directory_;
  const std::string token_;

  // At most one of the two.
  std::unique_ptr<client::HttpClient> server_;
  std::unique_ptr<InProcess> here_;
};

}  // namespace once::cli
