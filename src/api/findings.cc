#include "api/findings.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>

#include <algorithm>
#include <array>
#include <system_error>
#include <utility>

#include "api/call.h"
#include "primitives/keys.h"
#include "wire/json.h"

namespace once::api {
namespace {

namespace fs = std::filesystem;

constexpr double kLittleRoom = 1ULL << 30;
constexpr double kFewDescriptors = 4'096;
constexpr std::chrono::seconds kMostApart{2};

std::string in_words(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 10'240 && unit + 1 < kUnits.size(); ++unit) bytes /= 1'024;
  return std::to_string(static_cast<std::int64_t>(bytes)) + " " + kUnits[unit];
}

std::string whole(double number) { return std::to_string(static_cast<std::int64_t>(number)); }

void judge_room(const fs::path& path, Findings& found) {
  std::error_code error;
  const fs::space_info room = fs::space(path, error);
  if (error) return;
  const auto free = static_cast<double>(room.available);
  const std::string text = in_words(free) + " are free where the store is";
  if (free < kLittleRoom) {
    found.problem("disk", text,
                  "make room: below 64 MiB writes are refused. Shorter TTLs, 'once log trim', old "
                  "checkpoints");
  } else if (free < static_cast<double>(room.capacity) / 10) {
    found.warning("disk", text + ", less than a tenth",
                  "make room, or watch once_store_free_bytes");
  } else {
    found.ok("disk", text);
  }
}

void judge_checkpoints(const fs::path& path, Findings& found) {
  std::error_code error;
  std::size_t copies = 0;
  for (fs::directory_iterator it(path / "checkpoints", error), end; !error && it != end;
       it.increment(error)) {
    ++copies;
  }
  if (copies == 0) return;
  found.warning("checkpoints", std::to_string(copies) + " are left, and keep files of the store",
                "copy them elsewhere and remove them: " + (path / "checkpoints").string());
}

void judge_descriptors(const Descriptors& now, Findings& found) {
  const std::string text = whole(now.open) + " of " + whole(now.most) + " descriptors are open";
  if (now.open > now.most * 8 / 10) {
    found.problem("limits", text, "raise LimitNOFILE (ulimit -n), or lower --max-connections");
  } else if (now.most < kFewDescriptors) {
    found.warning("limits", text, "raise LimitNOFILE (ulimit -n) to the connections you expect");
  } else {
    found.ok("limits", text);
  }
}

void judge_store(const Result<void>& usable, Findings& found) {
  if (usable) return found.ok("store", "it is ready: it answers and takes writes");
  found.problem("store", "it is not ready: " + usable.error().message,
                "see the server's log and docs/operations.md");
}

// Whose machine this is, to the reader.
std::string_view whose(const ServiceOptions& options) {
  return options.instance.empty() ? "this machine's" : "the server's";
}

Plan<Response> answer_findings(Service& service, Key any, Result<void> usable, Findings found,
                               Time before) {
  const Result<std::optional<Item>> read = co_await attempt(get(any));
  if (!read) usable = std::unexpected(read.error());
  judge_store(usable, found);
  const Time now = co_await store_now();
  const ServiceOptions& options = service.options();
  judge_store_clock({.store = now, .before = before, .after = options.clock->now()}, whose(options),
                    found);
  co_return json_response(200, JsonObject()
                                   .text("version", options.version)
                                   .time("time", now)
                                   .boolean("sound", !found.has_problem())
                                   .raw("findings", encode(found))
                                   .finish());
}

}  // namespace

std::string_view name_of(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok: return "ok";
    case Finding::Level::warning: return "warning";
    case Finding::Level::problem: return "problem";
  }
  return "";
}

void Findings::ok(std::string check, std::string detail) {
  add({Finding::Level::ok, std::move(check), std::move(detail), ""});
}

void Findings::warning(std::string check, std::string detail, std::string remedy) {
  add({Finding::Level::warning, std::move(check), std::move(detail), std::move(remedy)});
}

void Findings::problem(std::string check, std::string detail, std::string remedy) {
  add({Finding::Level::problem, std::move(check), std::move(detail), std::move(remedy)});
}

bool Findings::has_problem() const {
  return std::ranges::any_of(
      all_, [](const Finding& one) { return one.level == Finding::Level::problem; });
}

std::string encode(const Findings& findings) {
  return json_array(findings.all(), [](const Finding& one) {
    JsonObject row;
    row.text("level", name_of(one.level)).text("check", one.check).text("detail", one.detail);
    if (!one.remedy.empty()) row.text("remedy", one.remedy);
    return row.finish();
  });
}

