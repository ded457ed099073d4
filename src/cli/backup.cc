#include <algorithm>
#include <array>
#include <filesystem>
#include <iostream>

#include "cli/answer.h"
#include "cli/backup_place.h"
#include "cli/serving_options.h"
#include "cli/store_copy.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "wire/text.h"

namespace once::cli::backup_command {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kMostKept = 100'000;

std::uint64_t bytes_in(const fs::path& directory) {
  std::uint64_t bytes = 0;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    bytes += it->file_size(error);
  }
  return bytes;
}

Result<Manifest> copy_files(const fs::path& from, BackupPlace& place, const std::string& name) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(from, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back(it->path());
  }
  if (error) return failure(ErrorCode::unavailable, from.string() + ": " + error.message());
  std::ranges::sort(files);
  Manifest manifest{.made_at = "", .version = ONCE_VERSION, .files = {}};
  Progress progress("bytes", Progress::Output::at_the_end, bytes_in(from));
  for (const fs::path& file : files) {
    // What the engine writes for people, and the locks of the copy, are no part of the store.
    const std::string base = file.filename();
    if (base == "LOCK" || base == "LOG" || base.starts_with("LOG.old")) continue;
    Result<BackupFile> copied =
        place.put(name, file, [&](std::uint64_t bytes) { progress.add(bytes); });
    if (!copied) return std::unexpected(std::move(copied.error()));
    manifest.files.push_back(std::move(*copied));
  }
  return manifest;
}

// A day before, as backups are named: what is older and not whole was given up.
std::string a_day_before(const std::string& made_at) {
  const std::optional<Time> time = api::parse_time(made_at);
  std::string name = api::format_time(time.value_or(Time{}) - std::chrono::days(1));
  std::erase(name, '-');
  std::erase(name, ':');
  return name;
}

Result<std::size_t> prune(BackupPlace& place, std::size_t keep) {
  Result<std::vector<std::string>> names = place.names();
  if (!names) return std::unexpected(std::move(names.error()));
  std::size_t removed = 0;
  while (names->size() - removed > keep) {
    if (Result<void> ok = place.remove((*names)[removed]); !ok) {
      return std::unexpected(std::move(ok.error()));
    }
    ++removed;
  }
  return removed;
}

int run(const Invocation& invocation) {
  std::size_t keep = 0;  // All.
  if (Result<void> ok = read_count(invocation, "keep", kMostKept, keep); !ok) {
    return print_error(invocation, ok.error());
  }
  const Result<std::unique_ptr<BackupPlace>> place = BackupPlace::open(invocation.words[0]);
  if (!place) return print_error(invocation, place.error());
  const auto target = open_target(invocation);
  const StoreCopy copy = copy_store(invocation, *target);
  if (!copy.directory) return copy.exit;
  target->release_store();
  const std::string name = copy.directory->path().filename();
  Result<Manifest> manifest = copy_files(copy.directory->path(), **place, name);
  if (!manifest) return print_error(invocation, manifest.error());
  manifest->made_at = copy.made_at;
  if (Result<void> ok = (*place)->finish(name, *manifest); !ok) {
    return print_error(invocation, ok.error());
  }
  // From here on the backup is there, whatever else fails.
  std::size_t removed = 0;
  (void)(*place)->remove_unfinished(a_day_before(copy.made_at));
  if (keep > 0) {
    const Result<std::size_t> pruned = prune(**place, keep);
    if (!pruned) {
      std::cerr << "once backup: old ones were not removed: " << pruned.error().message << '\n';
    }
    removed = pruned.value_or(0);
  }
  if (invocation.flag("json")) {
    api::JsonObject out;
    out.text("backup", name)
        .text("made_at", copy.made_at)
        .integer("files", static_cast<std::int64_t>(manifest->files.size()))
        .integer("bytes", static_cast<std::int64_t>(manifest->bytes()))
        .integer("removed", static_cast<std::int64_t>(removed));
    print_line(out.finish());
  } else {
    std::cout << name << ": " << manifest->files.size() << " files, " << manifest->bytes()
              << " bytes";
    if (removed > 0) std::cout << "; removed " << removed << " older";
    std::cout << '\n';
  }
  return kDone;
}

constexpr std::array kOptions = {Option{"keep"}};
constexpr std::array kVerbs = {Verb{"", 1, 1, "a directory or s3://BUCKET/PREFIX", kOptions, run}};

}  // namespace

const Command kCommand = {
    .name = "backup",
    .summary = "Copies a store to another directory or bucket, also while a server writes to it",
    .help = R"(Usage: once backup DIRECTORY|s3://BUCKET/PREFIX [--store DIR] [--keep N]

Makes a backup of the store in a directory as it is at one moment, without stopping those who write
to it, and prints its name: the time. It has every commit that was answered before, and each commit
whole. A server makes a checkpoint (hard links, see 'once help checkpoint'), whose files are copied or
uploaded and then removed, so this runs on the server's machine and as its user. Where no server runs,
the store is opened here for a moment.

Each backup is a directory, or a prefix, of its own, with a manifest of the SHA-256 of each file that
is written last: what has none is not whole and never restored. Files of the engine are copied, not
linked, so that what happens to the store's disk does not happen to them. An address at S3 takes the
options region, endpoint, style and connections, as a store at S3 does (see 'once help').

  --keep 7    afterwards removes the oldest beyond so many, and what broke off more than a day ago

'once restore' makes a store of one, 'once verify' tells whether it is sound. Stores that are servers
(DynamoDB, Redis, S3) have their own backups; see also 'once help export'.

Example:
  once backup ./backups --keep 7
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::backup_command
