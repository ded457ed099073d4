#include "once/write.h"

namespace once {

Write put(Key key, Value value, Guard guard, Time expiry) {
  return {.kind = Write::Kind::put,
          .guard = guard,
          .key = std::move(key),
          .value = std::move(value),
          .expiry = expiry,
          .version = {}};
}

Write add(Key key, std::int64_t amount, Guard guard, Time expiry) {
  Write write = put(std::move(key), amount, guard, expiry);
  write.kind = Write::Kind::add;
  return write;
}

Write raise(Key key, std::int64_t value, Guard guard, Time expiry) {
  Write write = put(std::move(key), value, guard, expiry);
  write.kind = Write::Kind::raise;
  return write;
}

Write erase(Key key, Guard guard) {
  Write write = put(std::move(key), std::int64_t{0}, guard);
  write.kind = Write::Kind::erase;
  return write;
}

Write check(Key key, Guard guard) {
  Write write = put(std::move(key), std::int64_t{0}, guard);
  write.kind = Write::Kind::check;
  return write;
}

}  // namespace once
