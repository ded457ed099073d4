// Keeps a store from other users of the machine: its directory has mode 0700, its files 0600, and
// no symbolic link in it is followed (docs/threats.md).
#pragma once

#include <rocksdb/env.h>

#include <filesystem>
#include <memory>

#include "once/error.h"

namespace once {

// Makes the directory, with mode 0700, if it is missing, and what is missing of the path to it.
Result<void> make_private_directory(const std::filesystem::path& directory);

// `unavailable` if the directory, or the link that is its name, belongs to another user. Root may
// open the directory of any user.
Result<void> check_owner(const std::filesystem::path& directory);

// Takes the permissions of others away from the directory, the files in it and the checkpoints
// below it. `unavailable` if one of them belongs to another user; `invalid` if one is a symbolic
// link.
Result<void> repair_permissions(const std::filesystem::path& directory);

// The files of `env`, but new ones have mode 0600 and new directories 0700, and a symbolic link is
// not written through. `env` must outlive it.
std::unique_ptr<rocksdb::Env> private_files(rocksdb::Env& env);

}  // namespace once
