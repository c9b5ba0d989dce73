/* What the test programs do with NVTX. `run_scenario` is all that a client library exports. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/inject/nvtx_client.h"

static void* no_domain = NULL;

static int push(const char* name) { return CALL(int, client_core[CORE_PUSH_A], (const char*), (name)); }
static int pop(void) { return CALL(int, client_core[CORE_POP], (void), ()); }
static void* domain(const char* name) { return CALL(void*, client_domain[DOMAIN_CREATE_A], (const char*), (name)); }
static void* string(void* d, const char* text) {
  return CALL(void*, client_domain[DOMAIN_STRING_A], (void*, const char*), (d, text));
}
static int domain_push(void* d, const client_attributes* a) {
  return CALL(int, client_domain[DOMAIN_PUSH_EX], (void*, const client_attributes*), (d, a));
}
static int domain_pop(void* d) { return CALL(int, client_domain[DOMAIN_POP], (void*), (d)); }
static uint64_t domain_start(void* d, const client_attributes* a) {
  return CALL(uint64_t, client_domain[DOMAIN_START_EX], (void*, const client_attributes*), (d, a));
}
static void domain_end(void* d, uint64_t id) { CALL_VOID(client_domain[DOMAIN_END], (void*, uint64_t), (d, id)); }

static client_attributes named(const char* name) {
  client_attributes a = {3, sizeof a, 0, 0, 0, 0, 0, {0}, 1, {name}};
  return a;
}
static client_attributes registered(void* handle) {
  client_attributes a = {3, sizeof a, 0, 0, 0, 0, 0, {0}, 3, {0}};
  a.message.registered = handle;
  return a;
}
static client_attributes with_blob(client_attributes a, const client_blob* blobs, int count) {
  a.payload_type = (int32_t)0xDFBD0009;
  a.payload_count = count;
  a.payload.u64 = (uint64_t)(uintptr_t)blobs;
  return a;
}

static void plain(void) {
  printf("pop without push: %s\n", pop() < 0 ? "negative" : "not negative");
  const int outer = push("outer"), inner = push("inner");
  printf("levels %d %d\n", outer, inner);
  pop();
  CALL_VOID(client_core[CORE_MARK_A], (const char*), ("a mark"));
  CALL_VOID(client_core[CORE_MARK_W], (const wchar_t*), (L"a wide mark \u20ac"));
  pop();
  const uint64_t first = CALL(uint64_t, client_core[CORE_START_A], (const char*), ("started first"));
  const uint64_t second = CALL(uint64_t, client_core[CORE_START_W], (const wchar_t*), (L"started second"));
  CALL_VOID(client_core[CORE_END], (uint64_t), (first));
  CALL_VOID(client_core[CORE_END], (uint64_t), (second));
  CALL_VOID(client_core[CORE_END], (uint64_t), (second));
  client_attributes a = named("with attributes");
  CALL(int, client_core[CORE_PUSH_EX], (const client_attributes*), (&a));
  pop();
  CALL(int, client_core[CORE_PUSH_W], (const wchar_t*), (L"pushed wide"));
  pop();
  char buffer[32]; /* names at one address that change */
  for (int i = 0; i < 3; ++i) {
    snprintf(buffer, sizeof buffer, "step %d", i);
    push(buffer);
    pop();
  }
  push("never popped");
}

static void domains(void) {
  void* d = domain("library");
  void* other = domain("other library");
  void* text = string(d, "registered text");
  CALL_VOID(client_domain[DOMAIN_CATEGORY_A], (void*, uint32_t, const char*), (d, 7, "input"));
  client_attributes a = registered(text);
  a.category = 7;
  a.payload_type = 1;
  a.payload.u64 = 99;
  domain_push(d, &a);
  client_attributes b = named("in the other");
  b.category = 8;
  b.payload_type = 5;
  b.payload.i32 = -5;
  domain_push(other, &b);
  domain_pop(d); /* domains have stacks of their own */
  domain_pop(other);
  client_attributes c = named("half");
  c.payload_type = 3;
  c.payload.f64 = 0.5;
  CALL_VOID(client_domain[DOMAIN_MARK_EX], (void*, const client_attributes*), (d, &c));
  client_attributes e = named("started");
  domain_end(d, domain_start(d, &e));
  client_attributes f = named("default domain by handle");
  domain_push(no_domain, &f);
  domain_pop(no_domain);
  CALL_VOID(client_domain[DOMAIN_DESTROY], (void*), (other));
}

