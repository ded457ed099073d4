// The console as answers.
#pragma once

#include "wire/message.h"

namespace once::api {

// Whether the client says that it takes HTML. One that says nothing gets the plain page.
bool accepts_html(const wire::Headers& headers);

// The page of the console. It has nothing of this server or its tenants: anyone may read it.
wire::Response console_page(const wire::Request& request);

}  // namespace once::api