std::optional<std::vector<Finding>> decode_findings(std::string_view answer) {
  std::vector<Finding> found;
  JsonReader reader(answer);
  reader.each("findings", [&](JsonReader& one) {
    Finding finding{.check = one.text("check"), .detail = one.text("detail"), .remedy = ""};
    const std::string level = one.text("level");
    if (level == name_of(Finding::Level::problem)) finding.level = Finding::Level::problem;
    if (level == name_of(Finding::Level::warning)) finding.level = Finding::Level::warning;
    if (one.any("remedy")) finding.remedy = one.text("remedy");
    found.push_back(std::move(finding));
  });
  if (!reader.readable()) return std::nullopt;
  return found;
}

std::optional<Descriptors> descriptors_of_process() {
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return std::nullopt;
  Descriptors now{.open = 0, .most = static_cast<double>(limit.rlim_cur)};
  std::error_code error;
  for (fs::directory_iterator it("/proc/self/fd", error), end; !error && it != end;
       it.increment(error)) {
    ++now.open;
  }
  return now;
}

void judge(const Facts& facts, Findings& found) {
  if (facts.directory) {
    judge_permissions(*facts.directory, found);
    judge_directory(*facts.directory, found);
  }
  if (facts.descriptors) judge_descriptors(*facts.descriptors, found);
  if (facts.writes_stopped) {
    found.problem("engine", "the engine takes no writes because it is behind",
                  "the disk is too slow for what is written");
  }
  if (facts.corrupt > 0) {
    found.problem("store", "stored bytes failed their checks",
                  "keep a copy of the directory; 'once verify DIR' tells what is damaged");
  }
  if (facts.abandoned > 0) {
    found.warning("claims", std::to_string(facts.abandoned) + " were abandoned by their holders",
                  "once claim list --state abandoned");
  }
  for (const Finding& one : facts.more) found.add(one);
}

void judge_own_clock(std::string_view whose, Findings& found) {
  struct timex state{};
  const int answer = ::adjtimex(&state);
  if (answer < 0) return;
  if (answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    found.warning("clock", "nothing keeps " + std::string(whose) + " clock right",
                  "run chrony or systemd-timesyncd: timedatectl set-ntp true");
  } else {
    found.ok("clock", std::string(whose) + " clock is kept right");
  }
}

void judge_store_clock(const StoreTime& time, std::string_view whose, Findings& found) {
  const Duration behind = time.before - time.store;
  const Duration apart = std::max(behind, time.store - time.after);
  if (apart <= kMostApart) {
    found.ok("clock", "the store's clock agrees with " + std::string(whose) + " to two seconds");
    return;
  }
  const auto seconds = std::chrono::floor<std::chrono::seconds>(apart).count();
  found.problem("clock",
                "the store's clock is " + std::to_string(seconds) + " s " +
                    (behind > Duration::zero() ? "behind " : "ahead of ") + std::string(whose),
                "set both by NTP: leases and times in answers are the store's");
}

void judge_durability(std::string_view description, Findings& found) {
  const auto says = [&](std::string_view text) { return description.contains(text); };
  const std::string detail(description);
  if (description.starts_with("memory")) {
    found.problem("durability", detail, "what is stored ends with the process: use a directory");
  } else if (says(", relaxed: ")) {
    found.warning("durability", detail,
                  "without ?durability=relaxed every answer is on the disk first");
  } else if (says("MAY LOSE")) {
    found.warning("durability", detail, "see docs/stores.md for what the store may lose");
  } else {
    found.ok("durability", detail);
  }
}

void judge_permissions(const fs::path& path, Findings& found) {
  struct stat state{};
  if (::stat(path.c_str(), &state) != 0) {
    found.warning("directory", path.string() + " is not there yet", "the first command makes it");
  } else if ((state.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    found.problem("directory", "others may enter " + path.string(), "chmod 700 " + path.string());
  } else {
    found.ok("directory", path.string() + " is for its owner alone");
  }
}

void judge_directory(const fs::path& path, Findings& found) {
  judge_room(path, found);
  judge_checkpoints(path, found);
}

void judge_limit(double most, Findings& found) {
  const std::string text = "a server started here may open " + whole(most) + " descriptors";
  if (most < kFewDescriptors) {
    found.warning("limits", text, "raise LimitNOFILE (ulimit -Hn)");
  } else {
    found.ok("limits", text);
  }
}

// What it tells has paths of the machine, and counts of all namespaces.
Answer show_findings(Call& call) {
  if (!call.may_see_server()) {
    return problem(Code::forbidden,
                   "what is found is of the whole server, and this token is for one namespace");
  }
  const ServiceOptions& options = call.service.options();
  Findings found;
  judge_own_clock(whose(options), found);
  if (!options.store.empty()) judge_durability(options.store, found);
  judge(call.service.facts(), found);
  Result<void> writable = options.check_writable ? options.check_writable() : Result<void>();
  return answer_findings(call.service, keys::claim(call.name_space, "readyz"), std::move(writable),
                         std::move(found), options.clock->now());
}

}  // namespace once::api
