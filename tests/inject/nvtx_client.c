#define _GNU_SOURCE
#include "tests/inject/nvtx_client.h"

#include <dlfcn.h>
#include <stdlib.h>

/* A slot holds the function that would attach first, as long as no tool has replaced it. */
static void not_attached(void) {}

void (*client_core[CORE_SLOTS])(void);
void (*client_domain[DOMAIN_SLOTS])(void);
intptr_t client_payload[64];

static void (**core_table[CORE_SLOTS])(void);
static void (**domain_table[DOMAIN_SLOTS])(void);

static int module_table(uint32_t module, void (****table)(void), unsigned int* slots) {
  if (module == 1) {
    *table = core_table;
    *slots = CORE_SLOTS;
    return 1;
  }
  if (module == 5) {
    *table = domain_table;
    *slots = DOMAIN_SLOTS;
    return 1;
  }
  return 0;
}

static const void* export_table(uint32_t id) {
  static const struct {
    size_t size;
    int (*module_table)(uint32_t, void (****)(void), unsigned int*);
  } callbacks = {sizeof callbacks, module_table};
  return id == 1 ? &callbacks : NULL;
}

static void* injection(const char* symbol) {
  const char* path = getenv("NVTX_INJECTION64_PATH");
  void* library = path ? dlopen(path, RTLD_LAZY) : NULL;
  return library ? dlsym(library, symbol) : NULL;
}

int client_attach(void) {
  int (*initialize)(const void* (*)(uint32_t)) =
      (int (*)(const void* (*)(uint32_t)))injection("InitializeInjectionNvtx2");
  for (int i = 0; i < CORE_SLOTS; ++i) {
    client_core[i] = client_domain[i] = not_attached;
    core_table[i] = i ? &client_core[i] : NULL;
    domain_table[i] = i ? &client_domain[i] : NULL;
  }
  const int attached = initialize && initialize(export_table);
  for (int i = 0; i < CORE_SLOTS; ++i) {
    if (!attached || client_core[i] == not_attached) client_core[i] = NULL;
    if (!attached || client_domain[i] == not_attached) client_domain[i] = NULL;
  }
  return attached;
}

int client_attach_payload(uint16_t compat) {
  struct {
    size_t id, slot_count;
    intptr_t* slots;
  } segment = {0, compat < 0x0104 ? 2 : 63, client_payload};
  struct {
    uint16_t version, size, module, compat;
    size_t segment_count;
    void* segments;
    void* get;
    const void* info;
  } module = {3, sizeof module, 2, compat, 1, &segment, NULL, NULL};
  int (*initialize)(void*) = (int (*)(void*))injection("InitializeInjectionNvtxExtension");
  return initialize && initialize(&module);
}
