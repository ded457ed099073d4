// What Once stands on, by its address.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "once/backend.h"
#include "once/open.h"
#include "wire/data_form.h"

namespace once {

bool is_server_address(std::string_view address);  // http:// or https://

// The server at that address; as open() says. Of the options, token and files count.
Result<std::unique_ptr<Backend>> open_server(std::string_view url, std::string name_space,
                                             const OpenOptions& options,
                                             wire::DataForm form = wire::DataForm::exact);

// For commands: as open(), but a directory is shared with servers and other commands. Each call
// goes to the server that has it, or opens its store, waits for its turn for at most
// `options.wait_for_turn`, and closes it again (directory/directory.h). Without a namespace it is
// that of the token, or "default". `form` is as for remote::connect().
//
//   Once once(open_shared(address, "default", {.wait_for_turn = 10s}).value());
Result<std::unique_ptr<Backend>> open_shared(std::string_view address, std::string name_space,
                                             const OpenOptions& options,
                                             wire::DataForm form = wire::DataForm::exact);

}  // namespace once
