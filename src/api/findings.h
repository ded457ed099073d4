// What is not as it should be with a server, its store and its machine, and the remedy. Judged here
// alone: GET /v1/doctor tells it, `once doctor` prints it, the console shows it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "once/time.h"

namespace once::api {

// What one check found.
struct Finding {
  enum class Level : std::uint8_t { ok, warning, problem };
  Level level = Level::ok;
  std::string check;
  std::string detail;
  std::string remedy;  // Empty if nothing is to be done.
};

std::string_view name_of(Finding::Level level);

class Findings {
 public:
  void ok(std::string check, std::string detail);
  void warning(std::string check, std::string detail, std::string remedy);
  void problem(std::string check, std::string detail, std::string remedy);
  void add(Finding finding) { all_.push_back(std::move(finding)); }

  const std::vector<Finding>& all() const { return all_; }
  bool has_problem() const;

 private:
  std::vector<Finding> all_;
};

// As in an answer of the API: an array.
std::string encode(const Findings& findings);

// Those of an answer of GET /v1/doctor; nothing if it is none.
std::optional<std::vector<Finding>> decode_findings(std::string_view answer);

// How many file descriptors this process may have open, and has.
struct Descriptors {
  double open = 0;
  double most = 0;
};
std::optional<Descriptors> descriptors_of_process();

// What a process knows of itself and its store. What is not known is not judged.
struct Facts {
  std::optional<std::filesystem::path> directory;  // Of an embedded store.
  std::optional<Descriptors> descriptors;          // Of a server.
  bool writes_stopped = false;                     // By the engine, which is behind.
  std::uint64_t corrupt = 0;                       // How often stored bytes failed their checks.
  std::uint64_t abandoned = 0;                     // Claims.
  std::vector<Finding> more;                       // Found elsewhere.
};

void judge(const Facts& facts, Findings& found);

// Whether something keeps this machine's clock right; `whose` is "this machine's".
void judge_own_clock(std::string_view whose, Findings& found);

// The store's time, by which leases end, beside that of a clock before and after it was asked.
struct StoreTime {
  Time store;
  Time before;
  Time after;
};
void judge_store_clock(const StoreTime& time, std::string_view whose, Findings& found);

// `description` is Store::describe().
void judge_durability(std::string_view description, Findings& found);

// Who may enter the directory. Opening its store closes it to others.
void judge_permissions(const std::filesystem::path& path, Findings& found);

// The room where the store is, and what keeps files there.
void judge_directory(const std::filesystem::path& path, Findings& found);

// So many descriptors may a server have that is started here.
void judge_limit(double most, Findings& found);

}  // namespace once::api
