// All metrics of a program, by name. Safe to share between threads.
//
// Label values may come from outside, so a family is bounded: beyond kMaxSeries, and for a value
// that is too long or not UTF-8, it counts in the series "other".
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "metrics/exposition.h"

namespace once::metrics {

// Counters, gauges and histograms. Counting takes no lock. A reader sees each number exactly, but
// related numbers may be one observation apart.
class Counter {
 public:
  void add(std::uint64_t amount = 1) { value_.fetch_add(amount, std::memory_order_relaxed); }
  std::uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_ = 0;
};

class Gauge {
 public:
  void set(double value) { value_.store(value, std::memory_order_relaxed); }
  double value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<double> value_ = 0;
};

class Histogram {
 public:
  // Ascending upper bounds in seconds; a last bucket holds everything longer.
  explicit Histogram(std::span<const double> bounds)
      : bounds_(bounds.begin(), bounds.end()), buckets_(bounds.size() + 1) {}

  void observe(std::chrono::nanoseconds length) {
    const auto bound =
        std::ranges::lower_bound(bounds_, std::chrono::duration<double>(length).count());
    buckets_[static_cast<std::size_t>(bound - bounds_.begin())].add();
    nanoseconds_.add(static_cast<std::uint64_t>(std::max<std::int64_t>(length.count(), 0)));
  }

  const std::vector<double>& bounds() const { return bounds_; }
  std::uint64_t bucket(std::size_t index) const {
    return buckets_[index].value();
  }  // Not cumulative.
  double seconds() const { return static_cast<double>(nanoseconds_.value()) / 1e9; }

 private:
  const std::vector<double> bounds_;
  std::vector<Counter> buckets_;
  Counter nanoseconds_;
};

inline constexpr std::size_t kMaxSeries = 200;      // Of a family, without "other".
inline constexpr std::size_t kMaxLabelValue = 128;  // Bytes.

// Names and help texts are literals of the program: they must outlive the registry.
struct Description {
  std::string_view name;
  std::string_view help;
  std::vector<std::string_view> labels;
};

class AnyFamily {
 public:
  virtual ~AnyFamily() = default;
  virtual void write(Exposition& out) const = 0;
};

using LabelValues = std::vector<std::string>;

// The values if they may be a series, otherwise "other" for each.
LabelValues within_bounds(std::initializer_list<std::string_view> values);
LabelValues other_values(std::size_t count);

void write_one(Exposition& out, const Labels& labels, const Counter& counter);
void write_one(Exposition& out, const Labels& labels, const Gauge& gauge);
void write_one(Exposition& out, const Labels& labels, const Histogram& histogram);

template <class Metric>
class Family final : public AnyFamily {
 public:
  using Make = std::function<std::unique_ptr<Metric>()>;

  Family(Description what, Exposition::Type type, Make make)
      : what_(std::move(what)), type_(type), make_(std::move(make)) {}

  // The metric with one value for each label; created if it is new. Takes a lock: frequent callers
  // keep the reference.
  Metric& with(std::initializer_list<std::string_view> values) {
    LabelValues wanted = within_bounds(values);
    const Lock lock(mutex_);
    const auto found = series_.find(wanted);
    if (found != series_.end()) return *found->second;
    if (series_.size() >= kMaxSeries) wanted = other_values(values.size());
    auto& metric = series_[std::move(wanted)];
    if (!metric) metric = make_();
    return *metric;
  }

  void write(Exposition& out) const override {
    out.family(what_.name, what_.help, type_);
    const Lock lock(mutex_);
    for (const auto& [values, metric] : series_) {
      Labels labels;
      for (std::size_t i = 0; i < values.size(); ++i) {
        labels.emplace_back(what_.labels[i], values[i]);
      }
      write_one(out, labels, *metric);
    }
  }

 private:
  const Description what_;
  const Exposition::Type type_;
  const Make make_;
  mutable Mutex mutex_;
  std::map<LabelValues, std::unique_ptr<Metric>> series_ ONCE_GUARDED_BY(mutex_);
};

class Registry {
 public:
  // The returned references live as long as the registry.
  Family<Counter>& counters(Description what);
  Family<Gauge>& gauges(Description what);
  Family<Histogram>& histograms(Description what, std::vector<double> bounds);
  Counter& counter(std::string_view name, std::string_view help);
  Gauge& gauge(std::string_view name, std::string_view help);
  Histogram& histogram(std::string_view name, std::string_view help, std::vector<double> bounds);

  // For numbers kept elsewhere: called at each scrape while this object lives. One for each
  // registry and name.
  using Collect = std::function<void(Exposition& out)>;
  class [[nodiscard]] Collecting {
   public:
    Collecting(Registry& registry, Collect collect);
    ~Collecting();
    Collecting(const Collecting&) = delete;
    Collecting& operator=(const Collecting&) = delete;

   private:
    Registry& registry_;
    const Collect collect_;
  };

  std::string text() const;

 private:
  template <class Metric>
  Family<Metric>& add(Description what, Exposition::Type type, typename Family<Metric>::Make make);

  mutable Mutex mutex_;
  std::deque<std::unique_ptr<AnyFamily>> families_ ONCE_GUARDED_BY(mutex_);
  std::vector<const Collect*> collectors_ ONCE_GUARDED_BY(mutex_);
};

}  // namespace once::metrics
