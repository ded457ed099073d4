#include "server/warnings.h"

#include <sys/resource.h>

#include <array>
#include <filesystem>
#include <system_error>

#include "once/open.h"
#include "server/listening.h"

namespace once::server {
namespace {

// File descriptors used besides connections: files of the store, and the server's own.
constexpr std::size_t kOwnDescriptors = 1'500;
constexpr std::uintmax_t kLittleRoom = 1U << 30;
constexpr Duration kSoon = std::chrono::days(7);

struct Rule {
  Warning warning;
  bool (*holds)(const StartupFacts& now);
};

constexpr std::array kRules = {
    Rule{{"open_to_all", "no token is asked for: everyone who reaches the port may do everything",
          "once token new, then start it without --open-to-all"},
         [](const StartupFacts& now) { return !is_loopback(now.listen) && !now.has_tokens; }},
    Rule{{"no_token_left", "the store had tokens and has none now: nobody is let in",
          "once token new on the store itself; on a directory, with the server stopped"},
         [](const StartupFacts& now) { return now.no_token_left; }},
    Rule{{"plain_http", "what goes over the network is not encrypted, tokens included",
          "--tls-cert and --tls-key, or something before it that ends TLS"},
         [](const StartupFacts& now) { return !is_loopback(now.listen) && !now.tls; }},
    Rule{{"certificate_ends", "the server's certificate has expired, or does within a week",
          "put a new one in its place, and send the process SIGHUP"},
         [](const StartupFacts& now) {
           return now.certificate_left && *now.certificate_left < kSoon;
         }},
    Rule{{"memory", "the store is in memory: all is forgotten when this process ends", ""},
         [](const StartupFacts& now) { return now.store.starts_with("memory:"); }},
    Rule{{"relaxed", "commits are synced once a second: a power cut may take the last second", ""},
         [](const StartupFacts& now) { return now.store.ends_with("?durability=relaxed"); }},
    Rule{{"proceeds_without_store",
          "while the store cannot be reached, duplicates are taken for new",
          "start it without --if-store-down proceed, if a duplicate matters"},
         [](const StartupFacts& now) { return now.if_store_down_proceed; }},
    Rule{{"after_unknown_retry",
          "a request whose outcome is unknown may be sent again, and take effect twice", ""},
         [](const StartupFacts& now) { return now.after_unknown_retry; }},
    Rule{{"few_descriptors", "too few files may be open for so many connections",
          "raise LimitNOFILE (ulimit -Hn), or lower --max-connections"},
         [](const StartupFacts& now) {
           return now.descriptors < now.max_connections + kOwnDescriptors;
         }},
    Rule{{"little_room", "less than 1 GiB is free on the disk of the store", ""},
         [](const StartupFacts& now) { return now.room && *now.room < kLittleRoom; }},
};

constexpr auto kWarnings = [] {
  std::array<Warning, kRules.size()> all;
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = kRules[i].warning;
  return all;
}();

}  // namespace

std::span<const Warning> all_warnings() { return kWarnings; }

StartupFacts collect_facts(StartupFacts known) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) known.descriptors = limit.rlim_cur;
  if (const auto directory = directory_of(known.store)) {
    std::error_code error;
    const std::filesystem::space_info room = std::filesystem::space(*directory, error);
    if (!error) known.room = room.available;
  }
  return known;
}

std::vector<Warning> warnings_for(const StartupFacts& facts) {
  std::vector<Warning> found;
  for (const Rule& rule : kRules) {
    if (rule.holds(facts)) found.push_back(rule.warning);
  }
  return found;
}

std::vector<api::Finding> findings_for(const StartupFacts& facts) {
  std::vector<api::Finding> found;
  for (const Warning& warning : warnings_for(facts)) {
    if (warning.remedy.empty()) continue;
    found.push_back({.level = api::Finding::Level::warning,
                     .check = std::string(warning.name),
                     .detail = std::string(warning.text),
                     .remedy = std::string(warning.remedy)});
  }
  return found;
}

void warn(Journal& journal, const StartupFacts& facts) {
  for (const Warning& warning : warnings_for(facts)) {
    journal.line(Level::warning, "start").text("warning", warning.name).text("text", warning.text);
  }
}

}  // namespace once::server
