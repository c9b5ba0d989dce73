/* A preload that no program survives. */
#include <unistd.h>

__attribute__((constructor)) static void kill_it(void) { _exit(3); }
