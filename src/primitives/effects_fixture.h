// Effects beside the primitives they are made of, on a memory store whose faults are scripted.
#pragma once

#include <gtest/gtest.h>

#include <memory>

#include "once/effects.h"
#include "once/faulty_store.h"
#include "once/memory_store.h"
#include "once/metered_store.h"
#include "testing/manual_clock.h"
#include "testing/store_under_test.h"

namespace once {

class EffectsFixture : public ::testing::Test {
 protected:
  using Outcome = effects::Outcome;
  using Refused = effects::Refused;

  Result<Outcome> commit(effects::Request request) {
    return driver_.run(effects::commit(std::move(request)));
  }
  effects::Made made(effects::Request request) {
    const Result<Outcome> outcome = commit(std::move(request));
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome) return {};
    const auto* made = std::get_if<effects::Made>(&*outcome);
    EXPECT_NE(made, nullptr) << "refused";
    return made != nullptr ? *made : effects::Made{};
  }
  Refused refused(effects::Request request) {
    const Result<Outcome> outcome = commit(std::move(request));
    if (!outcome) ADD_FAILURE() << outcome.error().message;
    if (!outcome) return {};
    const auto* refused = std::get_if<Refused>(&*outcome);
    EXPECT_NE(refused, nullptr) << "made";
    return refused != nullptr ? *refused : Refused{};
  }

  Ticket claim(std::string_view name) {
    return std::get<Claimed>(claims_.take(name, {}).value()).ticket;
  }
  std::size_t events(std::string_view stream) { return log_.read(stream).value().events.size(); }
  std::int64_t sum(std::string_view name) {
    const auto reading = tallies_.read(name).value();
    return reading ? std::get<std::int64_t>(reading->value) : 0;
  }
  bool exists(std::string_view name) { return documents_.get(name).value().has_value(); }
  std::string etag(std::string_view name) { return documents_.get(name).value().value().etag; }

  void meet(std::initializer_list<Fault> faults) { faulty_->script(std::vector<Fault>(faults)); }

  testing::ManualClock clock_;
  Entropy entropy_{1};
  std::unique_ptr<Store> memory_ = testing::store_under_test(clock_);
  std::unique_ptr<MeteredStore> metered_ = meter(*memory_);
  std::unique_ptr<FaultyStore> faulty_ = inject_faults(*metered_, {}, clock_);
  BlockingDriver driver_{*faulty_, clock_, entropy_};
  Claims claims_{*memory_, "default", clock_, entropy_};
  Log log_{*memory_, "default", LogStrategy::conditional, clock_, entropy_};
  Documents documents_{*memory_, "default", clock_, entropy_};
  Tallies tallies_{*memory_, "default", clock_, entropy_};
};

}  // namespace once
