#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <iostream>
#include <system_error>

#include "cli/answer.h"
#include "cli/backup_place.h"
#include "cli/store_copy.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "once/open.h"

namespace once::cli::restore_command {
namespace {

namespace fs = std::filesystem;

int refuse(const Invocation& invocation, const std::string& message) {
  print_error(invocation, {ErrorCode::invalid, message});
  return kRefused;
}

// Where the store is to be. An error if something is there.
Result<fs::path> free_directory(const Invocation& invocation) {
  const Result<std::string> address = named_store(invocation);
  if (!address) return std::unexpected(address.error());
  const std::optional<fs::path> directory = directory_of(*address);
  if (!directory) return failure(ErrorCode::invalid, "--store is a directory that is not there");
  std::error_code error;
  fs::path path = fs::absolute(*directory, error);
  if (!path.has_filename()) path = path.parent_path();
  if (!fs::exists(fs::symlink_status(path, error))) return path;
  if (fs::is_directory(path, error) && fs::is_empty(path, error) && !error) return path;
  return failure(ErrorCode::denied, path.string() +
                                        " is in use or not empty; stop its server and "
                                        "move it away, or restore to another directory");
}

// Moves the whole store into its place at once.
Result<void> put_in_place(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    return failure(ErrorCode::unavailable,
                   to.string() + ": " + std::error_code(errno, std::generic_category()).message());
  }
  const int parent = ::open(to.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (parent >= 0) {
    (void)::fsync(parent);
    ::close(parent);
  }
  return {};
}

int run(const Invocation& invocation) {
  const Result<fs::path> to = free_directory(invocation);
  if (!to && to.error().code == ErrorCode::denied) return refuse(invocation, to.error().message);
  if (!to) return print_error(invocation, to.error());
  const Result<std::unique_ptr<BackupPlace>> place = BackupPlace::open(invocation.words[0]);
  if (!place) return print_error(invocation, place.error());
  const Result<std::vector<std::string>> names = (*place)->names();
  if (!names) return print_error(invocation, names.error());
  if (names->empty())
    return refuse(invocation, "there is no whole backup in " + invocation.words[0]);
  const std::string& name = names->back();
  const Result<Manifest> manifest = (*place)->manifest(name);
  if (!manifest) return refuse(invocation, manifest.error().message);
  std::error_code error;
  fs::create_directories(to->parent_path(), error);
  Result<ScratchDirectory> scratch = ScratchDirectory::make(*to, "restoring");
  if (!scratch) return print_error(invocation, scratch.error());
  {
    Progress progress("bytes", Progress::Output::at_the_end, manifest->bytes());
    for (const BackupFile& file : manifest->files) {
      const Result<void> copied = (*place)->get(name, file, scratch->path() / file.name,
                                                [&](std::uint64_t bytes) { progress.add(bytes); });
      if (copied) continue;
      if (copied.error().code != ErrorCode::corrupt) return print_error(invocation, copied.error());
      return refuse(invocation, "the backup is damaged: " + copied.error().message);
    }
  }
  const Soundness soundness = examine(scratch->path());
  if (!soundness.sound()) {
    return refuse(invocation, "the backup is damaged: " + soundness.findings.front());
  }
  if (const Result<void> placed = put_in_place(scratch->path(), *to); !placed) {
    return print_error(invocation, placed.error());
  }
  scratch->keep();
  if (invocation.flag("json")) {
    api::JsonObject out;
    out.text("directory", to->string())
        .text("made_at", manifest->made_at)
        .integer("items", static_cast<std::int64_t>(soundness.items));
    print_line(out.finish());
  } else {
    std::cout << to->string() << ": " << soundness.items << " items, as they were at "
              << manifest->made_at << '\n';
  }
  return kDone;
}

constexpr std::array kVerbs = {Verb{"", 1, 1, "where backups are", {}, run}};

}  // namespace

const Command kCommand = {
    .name = "restore",
    .summary = "Makes a store of the newest backup",
    .help = R"(Usage: once restore BACKUP --store DIR

Makes a store in DIR of a backup: the newest whole one of those in BACKUP, a directory or
s3://BUCKET/PREFIX that 'once backup' wrote to, or the one that BACKUP itself is. Refuses (exit 1) if
DIR is in use or not empty. Every file is compared with the manifest and every record is looked at, as
by 'once verify', before the store is put in its place: all of it or nothing.

What was committed after the backup is as if it had never been: claims completed since may be claimed
again. Fences still only rise, because they follow the clock.

Example:
  once backup ./saved && once restore ./saved --store ./restored
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::restore_command
