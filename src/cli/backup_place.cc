#include "cli/backup_place.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <numeric>
#include <optional>
#include <set>

#include "base/digest.h"
#include "open/store_kinds.h"
#include "process/descriptor.h"

namespace once::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFirstLine = "once backup 1\n";
constexpr std::string_view kManifest = "manifest";
constexpr std::size_t kMostManifest = 64U << 20;
constexpr std::size_t kPiece = 1U << 20;

std::unexpected<Error> failed(const fs::path& path) {
  return failure(ErrorCode::unavailable,
                 path.string() + ": " + std::error_code(errno, std::generic_category()).message());
}

std::unexpected<Error> damaged(std::string message) {
  return failure(ErrorCode::corrupt, std::move(message));
}

// Reads a file piece by piece.
Result<void> read_file(const fs::path& path,
                       const std::function<Result<void>(std::string_view piece)>& on_piece) {
  const process::Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return failed(path);
  std::vector<char> room(kPiece);
  for (;;) {
    const ssize_t got = ::read(file.get(), room.data(), room.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failed(path);
    if (got == 0) return {};
    if (Result<void> ok = on_piece({room.data(), static_cast<std::size_t>(got)}); !ok) return ok;
  }
}

// A new file of this user alone, on the disk when it is closed.
class NewFile {
 public:
  explicit NewFile(fs::path path)
      : path_(std::move(path)),
        file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR)) {}

  Result<void> write(std::string_view bytes) {
    if (file_.get() < 0) return failed(path_);
    while (!bytes.empty()) {
      const ssize_t put = ::write(file_.get(), bytes.data(), bytes.size());
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) return failed(path_);
      bytes.remove_prefix(static_cast<std::size_t>(put));
    }
    return {};
  }

  Result<void> close() {
    if (file_.get() < 0 || ::fsync(file_.get()) != 0) return failed(path_);
    return {};
  }

 private:
  const fs::path path_;
  const process::Descriptor file_;
};

Result<void> sync_directory(const fs::path& path) {
  const process::Descriptor directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.get() < 0 || ::fsync(directory.get()) != 0) return failed(path);
  return {};
}

// Writes `piece` to `out`, if there is one, and counts it.
struct Copying {
  std::optional<NewFile> out;
  Sha256 sum;
  std::uint64_t size = 0;
  const OnBytes& on_bytes;

  Result<void> take(std::string_view piece) {
    sum.add(piece);
    size += piece.size();
    if (on_bytes) on_bytes(piece.size());
    return out ? out->write(piece) : Result<void>{};
  }

  Result<BackupFile> finish(std::string name) {
    if (out) {
      if (Result<void> ok = out->close(); !ok) return std::unexpected(std::move(ok.error()));
    }
    return BackupFile{std::move(name), size, sum.hex()};
  }
};

Result<void> compare(const Result<BackupFile>& found, const BackupFile& wanted) {
  if (!found) return std::unexpected(found.error());
  if (*found == wanted) return {};
  return damaged(wanted.name + ": " +
                 (found->size != wanted.size
                      ? "has " + std::to_string(found->size) + " bytes, where " +
                            std::to_string(wanted.size) + " were written"
                      : "is not what was written (SHA-256)"));
}

class Directory final : public BackupPlace {
 public:
  explicit Directory(fs::path path) : path_(std::move(path)) {}

