#include "job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace screenshot_worker {
namespace {

using Json = nlohmann::json;

constexpr int kMostPixels = 2'000;  // Of a side.
constexpr std::size_t kLongestId = 100;

std::unexpected<once::Error> wrong(const std::string& what) {
  return once::failure(once::ErrorCode::invalid, what);
}

once::Result<void> check(const Job& job) {
  const bool named = !job.id.empty() && job.id.size() <= kLongestId &&
                     std::ranges::all_of(job.id, [](unsigned char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                              (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
                     });
  if (!named) return wrong("the id of a job is 1 to 100 letters, digits, '-' and '_'");
  if (job.page.empty()) return wrong("the job names no page");
  const auto fits = [](int side) { return side >= 1 && side <= kMostPixels; };
  if (!fits(job.width) || !fits(job.height)) return wrong("a picture is 1 to 2,000 pixels a side");
  return {};
}

}  // namespace

once::Result<Job> job_in(std::string_view message) {
  const Json event = Json::parse(message, nullptr, /*allow_exceptions=*/false);
  const Json data = event.is_object() ? event.value("data", Json()) : Json();
  if (!data.is_object()) return wrong("the message is no CloudEvent with data");
  Job job;
  try {
    job = {event.at("id").get<std::string>(), data.at("page").get<std::string>(),
           data.value("width", job.width), data.value("height", job.height)};
  } catch (const Json::exception&) {
    return wrong("the message has no id, or its data is not that of a job");
  }
  if (const once::Result<void> fine = check(job); !fine) return std::unexpected(fine.error());
  return job;
}

once::Result<std::string> message_of(const Job& job) {
  if (const once::Result<void> fine = check(job); !fine) return std::unexpected(fine.error());
  const Json event = {{"specversion", "1.0"},
                      {"source", "/screenshots"},
                      {"type", "screenshot.wanted"},
                      {"id", job.id},
                      {"data", {{"page", job.page}, {"width", job.width}, {"height", job.height}}}};
  try {
    return event.dump();
  } catch (const Json::exception&) {
    return wrong("the address of a page is UTF-8");
  }
}

}  // namespace screenshot_worker
