#include "build.h"

#include <nlohmann/json.hpp>
#include <thread>

namespace event_builder {
namespace {

// What stays of a build: its result, a line in the log and one more in a count.
once::Effects record_of(const Event& event, const std::string& image, std::int64_t attempt) {
  nlohmann::ordered_json entry;
  entry["source"] = event.source;
  entry["id"] = event.id;
  entry["type"] = event.type;
  entry["image"] = image;
  entry["attempt"] = attempt;
  once::TallyRequest one_more{.shape = {.kind = once::TallyKind::count}, .input = std::int64_t{1}};
  once::Effects effects;
  effects.result(image).append(kLog, entry.dump()).merge(event.type, std::move(one_more));
  return effects;
}

}  // namespace

once::Result<std::string> build(const Event& event, std::int64_t attempt,
                                const std::stop_token& stopped) {
  // Stands for a compiler.
  for (int step = 0; step < 5 && !stopped.stop_requested(); ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3));
  }
  if (stopped.stop_requested()) {
    return once::failure(once::ErrorCode::unavailable, "another builder is at it");
  }
  if (attempt <= event.flaky) {
    return once::failure(once::ErrorCode::unavailable, "the tests of " + event.function + " fail");
  }
  return "registry.example/" + event.function + ":" + event.commit;
}

once::Result<once::Effects> handle(once::Task& task) {
  const auto event = event_of(task.message.attributes, task.message.body);
  if (!event) return task.attempt.give_up(event.error().message);  // No attempt will do better.
  const auto image = build(*event, task.attempt.number(), task.stopped);
  if (!image) return task.attempt.retry_later(image.error());  // Frees the event's key.
  return record_of(*event, *image, task.attempt.number());
}

}  // namespace event_builder
