#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/timex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

#include "base/printable_address.h"
#include "cli/answer.h"
#include "cli/request.h"
#include "cli/target.h"
#include "cli/terminal.h"
#include "once/open.h"
#include "wire/text.h"

namespace once::cli::doctor_command {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLittleRoom = 1ULL << 30;
constexpr double kFewDescriptors = 4'096;

// What one check found.
struct Finding {
  enum class Level : std::uint8_t { ok, warning, problem };
  Level level = Level::ok;
  std::string check;
  std::string detail;
  std::string remedy;  // Empty if nothing is to be done.
};

std::string_view name_of(Finding::Level level) {
  switch (level) {
    case Finding::Level::ok: return "ok";
    case Finding::Level::warning: return "warning";
    case Finding::Level::problem: return "problem";
  }
  return "";
}

class Findings {
 public:
  void ok(std::string check, std::string detail) {
    all_.push_back({Finding::Level::ok, std::move(check), std::move(detail), ""});
  }
  void warning(std::string check, std::string detail, std::string remedy) {
    all_.push_back(
        {Finding::Level::warning, std::move(check), std::move(detail), std::move(remedy)});
  }
  void problem(std::string check, std::string detail, std::string remedy) {
    all_.push_back(
        {Finding::Level::problem, std::move(check), std::move(detail), std::move(remedy)});
  }

  const std::vector<Finding>& all() const { return all_; }
  bool has_problem() const {
    return std::ranges::any_of(
        all_, [](const Finding& one) { return one.level == Finding::Level::problem; });
  }

