// How much of a pool one party may take, so that no party leaves nothing for the others.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace once {

// Percent of a pool that a party may take while it is the only one.
inline constexpr unsigned kUsualShare = 75;

// Whether a party that holds `held` may take `more` of a pool of `most`, of which all parties
// together hold `taken`. The bound of each party is a multiple of what is free: it falls as others
// take something, and a party that holds nothing always finds something free (dynamic thresholds,
// Choudhury and Hahne, 1998). A share of 100 percent is no bound but the pool's own.
constexpr bool within_share(std::size_t held, std::size_t more, std::size_t taken, std::size_t most,
                            unsigned percent) {
  if (taken > most || more > most - taken) return false;
  return (held + more) * (100 - percent) <= percent * (most - taken);
}

// What parties that have names hold of a pool. Not safe to share between threads.
class Shares {
 public:
  Shares(std::size_t most, unsigned percent) : most_(most), percent_(percent) {}

  bool may_take(std::string_view party) const {
    return within_share(held_by(party), 1, taken_, most_, percent_);
  }
  void take(std::string_view party) {
    ++taken_;
    const auto found = held_.find(party);
    if (found == held_.end()) {
      held_.emplace(party, 1);
    } else {
      ++found->second;
    }
  }
  void give_back(std::string_view party) {
    --taken_;
    const auto found = held_.find(party);
    if (--found->second == 0) held_.erase(found);
  }

  std::size_t taken() const { return taken_; }
  std::size_t held_by(std::string_view party) const {
    const auto found = held_.find(party);
    return found == held_.end() ? 0 : found->second;
  }

 private:
  const std::size_t most_;
  const unsigned percent_;
  std::size_t taken_ = 0;
  std::map<std::string, std::size_t, std::less<>> held_;  // Of parties that hold something.
};

}  // namespace once
