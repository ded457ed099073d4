// A screenshot that somebody wants, as it travels in a queue: a CloudEvent, so that it is known by
// its id however often it is sent.
//
//   {"specversion": "1.0", "source": "/screenshots", "type": "screenshot.wanted", "id":
//   "front-page",
//    "data": {"page": "https://example.org/", "width": 320, "height": 200}}
#pragma once

#include <string>
#include <string_view>

#include "once/error.h"

namespace screenshot_worker {

struct Job {
  std::string id;  // 1 to 100 letters, digits, '-' and '_': it becomes part of a file's name.
  std::string page;
  int width = 320;  // 1 to 2,000, and so is the height.
  int height = 200;
};

// `invalid` if it is not a job.
once::Result<Job> job_in(std::string_view message);

once::Result<std::string> message_of(const Job& job);

}  // namespace screenshot_worker
