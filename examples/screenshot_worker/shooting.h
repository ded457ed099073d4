// What a worker does with a job.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "job.h"
#include "once/work.h"

namespace screenshot_worker {

struct Studio {
  std::filesystem::path shots;         // Where the objects go.
  std::string stream = "screenshots";  // The log of what is done: job, space, address.
  once::Duration render_time{0};       // A browser takes a while.
};

// Puts the picture where others find it, whole or not at all, and answers its address. The name has
// the fence in it: a worker that was taken over, and goes on, writes beside the picture of the one
// that took over and never over it.
once::Result<std::string> keep(const std::filesystem::path& shots, const Job& job,
                               std::int64_t fence, std::string_view picture);

// Renders the page and keeps the picture. Its address is the result of the claim and an entry of
// the log, by one commit.
once::Result<once::Effects> shoot(const Studio& studio, once::Task& task);

}  // namespace screenshot_worker
