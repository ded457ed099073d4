// Every guard on every state of a key, for every kind of write.
#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

constexpr std::int64_t kBefore = 5;
constexpr std::int64_t kOperand = 9;

enum class State { absent, present, permanent, expired, changed };
enum class Held { yes, no };

struct Kind {
  std::string name;
  Write (*make)(Key key, Guard guard);
  std::optional<std::int64_t> from_absent;  // The value after it; nothing: absent.
  std::optional<std::int64_t> from_present;
};

// `check` under anything() is no request, so it comes last and is left out there.
const std::vector<Kind>& kinds() {
  static const std::vector<Kind> all = {
      {"put", [](Key k, Guard g) { return put(k, kOperand, g); }, kOperand, kOperand},
      {"add", [](Key k, Guard g) { return add(k, kOperand, g); }, kOperand, kBefore + kOperand},
      {"raise", [](Key k, Guard g) { return raise(k, kOperand, g); }, kOperand, kOperand},
      {"erase", [](Key k, Guard g) { return erase(k, g); }, std::nullopt, std::nullopt},
      {"check", [](Key k, Guard g) { return check(k, g); }, std::nullopt, kBefore},
  };
  return all;
}

struct Prepared {
  std::optional<Item> current;
  Version seen;  // What a caller knew of the key before.
};

Prepared prepare(StoreConformance& test, const Key& key, State state) {
  switch (state) {
    case State::absent: return {std::nullopt, test.fresh_version()};
    case State::expired: return {std::nullopt, test.seed_expired(key, kBefore).version};
    case State::present: {
      const Item item = test.seed(key, kBefore, test.far_off());
      return {item, item.version};
    }
    case State::permanent: {
      const Item item = test.seed(key, kBefore);
      return {item, item.version};
    }
    case State::changed: {
      const Version old = test.seed(key, std::int64_t{4}).version;
      return {test.seed(key, kBefore, test.far_off()), old};
    }
  }
  return {};
}

void expect_effect(StoreConformance& test, const Kind& kind, const Write& write,
                   const std::optional<Item>& before) {
  const auto& number = before ? kind.from_present : kind.from_absent;
  std::optional<Item> after;
  if (number) after = Item{*number, write.version, write.expiry};
  if (write.kind == Write::Kind::check) after = before;
  EXPECT_EQ(test.read(write.key), after);
}

void expect_guard(StoreConformance& test, Guard::Kind guard_kind, State state, Held held) {
  for (const Kind& kind : kinds()) {
    if (guard_kind == Guard::Kind::anything && kind.name == "check") continue;
    SCOPED_TRACE(kind.name);
    const Key key = test.key(kind.name);
    const Prepared prepared = prepare(test, key, state);
    Guard guard{.kind = guard_kind};
    if (guard_kind == Guard::Kind::unchanged) guard.version = prepared.seen;
    const Write write = test.fresh(kind.make(key, guard));
    const Result<CommitOutcome> answer = test.commit({write});
    if (held == Held::yes) {
      EXPECT_TRUE(is_committed(answer));
      expect_effect(test, kind, write, prepared.current);
    } else {
      EXPECT_TRUE(is_lost(answer, 0, prepared.current));
      EXPECT_EQ(test.read(key), prepared.current);
    }
  }
}

}  // namespace

TEST_P(StoreConformance, AnythingHoldsWhereTheKeyIsAbsent) {
  expect_guard(*this, Guard::Kind::anything, State::absent, Held::yes);
}
TEST_P(StoreConformance, AnythingHoldsWhereAnItemStands) {
  expect_guard(*this, Guard::Kind::anything, State::present, Held::yes);
}
TEST_P(StoreConformance, AnythingHoldsWhereTheItemHasExpiredAndStartsFromAbsent) {
  expect_guard(*this, Guard::Kind::anything, State::expired, Held::yes);
}
TEST_P(StoreConformance, AnythingHoldsWhereTheItemHasChanged) {
  expect_guard(*this, Guard::Kind::anything, State::changed, Held::yes);
}
TEST_P(StoreConformance, AbsentHoldsWhereTheKeyIsAbsent) {
  expect_guard(*this, Guard::Kind::absent, State::absent, Held::yes);
}
TEST_P(StoreConformance, AbsentLosesToAnItemAndShowsIt) {
  expect_guard(*this, Guard::Kind::absent, State::present, Held::no);
}
TEST_P(StoreConformance, AbsentHoldsWhereTheItemHasExpired) {
  expect_guard(*this, Guard::Kind::absent, State::expired, Held::yes);
}
TEST_P(StoreConformance, AbsentLosesToAChangedItemAndShowsIt) {
  expect_guard(*this, Guard::Kind::absent, State::changed, Held::no);
}
TEST_P(StoreConformance, UnchangedLosesWhereTheKeyIsAbsent) {
  expect_guard(*this, Guard::Kind::unchanged, State::absent, Held::no);
}
TEST_P(StoreConformance, UnchangedHoldsWhereTheVersionStands) {
  expect_guard(*this, Guard::Kind::unchanged, State::present, Held::yes);
}
TEST_P(StoreConformance, UnchangedLosesWhereTheVersionHasExpired) {
  expect_guard(*this, Guard::Kind::unchanged, State::expired, Held::no);
}
TEST_P(StoreConformance, UnchangedLosesToAChangedItemAndShowsIt) {
  expect_guard(*this, Guard::Kind::unchanged, State::changed, Held::no);
}

TEST_P(StoreConformance, PermanentHoldsWhereAnItemHasNoExpiry) {
  expect_guard(*this, Guard::Kind::permanent, State::permanent, Held::yes);
}
TEST_P(StoreConformance, PermanentLosesToAnItemThatWillExpireAndShowsIt) {
  expect_guard(*this, Guard::Kind::permanent, State::present, Held::no);
}
TEST_P(StoreConformance, PermanentLosesWhereTheKeyIsAbsent) {
  expect_guard(*this, Guard::Kind::permanent, State::absent, Held::no);
}
TEST_P(StoreConformance, PermanentLosesWhereTheItemHasExpired) {
  expect_guard(*this, Guard::Kind::permanent, State::expired, Held::no);
}

TEST_P(StoreConformance, AbsentHoldsAgainAfterAnErase) {
  seed(key("k"), Bytes("one"));
  remove(key("k"));
  const Write again = fresh(put(key("k"), Bytes("two"), absent()));
  EXPECT_TRUE(is_committed(commit({again})));
  EXPECT_EQ(read(key("k")), item_of(again));
}

TEST_P(StoreConformance, LastingIsTreatedAsAbsent) {
  const Write first = fresh(put(key("k"), Bytes("one"), absent_lasting()));
  EXPECT_TRUE(is_committed(commit({first})));
  EXPECT_TRUE(
      is_lost(commit({fresh(put(key("k"), Bytes("two"), absent_lasting()))}), 0, item_of(first)));
}

}  // namespace once::testing