  Result<std::vector<std::string>> names() override {
    std::error_code error;
    if (fs::exists(path_ / kManifest, error)) return std::vector<std::string>{""};
    std::vector<std::string> names;
    for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
      std::error_code none;
      if (fs::exists(it->path() / kManifest, none)) names.push_back(it->path().filename());
    }
    if (error) return failure(ErrorCode::unavailable, path_.string() + ": " + error.message());
    std::ranges::sort(names);
    return names;
  }

  Result<Manifest> manifest(const std::string& backup) override {
    std::string text;
    Result<void> read = read_file(path_ / backup / kManifest, [&](std::string_view piece) {
      text += piece;
      return text.size() <= kMostManifest ? Result<void>{}
                                          : Result<void>(damaged("the manifest is too long"));
    });
    if (!read) return std::unexpected(std::move(read.error()));
    return decode_manifest(text);
  }

  Result<BackupFile> put(const std::string& backup, const fs::path& from,
                         const OnBytes& on_bytes) override {
    if (Result<void> ok = make(path_); !ok) return std::unexpected(std::move(ok.error()));
    if (Result<void> ok = make(partial(backup)); !ok) return std::unexpected(std::move(ok.error()));
    const std::string name = from.filename();
    Copying copying{.out = std::nullopt, .sum = {}, .on_bytes = on_bytes};
    copying.out.emplace(partial(backup) / name);
    Result<void> read =
        read_file(from, [&](std::string_view piece) { return copying.take(piece); });
    if (!read) return std::unexpected(std::move(read.error()));
    return copying.finish(name);
  }

  Result<void> finish(const std::string& backup, const Manifest& manifest) override {
    NewFile file(partial(backup) / kManifest);
    Result<void> ok = file.write(encode(manifest));
    if (ok) ok = file.close();
    if (ok) ok = sync_directory(partial(backup));
    if (!ok) return ok;
    if (::rename(partial(backup).c_str(), (path_ / backup).c_str()) != 0) return failed(path_);
    return sync_directory(path_);
  }

  Result<void> get(const std::string& backup, const BackupFile& file, const fs::path& to,
                   const OnBytes& on_bytes) override {
    Copying copying{.out = std::nullopt, .sum = {}, .on_bytes = on_bytes};
    if (!to.empty()) copying.out.emplace(to);
    const fs::path from = path_ / backup / file.name;
    if (::access(from.c_str(), F_OK) != 0) return damaged(file.name + ": is missing");
    Result<void> read =
        read_file(from, [&](std::string_view piece) { return copying.take(piece); });
    if (!read) return read;
    return compare(copying.finish(file.name), file);
  }

  // The manifest first, so that what is left of it counts for nothing.
  Result<void> remove(const std::string& backup) override {
    std::error_code error;
    fs::remove(path_ / backup / kManifest, error);
    if (!error) fs::remove_all(path_ / backup, error);
    if (error) return failure(ErrorCode::unavailable, path_.string() + ": " + error.message());
    return {};
  }

  Result<void> remove_unfinished(const std::string& name) override {
    std::error_code error;
    std::vector<fs::path> old;
    for (fs::directory_iterator it(path_, error), end; !error && it != end; it.increment(error)) {
      const std::string found = it->path().filename();
      if (found.starts_with('.') && found.ends_with(kPartial) && found.substr(1) < name) {
        old.push_back(it->path());
      }
    }
    for (const fs::path& path : old) fs::remove_all(path, error);
    return {};
  }

 private:
  static constexpr std::string_view kPartial = ".partial";

  static Result<void> make(const fs::path& path) {
    std::error_code error;
    if (fs::is_directory(path, error)) return {};
    if (path.has_parent_path()) fs::create_directories(path.parent_path(), error);
    if (::mkdir(path.c_str(), S_IRWXU) == 0 || errno == EEXIST) return {};
    return failed(path);
  }

  fs::path partial(const std::string& backup) const {
    return path_ / ("." + backup + std::string(kPartial));
  }

  const fs::path path_;
};

// A file is objects of up to kMostBytes: FILE.000000, FILE.000001, ….
class InBucket final : public BackupPlace {
 public:
  explicit InBucket(std::unique_ptr<Objects> objects) : objects_(std::move(objects)) {}

  Result<std::vector<std::string>> names() override {
    const Result<std::vector<std::string>> all = objects_->list("");
    if (!all) return std::unexpected(all.error());
    std::vector<std::string> names;
    for (const std::string& object : *all) {
      if (object == kManifest) return std::vector<std::string>{""};
      const std::size_t slash = object.find('/');
      if (slash != std::string::npos && std::string_view(object).substr(slash + 1) == kManifest) {
        names.push_back(object.substr(0, slash));
      }
    }
    std::ranges::sort(names);
    return names;
  }

  Result<Manifest> manifest(const std::string& backup) override {
    const Result<std::string> text = objects_->get(in(backup, kManifest));
    if (!text) return std::unexpected(text.error());
    return decode_manifest(*text);
  }

  Result<BackupFile> put(const std::string& backup, const fs::path& from,
                         const OnBytes& on_bytes) override {
    const std::string name = from.filename();
    Copying copying{.out = std::nullopt, .sum = {}, .on_bytes = on_bytes};
    std::string waiting;
    int number = 0;
    const auto send = [&] { return objects_->put(in(backup, piece(name, number++)), waiting); };
    Result<void> read = read_file(from, [&](std::string_view bytes) -> Result<void> {
      if (waiting.size() + bytes.size() > Objects::kMostBytes) {
        if (Result<void> ok = send(); !ok) return ok;
        waiting.clear();
      }
      waiting += bytes;
      return copying.take(bytes);
    });
    if (read) read = send();  // An empty file is one empty object.
    if (!read) return std::unexpected(std::move(read.error()));
    return copying.finish(name);
  }

  Result<void> finish(const std::string& backup, const Manifest& manifest) override {
    return objects_->put(in(backup, kManifest), encode(manifest));
  }

