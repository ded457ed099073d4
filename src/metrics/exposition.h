// The text that Prometheus reads, format 0.0.4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace once::metrics {

inline constexpr std::string_view kContentType = "text/plain; version=0.0.4; charset=utf-8";

using Labels = std::vector<std::pair<std::string_view, std::string_view>>;

class Exposition {
 public:
  enum class Type : std::uint8_t { counter, gauge, histogram };

  // Starts a family: the next samples belong to it.
  void family(std::string_view name, std::string_view help, Type type);

  void sample(const Labels& labels, std::uint64_t value);
  void sample(const Labels& labels, double value);

  // `buckets` are not cumulative; there is one more than there are bounds.
  void histogram(Labels labels, std::span<const double> bounds,
                 std::span<const std::uint64_t> buckets, double seconds);

  std::string take() { return std::move(text_); }

 private:
  void line(std::string_view suffix, const Labels& labels, std::string_view value);

  std::string name_;
  std::string text_;
};

}  // namespace once::metrics
