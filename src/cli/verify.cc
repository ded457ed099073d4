#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <iostream>

#include "cli/answer.h"
#include "cli/backup_place.h"
#include "cli/store_copy.h"
#include "cli/target.h"
#include "cli/terminal.h"

namespace once::cli::verify_command {
namespace {

namespace fs = std::filesystem;

bool is_store(const fs::path& directory) {
  std::error_code error;
  return fs::exists(directory / "CURRENT", error) && !fs::exists(directory / "manifest", error);
}

int report(const Invocation& invocation, const std::string& what, const Soundness& soundness) {
  if (invocation.flag("json")) {
    api::JsonObject out;
    out.text("verified", what)
        .boolean("sound", soundness.sound())
        .integer("items", static_cast<std::int64_t>(soundness.items))
        .integer("damaged", static_cast<std::int64_t>(soundness.damaged))
        .raw("findings", api::json_array(soundness.findings, api::json_text));
    print_line(out.finish());
    return soundness.sound() ? kDone : kRefused;
  }
  for (const std::string& finding : soundness.findings) {
    std::cout << coloured(Colour::red, "damaged") << "  " << shown(finding) << '\n';
  }
  if (soundness.sound()) {
    std::cout << what << ": sound, " << soundness.items << " items\n";
    return kDone;
  }
  std::cout << what << ": " << soundness.damaged << " damaged of " << soundness.items
            << " items that could be read\n";
  return kRefused;
}

// Every checksum of the manifest, then every record of a copy, because opening a store writes to
// it.
Result<Soundness> verify_backup(BackupPlace& place, const std::string& name,
                                const fs::path& beside) {
  Soundness files;
  const Result<Manifest> manifest = place.manifest(name);
  if (!manifest && manifest.error().code != ErrorCode::corrupt) {
    return std::unexpected(manifest.error());
  }
  if (!manifest) return Soundness{0, 1, {manifest.error().message}};
  Result<ScratchDirectory> scratch = ScratchDirectory::make(beside, "verifying");
  if (!scratch) {
    std::error_code error;
    scratch.emplace(ScratchDirectory::make(fs::temp_directory_path(error) / "once", "verifying")
                        .value_or(ScratchDirectory(fs::path())));
    if (scratch->path().empty()) {
      return failure(ErrorCode::unavailable, "there is no directory to copy the backup to");
    }
  }
  Progress progress("bytes", Progress::Output::at_the_end, manifest->bytes());
  for (const BackupFile& file : manifest->files) {
    const Result<void> read = place.get(name, file, scratch->path() / file.name,
                                        [&](std::uint64_t bytes) { progress.add(bytes); });
    if (read) continue;
    if (read.error().code != ErrorCode::corrupt) return std::unexpected(read.error());
    ++files.damaged;
    files.findings.push_back(read.error().message);
  }
  if (!files.sound()) return files;
  return examine(scratch->path());
}

int verify_store(const Invocation& invocation, const std::string& directory) {
  Invocation of_store = invocation;
  of_store.options.insert_or_assign("store", directory);
  const auto target = open_target(of_store);
  const StoreCopy copy = copy_store(of_store, *target);
  // A store that does not open is damaged; one that cannot be reached may not be.
  if (!copy.directory)
    return copy.exit == kUnavailable || copy.exit == kUnknown ? kRefused : copy.exit;
  target->release_store();
  return report(invocation, directory, examine(copy.directory->path()));
}

int run(const Invocation& invocation) {
  const std::string& where = invocation.words[0];
  const bool is_bucket = where.find("://") != std::string::npos;
  if (!is_bucket && is_store(where)) return verify_store(invocation, where);
  const Result<std::unique_ptr<BackupPlace>> place = BackupPlace::open(where);
  if (!place) return print_error(invocation, place.error());
  const Result<std::vector<std::string>> names = (*place)->names();
  if (!names) return print_error(invocation, names.error());
  if (names->empty()) {
    print_error(invocation,
                {ErrorCode::invalid, where + " is neither a store nor has it a whole backup"});
    return kRefused;
  }
  int exit = kDone;
  for (const std::string& name : *names) {
    std::error_code error;
    const fs::path beside = is_bucket ? fs::temp_directory_path(error) / "once" : fs::path(where);
    const Result<Soundness> soundness = verify_backup(**place, name, beside);
    if (!soundness) return print_error(invocation, soundness.error());
    const std::string what = name.empty() ? where : name;
    exit = std::max(exit, report(invocation, what, *soundness));
  }
  return exit;
}

constexpr std::array kVerbs = {
    Verb{"", 1, 1, "a store's directory, or where backups are", {}, run}};

}  // namespace

const Command kCommand = {
    .name = "verify",
    .summary = "Tells whether a store or a backup is damaged",
    .help = R"(Usage: once verify DIR|s3://BUCKET/PREFIX

Looks at a store's directory, at one backup, or at all whole backups in a place, and prints what is
damaged. Exit 0: nothing is. Exit 1: something is, or it is neither.

  - Every checksum: of each file of a backup, as its manifest has it (SHA-256); of each block that the
    engine wrote; of each record.
  - Every record is one that belongs to its key; every item has a version.
  - A log has no gap from its oldest event on, nothing behind its end, and no batch id that points to
    nothing. A claim that is held or finished has a fence and an attempt.

Nothing that is looked at is changed: of a backup a copy is opened, and of a store a checkpoint, which
its server makes where one runs. For a backup that takes as much room as the store for a while.

Example:
  once backup ./copies && once verify ./copies
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::verify_command
