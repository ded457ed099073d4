// openapi.yaml, as it was when this was built.
#pragma once

#include <string_view>

namespace once::api {

std::string_view openapi_yaml();

}  // namespace once::api
