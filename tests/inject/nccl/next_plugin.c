/* Another profiler plug-in, for the tests of chaining: writes what reaches it to NEXT_PLUGIN_LOG and complains about
 * handles that are not its own. It exports the versions named at compile time, NEXT_PLUGIN_V4 and so on. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/inject/nccl/stand_in_plugin.h"

#define EXPORT __attribute__((visibility("default")))

static char contexts[64][16];
static int context_count;
static struct {
  char magic[8];
  int number;
} events[256];
static int event_count;

static void say(const char* format, ...) {
  FILE* log = fopen(getenv("NEXT_PLUGIN_LOG"), "a");
  if (!log) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(log, format, arguments);
  va_end(arguments);
  fputc('\n', log);
  fclose(log);
}

static const char* whose(const void* handle) {
  if (!handle) return "none";
  return (const char*)handle >= (const char*)events && (const char*)handle < (const char*)(events + 256) ? "mine"
                                                                                                         : "FOREIGN";
}

static int init(void** context, int* mask) {
  *context = strcpy(contexts[context_count++ % 64], "next");
  *mask = GROUP | COLL | P2P;
  return 0;
}

static int start(void* context, void** handle, uint64_t type, const char* function, const void* parent) {
  say("start %d %s parent %s context %s", (int)type, function, whose(parent), (char*)context);
  *handle = memcpy(&events[event_count++ % 256], "MYEVENT", 8);
  return 0;
}

static int stop(void* handle) { return say("stop %s", whose(handle)), 0; }
static int record(void* handle, int state, void* arguments) {
  return (void)arguments, say("state %d %s", state, whose(handle)), 0;
}
static int finalize(void* context) { return say("finalize %s", (char*)context), 0; }

#if defined(NEXT_PLUGIN_V2)
static int init_old(void** context, int* mask) { return say("init v2"), init(context, mask); }
static int start_v2(void* context, void** handle, void* descriptor) {
  const descriptor_v2* d = descriptor;
  return start(context, handle, d->type, d->type == COLL ? d->coll.func : "-", d->parentObj);
}
EXPORT const plugin_table ncclProfiler_v2 = {"next", {.v1 = init_old}, start_v2, stop, record, finalize};
#endif
#if defined(NEXT_PLUGIN_V4)
static int init_v4(void** c, int* mask, const char* name, uint64_t hash, int nodes, int ranks, int rank, void* log) {
  (void)name, (void)nodes, (void)log;
  return say("init v4 hash %d ranks %d rank %d", hash != 0, ranks, rank), init(c, mask);
}
static int start_v4(void* context, void** handle, void* descriptor) {
  const descriptor_v4* d = descriptor;
  return start(context, handle, d->type, d->type == COLL ? d->coll.func : "-", d->parentObj);
}
EXPORT const plugin_table ncclProfiler_v4 = {"next", {.v4 = init_v4}, start_v4, stop, record, finalize};
#endif
#if defined(NEXT_PLUGIN_V5)
static int init_v5(void** c, uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank, void* log) {
  (void)name, (void)nodes, (void)log;
  return say("init v5 hash %d ranks %d rank %d", hash != 0, ranks, rank), init(c, mask);
}
static int start_v5(void* context, void** handle, void* descriptor) {
  const descriptor_v5* d = descriptor;
  return start(context, handle, d->type, d->type == COLL ? d->coll.func : "-",
               d->type == COLL ? d->coll.parentGroup : d->parentObj);
}
EXPORT const plugin_table ncclProfiler_v5 = {"next", {.v5 = init_v5}, start_v5, stop, record, finalize};
#endif
#if defined(NEXT_PLUGIN_V6)
static int init_v6(void** c, uint64_t hash, int* mask, const char* name, int nodes, int ranks, int rank, void* log) {
  (void)name, (void)nodes, (void)log;
  return say("init v6 hash %d ranks %d rank %d", hash != 0, ranks, rank), init(c, mask);
}
static int start_v6(void* context, void** handle, void* descriptor) { /* collectives as in version 5 */
  const descriptor_v5* d = descriptor;
  return start(context, handle, d->type, d->type == COLL ? d->coll.func : "-",
               d->type == COLL ? d->coll.parentGroup : d->parentObj);
}
EXPORT const plugin_table ncclProfiler_v6 = {"next", {.v5 = init_v6}, start_v6, stop, record, finalize};
#endif