 private:
  std::vector<Finding> all_;
};

// A metric without labels, from the page that Prometheus reads.
std::optional<double> metric(const std::string& page, std::string_view name) {
  const std::string line = "\n" + std::string(name) + " ";
  const std::size_t at = page.find(line);
  if (at == std::string::npos) return std::nullopt;
  double value = 0;
  const char* const begin = page.data() + at + line.size();
  const auto read = std::from_chars(begin, page.data() + page.size(), value);
  return read.ec == std::errc() ? std::optional(value) : std::nullopt;
}

// The value of a label, such as version in once_build_info{version="0.1.0"}.
std::string label(const std::string& page, std::string_view before) {
  const std::size_t at = page.find(before);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + before.size();
  return page.substr(begin, page.find('"', begin) - begin);
}

double sum_of(const std::string& page, std::string_view name, std::string_view having) {
  double sum = 0;
  for (std::size_t at = page.find("\n" + std::string(name) + "{"); at != std::string::npos;
       at = page.find("\n" + std::string(name) + "{", at + 1)) {
    const std::string line = page.substr(at + 1, page.find('\n', at + 1) - at - 1);
    const std::size_t space = line.rfind(' ');
    double value = 0;
    std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    if (line.find(having) != std::string::npos) sum += value;
  }
  return sum;
}

std::string in_words(double bytes) {
  constexpr std::array kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  for (; bytes >= 10'240 && unit + 1 < kUnits.size(); ++unit) bytes /= 1'024;
  return std::to_string(static_cast<std::int64_t>(bytes)) + " " + kUnits[unit];
}

void check_own_clock(Findings& found) {
  struct timex state{};
  const int answer = ::adjtimex(&state);
  if (answer < 0) return;
  if (answer == TIME_ERROR || (state.status & STA_UNSYNC) != 0) {
    found.warning("clock", "nothing keeps this machine's clock right",
                  "run chrony or systemd-timesyncd: timedatectl set-ntp true");
  } else {
    found.ok("clock", "this machine's clock is kept right");
  }
}

// The time of the store, by which leases end, as a page of items has it.
void check_store_clock(const Invocation& invocation, Target& target, Findings& found) {
  const auto before = std::chrono::system_clock::now();
  const auto page = target.call(request_for(invocation, "GET", "/v1/items?limit=1"));
  const auto after = std::chrono::system_clock::now();
  if (!page || page->status != 200) return;  // The token does not allow it.
  const std::optional<Time> there = api::parse_time(field_of(*page, "time"));
  if (!there) return;
  using Seconds = std::chrono::duration<double>;
  const Seconds at(there->time_since_epoch());
  const Seconds early = Seconds(before.time_since_epoch()) - at;
  const Seconds late = at - Seconds(after.time_since_epoch());
  const double apart = std::max({early.count(), late.count(), 0.0});
  constexpr double kMost = 2;
  if (apart <= kMost) {
    found.ok("clock", "the store's clock agrees with this machine's to two seconds");
    return;
  }
  found.problem("clock",
                "the store's clock is " + std::to_string(static_cast<std::int64_t>(apart)) + " s " +
                    (early.count() > 0 ? "behind" : "ahead of") + " this machine's",
                "set both by NTP: leases and times in answers are the store's");
}

void check_room(double free, double all, Findings& found) {
  const std::string text = in_words(free) + " are free where the store is";
  if (free < static_cast<double>(kLittleRoom)) {
    found.problem("disk", text,
                  "make room: below 64 MiB writes are refused. Shorter TTLs, 'once log trim', old "
                  "checkpoints");
  } else if (all > 0 && free < all / 10) {
    found.warning("disk", text + ", less than a tenth",
                  "make room, or watch once_store_free_bytes");
  } else {
    found.ok("disk", text);
  }
}

// Who may enter the directory. To be asked before the store is opened, which closes it to others.
void check_permissions(const fs::path& path, Findings& found) {
  struct stat state{};
  if (::stat(path.c_str(), &state) != 0) {
    found.warning("directory", path.string() + " is not there yet", "the first command makes it");
  } else if ((state.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    found.problem("directory", "others may enter " + path.string(), "chmod 700 " + path.string());
  } else {
    found.ok("directory", path.string() + " is for its owner alone");
  }
}

void check_directory(const fs::path& path, bool has_server, Findings& found) {
  std::error_code error;
  const fs::space_info room = fs::space(path, error);
  if (!error) {
    check_room(static_cast<double>(room.available), static_cast<double>(room.capacity), found);
  }
  std::size_t copies = 0;
  for (fs::directory_iterator it(path / "checkpoints", error), end; !error && it != end;
       it.increment(error)) {
    ++copies;
  }
  if (copies > 0) {
    found.warning("checkpoints", std::to_string(copies) + " are left, and keep files of the store",
                  "copy them elsewhere and remove them: " + (path / "checkpoints").string());
  }
  if (!has_server) found.ok("server", "none runs on the directory; commands open it themselves");
}

void check_durability(const std::string& description, Findings& found) {
  const auto says = [&](std::string_view text) {
    return description.find(text) != std::string::npos;
  };
  if (says("memory")) {
    found.problem("durability", description,
                  "what is stored ends with the process: use a directory");
  } else if (says("relaxed")) {
    found.warning("durability", description,
                  "without ?durability=relaxed every answer is on the disk first");
  } else if (says("may lose") || says("not synced") || says("no appendonly")) {
    found.warning("durability", description, "see docs/stores.md for what the store may lose");
  } else {
    found.ok("durability", description);
  }
}

// What the server's page of metrics tells.
void check_numbers(const std::string& page, bool is_local, Findings& found) {
  const std::string version = label(page, "once_build_info{version=\"");
  if (version.empty()) {
    found.warning("version", "the server does not tell its version",
                  "use a token for all namespaces: once token new --read-only");
    return;
  }
  if (version != ONCE_VERSION) {
    found.warning("version", "the server is " + version + ", this command is " ONCE_VERSION,
                  "install the same version on both");
  } else {
    found.ok("version", "server and command are both " ONCE_VERSION);
  }
  const auto free = metric(page, "once_store_free_bytes");
  if (free && !is_local) check_room(*free, 0, found);
  const double open = metric(page, "process_open_fds").value_or(0);
  const double most = metric(page, "process_max_fds").value_or(0);
  if (most > 0) {
    const std::string text = std::to_string(static_cast<int>(open)) + " of " +
                             std::to_string(static_cast<int>(most)) + " descriptors are open";
    if (open > most * 8 / 10) {
      found.problem("limits", text, "raise LimitNOFILE (ulimit -n), or lower --max-connections");
    } else if (most < kFewDescriptors) {
      found.warning("limits", text, "raise LimitNOFILE (ulimit -n) to the connections you expect");
    } else {
      found.ok("limits", text);
    }
  }
  if (metric(page, "once_engine_writes_stopped").value_or(0) > 0) {
    found.problem("engine", "the engine takes no writes because it is behind",
                  "the disk is too slow for what is written");
  }
  if (sum_of(page, "once_store_errors_total", "code=\"corrupt\"") > 0) {
    found.problem("store", "stored bytes failed their checks",
                  "keep a copy of the directory; 'once verify DIR' tells what is damaged");
  }
  const double abandoned = metric(page, "once_claims_abandoned").value_or(0);
  if (abandoned > 0) {
    found.warning(
        "claims",
        std::to_string(static_cast<std::int64_t>(abandoned)) + " were abandoned by their holders",
        "once claim list --state abandoned");
  }
}

// Of the start page: "<p>Store: rocksdb /dir, synced …</p>".
std::string description_in(const std::string& page) {
  constexpr std::string_view kBegin = "<p>Store: ";
  const std::size_t at = page.find(kBegin);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + kBegin.size();
  return page.substr(begin, page.find("</p>", begin) - begin);
}

void check_server(const Invocation& invocation, Target& target, bool is_local, Findings& found) {
  const auto ready = target.call(request_for(invocation, "GET", "/readyz"));
  if (!ready) {
    found.problem("server", "it does not answer: " + ready.error().message,
                  "start it, or see its log");
    return;
  }
  check_store_clock(invocation, target, found);
  if (ready->status == 200) {
    found.ok("server", "it is ready: its store answers and takes writes");
  } else {
    found.problem("server", "it is not ready: " + field_of(*ready, "detail"),
                  "see its log and docs/operations.md");
  }
  const auto start = target.call(request_for(invocation, "GET", "/"));
  if (start && start->status == 200) {
    const std::string description = description_in(start->body);
    if (!description.empty()) check_durability(description, found);
  }
  const auto page = target.call(request_for(invocation, "GET", "/metrics"));
  if (page && page->status == 200) {
    check_numbers("\n" + page->body, is_local, found);
  } else if (page) {
    found.warning("version", "the server does not show its metrics: " + field_of(*page, "detail"),
                  "give a token: --token-file, or ONCE_TOKEN");
  }
}

// A store that this process opens itself.
void check_store(const Invocation& invocation, const std::string& address, Target& target,
                 Findings& found) {
  const auto ready = target.call(request_for(invocation, "GET", "/readyz"));
  const bool answers = ready && ready->status == 200;
  if (answers) {
    found.ok("store", "it opens and answers");
    check_store_clock(invocation, target, found);
  } else {
    found.problem("store",
                  ready ? field_of(*ready, "detail") : "it does not open: " + ready.error().message,
                  "see docs/operations.md, 'What keeps it from starting'");
  }
  if (directory_of(address)) {
    const bool relaxed = address.find("durability=relaxed") != std::string::npos;
    check_durability(relaxed ? "relaxed: synced once a second" : "synced before every answer",
                     found);
  } else if (address.starts_with("memory:")) {
    check_durability("memory, gone with the process", found);
  }
  struct rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    const auto most = static_cast<double>(limit.rlim_max);
    const std::string text =
        "a server started here may open " + std::to_string(limit.rlim_max) + " descriptors";
    if (most < kFewDescriptors) {
      found.warning("limits", text, "raise LimitNOFILE (ulimit -Hn)");
    } else {
      found.ok("limits", limit.rlim_max == RLIM_INFINITY ? "descriptors are not limited" : text);
    }
  }
}

void print(const Invocation& invocation, const std::string& address, const Findings& found) {
  if (invocation.flag("json")) {
    api::JsonObject out;
    out.text("store", printable_address(address)).boolean("sound", !found.has_problem());
    out.raw("findings", api::json_array(found.all(), [](const Finding& one) {
              api::JsonObject row;
              row.text("level", name_of(one.level)).text("check", one.check);
              row.text("detail", one.detail);
              if (!one.remedy.empty()) row.text("remedy", one.remedy);
              return row.finish();
            }));
    print_line(out.finish());
    return;
  }
  std::cout << "store    " << printable_address(address) << '\n';
  for (const Finding& one : found.all()) {
    constexpr std::array kColours = {Colour::green, Colour::yellow, Colour::red};
    std::string level(name_of(one.level));
    level.resize(9, ' ');
    std::cout << coloured(kColours[static_cast<std::size_t>(one.level)], level) << one.check << ": "
              << shown(one.detail) << '\n';
    if (!one.remedy.empty()) std::cout << "         " << shown(one.remedy) << '\n';
  }
}

int run(const Invocation& invocation) {
  const Result<std::string> address = named_store(invocation);
  if (!address) return print_error(invocation, address.error());
  Findings found;
  check_own_clock(found);
  const std::optional<fs::path> directory = directory_of(*address);
  if (directory) check_permissions(*directory, found);
  const auto target = open_target(invocation);
  const Result<client::HttpClient*> server = target->server();
  const bool has_server = server && *server != nullptr;
  if (directory) check_directory(*directory, has_server, found);
  if (!server) {
    found.problem("store", "it does not open: " + server.error().message,
                  "see docs/operations.md, 'What keeps it from starting'");
  } else if (has_server) {
    check_server(invocation, *target, directory.has_value(), found);
  } else {
    check_store(invocation, *address, *target, found);
  }
  print(invocation, *address, found);
  return found.has_problem() ? kRefused : kDone;
}

constexpr std::array kVerbs = {Verb{.run = run}};

}  // namespace

const Command kCommand = {
    .name = "doctor",
    .summary = "Tells what is wrong with a server, its store and this machine, and the remedy",
    .help = R"(Usage: once doctor [--store ADDRESS]

Looks at the server of --store, or at the store itself where none runs, and at this machine, and
prints what each thinks of the other: clocks, free disk, limits of descriptors, versions, durability,
who may enter the directory, checkpoints that were left, abandoned claims and damaged bytes. What is
not as it should be has its remedy below it. Exit 1 if there is a problem; a warning is none. Nothing
is changed, but that a directory that is not there is made.

With tokens configured, give one for all namespaces; with less, less is looked at.

Example:
  once doctor
)",
    .verbs = kVerbs,
};

}  // namespace once::cli::doctor_command
