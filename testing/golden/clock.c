// Preloaded while stored.tar.gz is recorded: the wall clock starts at 2100-01-01, so that nothing that is recorded has
// expired when a test opens it. A store's time never goes back, so the test's clock does not matter.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

int clock_gettime(clockid_t clock, struct timespec* out) {
  static int (*real)(clockid_t, struct timespec*);
  if (!real) real = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  const int result = real(clock, out);
  if (clock == CLOCK_REALTIME) out->tv_sec += atoll(getenv("ONCE_GOLDEN_SHIFT"));
  return result;
}
