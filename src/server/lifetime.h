// What a process that serves needs of the operating system, from its start to its end.
#pragma once

#include <signal.h>

namespace once::server {

// TERM and INT are blocked in every thread from now on, to be waited for in one; a peer that went
// away is an error of its socket, and no signal.
sigset_t hold_signals();

// Until one of them comes; tells which.
int wait_for(const sigset_t& signals);

void allow_many_descriptors();

}  // namespace once::server