  Result<void> get(const std::string& backup, const BackupFile& file, const fs::path& to,
                   const OnBytes& on_bytes) override {
    Copying copying{.out = std::nullopt, .sum = {}, .on_bytes = on_bytes};
    if (!to.empty()) copying.out.emplace(to);
    for (int number = 0; number == 0 || copying.size < file.size; ++number) {
      const Result<std::string> bytes = objects_->get(in(backup, piece(file.name, number)));
      if (!bytes && bytes.error().code == ErrorCode::invalid) {
        return damaged(file.name + ": a part is missing");
      }
      if (!bytes) return std::unexpected(bytes.error());
      if (bytes->empty() && file.size != 0) return damaged(file.name + ": a part is empty");
      if (Result<void> ok = copying.take(*bytes); !ok) return ok;
    }
    return compare(copying.finish(file.name), file);
  }

  Result<void> remove(const std::string& backup) override {
    if (Result<void> ok = objects_->remove(in(backup, kManifest)); !ok) return ok;
    return remove_all(backup + "/");
  }

  Result<void> remove_unfinished(const std::string& name) override {
    const Result<std::vector<std::string>> all = objects_->list("");
    if (!all) return std::unexpected(all.error());
    std::set<std::string> whole;
    std::set<std::string> found;
    for (const std::string& object : *all) {
      const std::size_t slash = object.find('/');
      if (slash == std::string::npos) continue;
      found.insert(object.substr(0, slash));
      if (object.substr(slash + 1) == kManifest) whole.insert(object.substr(0, slash));
    }
    for (const std::string& backup : found) {
      // Only what is named as backups are: other objects may be there.
      if (whole.contains(backup) || backup >= name || backup.size() != name.size()) continue;
      if (Result<void> ok = remove_all(backup + "/"); !ok) return ok;
    }
    return {};
  }

 private:
  static std::string in(const std::string& backup, std::string_view name) {
    return (backup.empty() ? "" : backup + "/") + std::string(name);
  }
  static std::string piece(const std::string& name, int number) {
    std::array<char, 16> text{};
    (void)std::snprintf(text.data(), text.size(), ".%06d", number);
    return name + text.data();
  }

  Result<void> remove_all(const std::string& prefix) {
    const Result<std::vector<std::string>> names = objects_->list(prefix);
    if (!names) return std::unexpected(names.error());
    for (const std::string& name : *names) {
      if (Result<void> ok = objects_->remove(name); !ok) return ok;
    }
    return {};
  }

  const std::unique_ptr<Objects> objects_;
};

// Takes the next word of a line.
std::string_view take_word(std::string_view& line) {
  const std::size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

bool is_file_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." && name != kManifest &&
         name.find('/') == std::string_view::npos && name.size() < 256;
}

}  // namespace

std::uint64_t Manifest::bytes() const {
  return std::accumulate(files.begin(), files.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const BackupFile& file) { return sum + file.size; });
}

std::string encode(const Manifest& manifest) {
  std::string text(kFirstLine);
  text += "made " + manifest.made_at + "\nversion " + manifest.version + "\n";
  for (const BackupFile& file : manifest.files) {
    text += "file " + file.sha256 + " " + std::to_string(file.size) + " " + file.name + "\n";
  }
  return text + "end " + sha256_hex(text) + "\n";
}

Result<Manifest> decode_manifest(std::string_view text) {
  const std::unexpected<Error> wrong = damaged("the manifest is not one of a backup, or damaged");
  if (!text.starts_with(kFirstLine)) return wrong;
  const std::size_t last = text.rfind("end ");
  if (last == std::string_view::npos ||
      text.substr(last) != "end " + sha256_hex(text.substr(0, last)) + "\n") {
    return wrong;
  }
  text = text.substr(kFirstLine.size(), last - kFirstLine.size());
  Manifest manifest;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) return wrong;
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end + 1);
    const std::string_view what = take_word(line);
    if (what == "made") {
      manifest.made_at = line;
    } else if (what == "version") {
      manifest.version = line;
    } else if (what == "file") {
      BackupFile file{.sha256 = std::string(take_word(line))};
      const std::string_view size = take_word(line);
      const auto read = std::from_chars(size.data(), size.data() + size.size(), file.size);
      file.name = line;
      if (read.ptr != size.data() + size.size() || !is_file_name(file.name)) return wrong;
      manifest.files.push_back(std::move(file));
    } else {
      return wrong;
    }
  }
  return manifest;
}

Result<std::unique_ptr<BackupPlace>> BackupPlace::open(const std::string& where) {
  if (where.find("://") == std::string::npos) return std::make_unique<Directory>(where);
  const Address address = parse_address(where);
  const StoreKind* const kind = store_kind(address.scheme);
  if (kind == nullptr || kind->objects == nullptr) {
    return failure(ErrorCode::invalid, "backups are in a directory, or at s3://BUCKET/PREFIX");
  }
  Result<std::unique_ptr<Objects>> objects = kind->objects(address);
  if (!objects) return std::unexpected(std::move(objects.error()));
  return std::make_unique<InBucket>(std::move(*objects));
}

}  // namespace once::cli
