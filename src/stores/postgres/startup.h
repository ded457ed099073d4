// What is found out about a database before it is used.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stores/postgres/reader.h"

namespace once::postgres {

struct About {
  std::string description;  // For describe().
  bool may_forget = false;  // An answer that was given may be lost.
  std::shared_ptr<const Sealer> sealer;
};

// What the server says about how it keeps what it answers.
struct Keeping {
  bool fsync = true;
  bool full_page_writes = true;
  std::string synchronous_commit = "on";
  std::string synchronous_standbys;  // Empty: it waits for none.
  std::int64_t standbys = 0;         // That are connected now.
};

// In plain words; empty where nothing can be lost.
std::vector<std::string> dangers_of(const Keeping& keeping);

// That it is a PostgreSQL of this version or later, takes writes, and has a schema of ours that
// this version knows and this user may use.
Result<About> check_server(const CallContext& context);

}  // namespace once::postgres
