// In place of a browser: a picture that depends on the page's address and on nothing else.
#pragma once

#include <string>

#include "job.h"

namespace screenshot_worker {

// A PNG (ISO/IEC 15948) of the job's size, 8 bits each of red, green and blue.
std::string picture_of(const Job& job);

}  // namespace screenshot_worker
