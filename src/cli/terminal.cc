#include "cli/terminal.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <utility>

namespace once::cli {
namespace {

bool shows_colour() {
  static const bool shows = [] {
    const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe)
    return ::isatty(STDOUT_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb" &&
           std::getenv("NO_COLOR") == nullptr;  // NOLINT(concurrency-mt-unsafe)
  }();
  return shows;
}

std::string_view code_of(Colour colour) {
  switch (colour) {
    case Colour::plain: return "";
    case Colour::faint: return "2";
    case Colour::red: return "31";
    case Colour::green: return "32";
    case Colour::yellow: return "33";
  }
  return "";
}

// What is seen of it: a character of UTF-8 begins with any byte but 10xxxxxx.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t wanted) {
  std::string out(text);
  out.append(wanted - std::min(wanted, width(text)), ' ');
  return out;
}

constexpr auto kFirst = std::chrono::seconds(1);
constexpr auto kEvery = std::chrono::milliseconds(200);

}  // namespace

std::string coloured(Colour colour, std::string_view text) {
  if (!shows_colour() || colour == Colour::plain) return std::string(text);
  return std::string("\x1b[").append(code_of(colour)).append("m").append(text).append("\x1b[0m");
}

Colour colour_of(std::string_view state) {
  if (state == "claimed" || state == "done" || state == "first") return Colour::green;
  if (state == "busy" || state == "seen") return Colour::yellow;
  if (state == "abandoned" || state == "failed" || state == "unguarded") return Colour::red;
  return Colour::plain;
}

std::string shown(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x20 && c != 0x7f) {
      out += c;
      continue;
    }
    std::array<char, 8> escaped{};
    std::snprintf(escaped.data(), escaped.size(), "\\x%02x", static_cast<unsigned>(c) & 0xffU);
    out += escaped.data();
  }
  return out;
}

std::string shown(api::Json value) {
  std::string_view text;
  if (value.get(text) == simdjson::SUCCESS) return shown(text);
  return value.is_null() ? "" : api::to_line(value);
}

std::string member(api::Json object, std::string_view name) {
  api::Json value;
  return object.at_key(name).get(value) == simdjson::SUCCESS ? shown(value) : "";
}

namespace {

// A text of several lines, those after the first under it.
std::string in_lines(api::Json value, std::size_t indent) {
  std::string_view text;
  if (value.get(text) != simdjson::SUCCESS) return shown(value);
  while (text.ends_with('\n')) text.remove_suffix(1);
  std::string out;
  for (;;) {
    const std::size_t end = text.find('\n');
    out += shown(text.substr(0, end));
    if (end == std::string_view::npos) return out;
    text.remove_prefix(end + 1);
    out.append("\n").append(indent, ' ');
  }
}

}  // namespace

void print_members(api::Json object) {
  simdjson::dom::object members;
  if (object.get(members) != simdjson::SUCCESS) return;
  std::size_t widest = 0;
  for (const auto& [name, value] : members) widest = std::max(widest, width(name));
  for (const auto& [name, value] : members) {
    std::string label = padded(name, widest + 2);
    std::ranges::replace(label, '_', ' ');
    const std::string text = in_lines(value, widest + 2);
    std::cout << coloured(Colour::faint, label)
              << coloured(name == "state" ? colour_of(text) : Colour::plain, text) << '\n';
  }
}

void Table::print() const {
  if (rows_.size() < 2) return;
  std::vector<std::size_t> widths(rows_[0].size());
  for (const auto& row : rows_) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool last = i + 1 == row.size();
      const std::string cell = last ? row[i] : padded(row[i], widths[i] + 2);
      line += coloured(&row == rows_.data() ? Colour::faint : colour_of(row[i]), cell);
    }
    std::cout << line << '\n';
  }
}

namespace {

// "[######----]  60 %  "; nothing without a total.
std::string bar_of(std::uint64_t count, std::uint64_t total) {
  if (total == 0) return "";
  constexpr std::uint64_t kWidth = 24;
  count = std::min(count, total);
  const auto full = static_cast<std::size_t>(count * kWidth / total);
  return "[" + std::string(full, '#') + std::string(kWidth - full, '-') + "] " +
         std::to_string(count * 100 / total) + " %  ";
}

}  // namespace

Progress::Progress(std::string what, Output output, std::uint64_t total)
    : what_(std::move(what)),
      visible_(::isatty(STDERR_FILENO) == 1 &&
               (output == Output::at_the_end || ::isatty(STDOUT_FILENO) == 0)),
      total_(total),
      began_(Clock::now()),
      next_(began_ + kFirst) {}

Progress::~Progress() {
  if (shown_) std::cerr << "\r\x1b[K" << std::flush;
}

void Progress::add(std::uint64_t count) {
  count_ += count;
  const Clock::time_point now = Clock::now();
  if (!visible_ || now < next_) return;
  next_ = now + kEvery;
  shown_ = true;
  const std::chrono::duration<double> taken = now - began_;
  std::cerr << "\r\x1b[K" << bar_of(count_, total_) << count_ << ' ' << what_ << ", "
            << static_cast<std::uint64_t>(static_cast<double>(count_) / taken.count()) << "/s"
            << std::flush;
}

}  // namespace once::cli
