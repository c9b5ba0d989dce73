/* Another NVTX tool, for the tests of chaining: it writes every call that reaches it to NEXT_TOOL_LOG and complains about
 * handles that are not its own. NEXT_TOOL_GAPS=1: it hands out no string handles and no range ids. */
#define _GNU_SOURCE
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/inject/nvtx_client.h"

#define EXPORT __attribute__((visibility("default")))

struct handle {
  char magic[8];
  char name[64];
};
static struct handle handles[64];
static int handle_count;
static uint64_t next_range = 1000;
static int gaps;

static void say(const char* format, ...) {
  FILE* log = fopen(getenv("NEXT_TOOL_LOG"), "a");
  if (!log) return;
  va_list arguments;
  va_start(arguments, format);
  vfprintf(log, format, arguments);
  va_end(arguments);
  fputc('\n', log);
  fclose(log);
}

static void* make(const char* name) {
  struct handle* handle = &handles[handle_count++ % 64];
  memcpy(handle->magic, "MYHANDLE", 8);
  snprintf(handle->name, sizeof handle->name, "%s", name);
  return handle;
}

static const char* name_of(const void* handle) {
  if (!handle) return "-";
  if ((const struct handle*)handle < handles || (const struct handle*)handle >= handles + 64) return "FOREIGN HANDLE";
  return ((const struct handle*)handle)->name;
}

static const char* message_of(const client_attributes* a) {
  return a->message_type == 1 ? a->message.ascii : a->message_type == 3 ? name_of(a->message.registered) : "-";
}

static int push_a(const char* name) { return say("push %s", name), 40; }
static int pop_a(void) { return say("pop"), 41; }
static void mark_a(const char* name) { say("mark %s", name); }
static uint64_t start_a(const char* name) { return say("start %s", name), next_range++; }
static void end(uint64_t id) {
  if (id) say("end %s", id >= 1000 && id < next_range ? "mine" : "FOREIGN RANGE");
}
static void* create(const char* name) { return say("domain %s", name), make(name); }
static void* string(void* d, const char* text) { return say("string %s %s", name_of(d), text), make(text); }
static int domain_push(void* d, const client_attributes* a) { return say("push %s %s", name_of(d), message_of(a)), 42; }
static int domain_pop(void* d) { return say("pop %s", name_of(d)), 43; }
static void domain_mark(void* d, const client_attributes* a) { say("mark %s %s", name_of(d), message_of(a)); }
static uint64_t domain_start(void* d, const client_attributes* a) {
  return say("start %s %s", name_of(d), message_of(a)), next_range++;
}
static void domain_end(void* d, uint64_t id) {
  say("end %s %s", name_of(d), id >= 1000 && id < next_range ? "mine" : "FOREIGN RANGE");
}
static void destroy(void* d) { say("destroy %s", name_of(d)); }
static uint64_t schema(void* d, const client_schema* s) {
  return say("schema %s %s", name_of(d), s->name), s->mask & 1 << 8 ? s->id : ((uint64_t)1 << 32) + 555;
}

typedef void (*function)(void);

EXPORT int InitializeInjectionNvtx2(const void* (*get)(uint32_t)) {
  const struct {
    size_t size;
    int (*table)(uint32_t, function***, unsigned int*);
  }* tables = get(1);
  function** core = NULL;
  function** domain = NULL;
  unsigned int slots = 0;
  gaps = getenv("NEXT_TOOL_GAPS") != NULL;
  say("attach");
  if (!tables || !tables->table(1, &core, &slots) || !tables->table(5, &domain, &slots)) return 0;
  *core[CORE_PUSH_A] = (function)push_a;
  *core[CORE_POP] = (function)pop_a;
  *core[CORE_MARK_A] = (function)mark_a;
  *core[CORE_END] = (function)end;
  *domain[DOMAIN_CREATE_A] = (function)create;
  *domain[DOMAIN_PUSH_EX] = (function)domain_push;
  *domain[DOMAIN_POP] = (function)domain_pop;
  *domain[DOMAIN_MARK_EX] = (function)domain_mark;
  *domain[DOMAIN_END] = (function)domain_end;
  *domain[DOMAIN_DESTROY] = (function)destroy;
  if (gaps) return 1;
  *core[CORE_START_A] = (function)start_a;
  *domain[DOMAIN_START_EX] = (function)domain_start;
  *domain[DOMAIN_STRING_A] = (function)string;
  return 1;
}

EXPORT int InitializeInjectionNvtxExtension(void* module) {
  const struct {
    uint16_t version, size, module, compat;
    size_t segment_count;
    struct {
      size_t id, slot_count;
      intptr_t* slots;
    } * segments;
  }* info = module;
  say("attach payload");
  info->segments[0].slots[0] = (intptr_t)schema;
  return 1;
}
