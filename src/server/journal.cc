#include "server/journal.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <utility>

#include "wire/json.h"
#include "wire/text.h"

namespace once::server {
namespace {

constexpr std::size_t kMaxText = 512;

// A write of up to this size to a pipe is atomic.
constexpr std::size_t kMaxLine = 4'096;

std::string_view name_of(Level level) {
  switch (level) {
    case Level::debug: return "debug";
    case Level::info: return "info";
    case Level::warning: return "warning";
    case Level::error: return "error";
  }
  return "";
}

// Never cuts inside a character.
std::string_view cut(std::string_view text) {
  if (text.size() <= kMaxText) return text;
  std::size_t length = kMaxText;
  while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xc0U) == 0x80U) --length;
  return text.substr(0, length);
}

// As a JSON string. Invalid UTF-8 is replaced.
std::string quoted(std::string_view text) {
  if (!api::is_utf8(text)) return "\"(not UTF-8)\"";
  return api::json_text(text);
}

bool is_plain(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return c > ' ' && c < '\x7f' && c != '"' && c != '=' && c != '\\';
  });
}

}  // namespace

bool write_to_stderr(std::string_view line) {
  pollfd ready{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
  if (::poll(&ready, 1, 0) != 1 || (ready.revents & POLLOUT) == 0) return false;
  return ::write(STDERR_FILENO, line.data(), line.size()) == static_cast<ssize_t>(line.size());
}

Journal::Journal(JournalOptions options, Clock& clock)
    : options_(std::move(options)), clock_(clock) {}

std::string Journal::start(Level level, std::string_view what) const {
  std::string out = is_json() ? R"({"time":")" : "";
  out += api::format_time(clock_.now());
  out += is_json() ? R"(","level":")" : " ";
  out += name_of(level);
  out += is_json() ? R"(","event":")" : " ";
  out += what;
  if (is_json()) out += '"';
  return out;
}

void Journal::finish(std::string& line) const { line += is_json() ? "}\n" : "\n"; }

Journal::Line::Line(Journal& journal, Level level, std::string_view what)
    : journal_(journal.takes(level) ? &journal : nullptr), level_(level) {
  if (journal_ != nullptr) out_ = journal_->start(level, what);
}

Journal::Line::~Line() {
  if (journal_ == nullptr) return;
  journal_->finish(out_);
  journal_->end(level_, out_);
}

// Drops fields that do not fit into a line.
void Journal::Line::field(std::string_view name, std::string_view value) {
  if (out_.size() + name.size() + value.size() + 8 > kMaxLine) return;
  if (journal_->is_json()) {
    out_.append(",\"").append(name).append("\":").append(value);
  } else {
    out_.append(" ").append(name).append("=").append(value);
  }
}

Journal::Line& Journal::Line::text(std::string_view name, std::string_view value) {
  if (journal_ == nullptr) return *this;
  value = cut(value);
  field(name, !journal_->is_json() && is_plain(value) ? std::string(value) : quoted(value));
  return *this;
}

Journal::Line& Journal::Line::integer(std::string_view name, std::int64_t value) {
  if (journal_ != nullptr) field(name, std::to_string(value));
  return *this;
}

Journal::Line& Journal::Line::milliseconds(std::string_view name, std::chrono::nanoseconds value) {
  if (journal_ == nullptr) return *this;
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "%.3f", static_cast<double>(value.count()) / 1e6);
  field(name, digits.data());
  return *this;
}

Journal::Line& Journal::Line::time(std::string_view name, Time value) {
  return text(name, api::format_time(value));
}

void Journal::end(Level level, const std::string& line) {
  const std::int64_t second = clock_.now().time_since_epoch() / std::chrono::seconds(1);
  const Lock lock(mutex_);
  Window& window = windows_[static_cast<std::size_t>(level)];
  if (second != window.second) window = {second, 0, window.dropped};
  if (++window.lines > options_.lines_a_second) {
    ++window.dropped;
    return;
  }
  if (window.dropped > 0) {
    std::string gap = start(level, "dropped");
    gap += is_json() ? ",\"lines\":" : " lines=";
    gap += std::to_string(window.dropped);
    finish(gap);
    if (options_.write(gap)) window.dropped = 0;
  }
  if (!options_.write(line)) ++window.dropped;
}

}  // namespace once::server
