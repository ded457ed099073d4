#include "cli/store_copy.h"

#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp().
#include <unistd.h>

#include <cerrno>
#include <iostream>
#include <system_error>

#include "api/store_check.h"
#include "cli/answer.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "once/open.h"
#include "open/store_kinds.h"
#include "wire/json.h"

namespace once::cli {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPage = 200;  // Items may be large.

// By the kind of store that knows how.
Result<void> verify_engine(Store& store) {
  for (const StoreKind& kind : store_kinds()) {
    if (kind.verify == nullptr) continue;
    Result<void> verified = kind.verify(store);
    if (verified || verified.error().code != ErrorCode::unsupported) return verified;
  }
  return {};
}

void add(Soundness& soundness, std::string finding) {
  ++soundness.damaged;
  soundness.findings.push_back(std::move(finding));
}

}  // namespace

Result<ScratchDirectory> ScratchDirectory::make(const fs::path& beside, std::string_view what) {
  std::string name = beside.string();
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  name.append(".").append(what).append("-XXXXXX");
  if (::mkdtemp(name.data()) == nullptr) {
    return failure(ErrorCode::unavailable,
                   name + ": " + std::error_code(errno, std::generic_category()).message());
  }
  return ScratchDirectory(name);
}

ScratchDirectory::~ScratchDirectory() {
  if (path_.empty()) return;
  std::error_code error;
  fs::remove_all(path_, error);
  if (error) std::cerr << "once: remove this by hand: " << path_.string() << '\n';
}

StoreCopy copy_store(const Invocation& invocation, Target& target) {
  const auto made = target.write(request_for(invocation, "POST", "/v1/checkpoints"),
                                 {.repeat = remote::Repeat::never});
  StoreCopy copy;
  if (!made) {
    copy.exit = print_error(invocation, made.error());
    return copy;
  }
  if (made->status != 201) {
    copy.exit = print_error(invocation, *made);
    return copy;
  }
  const fs::path path = field_of(*made, "directory");
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) {
    copy.exit = print_error(
        invocation, {ErrorCode::denied, "the server's copy cannot be read here: " + path.string() +
                                            "; run this on the server's machine, as its user, and "
                                            "remove that copy"});
    return copy;
  }
  copy.directory.emplace(path);
  copy.made_at = field_of(*made, "made_at");
  return copy;
}

Soundness examine(const fs::path& directory) {
  Soundness soundness;
  Result<std::unique_ptr<Store>> store = open_store("rocksdb:" + directory.string());
  if (!store) {
    add(soundness, "it does not open: " + store.error().message);
    return soundness;
  }
  if (const Result<void> engine = verify_engine(**store); !engine) {
    add(soundness, engine.error().message);
  }
  api::StoreCheck check;
  Progress progress("items", Progress::Output::at_the_end);
  ListRequest request{"", "", kPage};
  do {
    const Result<ListPage> page = (*store)->list(request);
    if (!page) {
      add(soundness, page.error().message);
      break;
    }
    for (const ListPage::Listed& listed : page->items) check.take(listed);
    progress.add(page->items.size());
    request.cursor = page->cursor;
  } while (!request.cursor.empty());
  // What was not read whole may lack the end of a log.
  if (soundness.sound()) check.finish();
  soundness.items = check.items();
  soundness.damaged += check.damaged();
  for (const std::string& finding : check.findings()) soundness.findings.push_back(finding);
  return soundness;
}

}  // namespace once::cli
