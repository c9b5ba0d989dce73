#include "collectors/inject/cupti/entry.h"

#include <errno.h>

#include "collectors/inject/cupti/activity.h"
#include "collectors/inject/cupti/counters.h"

extern "C" {

int InitializeInjection(void) {
  const int saved_errno = errno;
  gradsync::cupti::begin();
  errno = saved_errno;
  return 1;
}

void gsd_gpu_yield(void) {
  const int saved_errno = errno;
  gradsync::cupti::yield_to_job();
  errno = saved_errno;
}

void gsd_counters_begin(void) {
  const int saved_errno = errno;
  gradsync::cupti::begin_counting();
  errno = saved_errno;
}

void gsd_counters_end(void) {
  const int saved_errno = errno;
  gradsync::cupti::end_counting();
  errno = saved_errno;
}
}
