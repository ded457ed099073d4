// docs/stores.md has a table of what each store supports; its rows are made here.
#include <fstream>
#include <iterator>

#include "testing/conformance/store_conformance.h"

namespace once::testing {
namespace {

std::string count(std::size_t number) {
  if (number > 1'000'000'000) return "any";
  std::string digits = std::to_string(number);
  for (std::ptrdiff_t at = std::ssize(digits) - 3; at > 0; at -= 3) {
    digits.insert(static_cast<std::size_t>(at), ",");
  }
  return digits;
}

std::string scans(const Limits& limits) {
  if (limits.scans_ascending && limits.scans_descending) return "both ways";
  return limits.scans_ascending ? "upwards" : "downwards";
}

std::string row_of(Store& store) {
  const Limits& limits = store.limits();
  std::string name = store.describe().substr(0, store.describe().find_first_of(" ,:"));
  if (limits.one_home_per_commit) name += " cluster";
  return "| " + name + " | " + count(limits.writes_per_commit) +
         (limits.one_home_per_commit ? ", of one home" : "") + " | " +
         count(limits.commits_per_group) + " | " + count(limits.keys_per_get) + " | " +
         count(limits.value_bytes) + " | " + count(limits.partition_bytes) + " | " + scans(limits) +
         " | " + count(static_cast<std::size_t>(limits.clock_error.count())) + " ms | " +
         (limits.may_forget ? "yes" : "no") + " |";
}

TEST_P(StoreConformance, TheDocumentsSayWhatItSupports) {
  const std::string& document = GetParam().documented_in;
  std::ifstream file(ONCE_SOURCE_DIR "/" + document);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const std::string row = row_of(store());
  EXPECT_NE(text.find("\n" + row + "\n"), std::string::npos) << document << " lacks this row:\n"
                                                             << row;
}

}  // namespace
}  // namespace once::testing
