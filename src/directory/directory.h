// The primitives in the directory of an embedded store, which is shared with servers and commands:
// each call goes to the server that has the directory, or to the store, which is open for the
// length of the call only. So a program that does something else between two calls, such as waiting
// for a command, blocks no other.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "directory/owner.h"
#include "once/backend.h"
#include "wire/data_form.h"

namespace once::directory {

struct DirectoryOptions {
  std::filesystem::path directory;
  OpenStore open;                               // Opens the directory's store.
  std::string name_space = "default";           // Empty: as for remote::connect().
  std::string token;                            // For a server that asks for one.
  wire::DataForm form = wire::DataForm::exact;  // Of requests to one.
  client::ClientFiles own;                      // Who we are to one that asks for a certificate.

  // How long a call waits for another process that has the store open, within its own bound.
  Duration wait_for_turn = std::chrono::seconds(10);
};

// `clock` and `entropy` must outlive it. Its store() is null: no store stays open. While take()
// waits for another's claim the store is closed, so that the other can complete it.
std::unique_ptr<Backend> share_directory(DirectoryOptions options, Clock& clock = system_clock(),
                                         Entropy& entropy = system_entropy());

}  // namespace once::directory
