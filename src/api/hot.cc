#include "api/call.h"

namespace once::api {
namespace {

constexpr std::size_t kMost = 100;

Plan<Response> listed(HotKeys& hot, std::string name_space) {
  const Time now = co_await store_now();
  const std::vector<HotKeys::Hot> keys = hot.hottest(name_space, kMost, now);
  std::string list = json_array(keys, [](const HotKeys::Hot& key) {
    return JsonObject()
        .text("key", key.key)
        .integer("conflicts", static_cast<std::int64_t>(key.conflicts))
        .finish();
  });
  co_return json_response(200, JsonObject().raw("keys", list).finish());
}

}  // namespace

Answer list_hot_keys(Call& call) { return listed(call.service.hot(), call.name_space); }

}  // namespace once::api