static void payload(uint16_t compat) {
  if (!client_attach_payload(compat)) printf("payload extension refused\n");
  void* d = domain("payloads");
  const client_enum_entry colors[] = {{"red", 1, 0}, {"green", 2, 0}};
  const client_enum color = {1 << 2 | 1 << 3 | 1 << 4, NULL, colors, 2, sizeof(int), 0};
  const uint64_t color_id = CALL(uint64_t, client_payload[1], (void*, const client_enum*), (d, &color));
  const client_entry entries[] = {{0, 5, "count", 0, 0, 0, 0, 0},
                                  {0, 20, "ratio", 0, 0, 0, 0, 0},
                                  {0, 22, "bytes", 0, 0, 0, 0, 0},
                                  {0, color_id, "color", 0, 0, 0, 0, 0}};
  client_schema schema = {1 << 2 | 1 << 4 | 1 << 5, "mine", 1, 0, entries, 4, 0, 0, 0};
  const uint64_t id = CALL(uint64_t, client_payload[0], (void*, const client_schema*), (d, &schema));
  schema.mask |= 1 << 8;
  schema.id = (1 << 24) + 77;
  const uint64_t fixed = CALL(uint64_t, client_payload[0], (void*, const client_schema*), (d, &schema));
  printf("ids %s %s %s\n", color_id ? "enum" : "none", id >= (uint64_t)1 << 32 ? "dynamic" : "static",
         fixed == (1 << 24) + 77 ? "kept" : "changed");
  struct {
    int count;
    double ratio;
    size_t bytes;
    int color;
  } value = {-3, 0.25, 1 << 30, 2};
  client_blob blobs[2] = {{id, sizeof value, &value}, {fixed, sizeof value, &value}};
  client_attributes a = with_blob(named("dynamic schema"), blobs, 1);
  domain_push(d, &a);
  domain_pop(d);
  a = with_blob(named("static schema"), blobs + 1, 1);
  domain_push(d, &a);
  domain_pop(d);
  blobs[0].size = 4; /* says less than the schema: only what is there may be read */
  a = with_blob(named("short payload"), blobs, 1);
  domain_push(d, &a);
  domain_pop(d);
  blobs[0].schema = 12345;
  a = with_blob(named("unknown schema"), blobs, 1);
  domain_push(d, &a);
  domain_pop(d);
}

static void nccl(void) {
  client_attach_payload(0x0103);
  void* d = domain("NCCL");
  const client_entry entries[] = {{0, 18, "NCCL communicator ID", 0, 0, 0, 0, 0},
                                  {0, 22, "Message size [bytes]", 0, 0, 8, 0, 0},
                                  {0, (1 << 24) + 11, "Reduction operation", 0, 0, 16, 0, 0},
                                  {0, 0, 0, 0, 0, 0, 0, 0}};
  const client_schema schema = {
      1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8, "AllReduce", 1, 0, entries, 4, 0, 0, (1 << 24) + 5};
  CALL(uint64_t, client_payload[0], (void*, const client_schema*), (d, &schema));
  struct {
    uint64_t communicator;
    size_t bytes;
    int operation;
  } value = {0x00c0ffee12345678u, 4 << 20, 0};
  client_blob blob = {(1 << 24) + 5, sizeof value, &value};
  client_attributes a = with_blob(registered(string(d, "ncclAllReduce")), &blob, 1);
  for (int i = 0; i < 3; ++i) {
    domain_push(d, &a);
    domain_pop(d);
  }
  a = registered(string(d, "ncclGroupEnd"));
  domain_push(d, &a);
  domain_pop(d);
  a = named("ncclReduceScatter"); /* as NCCL 2.11: no payload, no registered string */
  domain_push(d, &a);
  domain_pop(d);
}

static void forks(void) {
  void* d = domain("shared");
  void* text = string(d, "registered before fork");
  push("pushed by parent");
  fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    pop();
    client_attributes a = registered(text);
    domain_push(d, &a);
    domain_pop(d);
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  pop();
}

static void deep(void) {
  for (int i = 0; i < 300; ++i) push("deep");
  for (int i = 0; i < 300; ++i) pop();
  push("after");
  pop();
}

__attribute__((visibility("default"))) int run_scenario(const char* name) {
  printf("attached %d\n", client_attach());
  if (!strcmp(name, "plain")) plain();
  if (!strcmp(name, "domains")) domains();
  if (!strcmp(name, "payload103")) payload(0x0103);
  if (!strcmp(name, "payload104")) payload(0x0104);
  if (!strcmp(name, "payload999")) payload(0x0999);
  if (!strcmp(name, "nccl")) nccl();
  if (!strcmp(name, "fork")) forks();
  if (!strcmp(name, "deep")) deep();
  return 0;
}
