#include "metrics/registry.h"

#include <algorithm>
#include <utility>

namespace once::metrics {
namespace {

// Length of the UTF-8 character that begins with this byte; 0 if none does.
std::size_t length_of(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  return lead >= 0xf0 && lead < 0xf5 ? 4 : 0;
}

// Whether the second byte may follow the first: no surrogates, no overlong forms.
bool may_follow(unsigned char lead, unsigned char second) {
  if (lead == 0xe0) return second >= 0xa0;
  if (lead == 0xed) return second < 0xa0;
  if (lead == 0xf0) return second >= 0x90;
  return lead != 0xf4 || second < 0x90;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text[0]);
    const std::size_t length = length_of(lead);
    if (length == 0 || length > text.size()) return false;
    for (std::size_t i = 1; i < length; ++i) {
      const auto byte = static_cast<unsigned char>(text[i]);
      if ((byte & 0xc0U) != 0x80U || (i == 1 && !may_follow(lead, byte))) return false;
    }
    text.remove_prefix(length);
  }
  return true;
}

bool is_sound(std::string_view value) { return value.size() <= kMaxLabelValue && is_utf8(value); }

}  // namespace

LabelValues other_values(std::size_t count) { return LabelValues(count, "other"); }

LabelValues within_bounds(std::initializer_list<std::string_view> values) {
  if (!std::ranges::all_of(values, is_sound)) return other_values(values.size());
  return {values.begin(), values.end()};
}

void write_one(Exposition& out, const Labels& labels, const Counter& counter) {
  out.sample(labels, counter.value());
}

void write_one(Exposition& out, const Labels& labels, const Gauge& gauge) {
  out.sample(labels, gauge.value());
}

void write_one(Exposition& out, const Labels& labels, const Histogram& histogram) {
  std::vector<std::uint64_t> buckets;
  for (std::size_t i = 0; i <= histogram.bounds().size(); ++i) {
    buckets.push_back(histogram.bucket(i));
  }
  out.histogram(labels, histogram.bounds(), buckets, histogram.seconds());
}

template <class Metric>
Family<Metric>& Registry::add(Description what, Exposition::Type type,
                              typename Family<Metric>::Make make) {
  auto family = std::make_unique<Family<Metric>>(std::move(what), type, std::move(make));
  Family<Metric>& added = *family;
  const Lock lock(mutex_);
  families_.push_back(std::move(family));
  return added;
}

Family<Counter>& Registry::counters(Description what) {
  return add<Counter>(std::move(what), Exposition::Type::counter,
                      [] { return std::make_unique<Counter>(); });
}

Family<Gauge>& Registry::gauges(Description what) {
  return add<Gauge>(std::move(what), Exposition::Type::gauge,
                    [] { return std::make_unique<Gauge>(); });
}

Family<Histogram>& Registry::histograms(Description what, std::vector<double> bounds) {
  return add<Histogram>(std::move(what), Exposition::Type::histogram, [bounds = std::move(bounds)] {
    return std::make_unique<Histogram>(bounds);
  });
}

Counter& Registry::counter(std::string_view name, std::string_view help) {
  return counters({name, help, {}}).with({});
}

Gauge& Registry::gauge(std::string_view name, std::string_view help) {
  return gauges({name, help, {}}).with({});
}

Histogram& Registry::histogram(std::string_view name, std::string_view help,
                               std::vector<double> bounds) {
  return histograms({name, help, {}}, std::move(bounds)).with({});
}

Registry::Collecting::Collecting(Registry& registry, Collect collect)
    : registry_(registry), collect_(std::move(collect)) {
  const Lock lock(registry_.mutex_);
  registry_.collectors_.push_back(&collect_);
}

Registry::Collecting::~Collecting() {
  const Lock lock(registry_.mutex_);
  std::erase(registry_.collectors_, &collect_);
}

std::string Registry::text() const {
  Exposition out;
  const Lock lock(mutex_);
  for (const auto& family : families_) family->write(out);
  for (const Collect* collect : collectors_) (*collect)(out);
  return out.take();
}

}  // namespace once::metrics
