#include "metrics/exposition.h"

#include <array>
#include <charconv>
#include <cmath>

namespace once::metrics {
namespace {

std::string_view name_of(Exposition::Type type) {
  switch (type) {
    case Exposition::Type::counter: return "counter";
    case Exposition::Type::gauge: return "gauge";
    case Exposition::Type::histogram: return "histogram";
  }
  return "untyped";
}

// Quotes are escaped in label values, not in help texts.
void escape(std::string& out, std::string_view text, std::string_view special) {
  for (const char c : text) {
    if (c == '\n') {
      out += "\\n";
      continue;
    }
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
}

template <class Number>
std::string text_of(Number value) {
  std::array<char, 32> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return text_of(value);
}

}  // namespace

void Exposition::family(std::string_view name, std::string_view help, Type type) {
  name_ = name;
  text_.append("# HELP ").append(name).append(" ");
  escape(text_, help, "\\");
  text_.append("\n# TYPE ").append(name).append(" ").append(name_of(type)).append("\n");
}

void Exposition::line(std::string_view suffix, const Labels& labels, std::string_view value) {
  text_.append(name_).append(suffix);
  char before = '{';
  for (const auto& [label, content] : labels) {
    text_ += before;
    text_.append(label).append("=\"");
    escape(text_, content, "\\\"");
    text_ += '"';
    before = ',';
  }
  if (!labels.empty()) text_ += '}';
  text_.append(" ").append(value).append("\n");
}

void Exposition::sample(const Labels& labels, std::uint64_t value) {
  line("", labels, text_of(value));
}

void Exposition::sample(const Labels& labels, double value) { line("", labels, number(value)); }

void Exposition::histogram(Labels labels, std::span<const double> bounds,
                           std::span<const std::uint64_t> buckets, double seconds) {
  std::uint64_t count = 0;
  labels.emplace_back("le", "");
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    count += buckets[i];
    const std::string bound = i < bounds.size() ? number(bounds[i]) : "+Inf";
    labels.back().second = bound;
    line("_bucket", labels, text_of(count));
  }
  labels.pop_back();
  line("_sum", labels, number(seconds));
  line("_count", labels, text_of(count));
}

}  // namespace once::metrics
