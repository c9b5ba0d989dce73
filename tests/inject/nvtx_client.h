/* A client of NVTX 3 that needs no NVTX headers: it loads NVTX_INJECTION64_PATH, lets the tool fill its slots and calls
 * through them, as every library does that was compiled with NVTX. Each program or library that contains this file is
 * a client of its own. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>

typedef struct {
  uint16_t version, size;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type, payload_count;
  union {
    uint64_t u64;
    int64_t i64;
    double f64;
    float f32;
    int32_t i32;
  } payload;
  int32_t message_type;
  union {
    const char* ascii;
    const wchar_t* wide;
    void* registered;
  } message;
} client_attributes;

typedef struct {
  uint64_t schema;
  size_t size;
  const void* bytes;
} client_blob;

typedef struct {
  uint64_t flags, type;
  const char *name, *description;
  uint64_t detail, offset;
  const void *semantics, *reserved;
} client_entry;

typedef struct {
  uint64_t mask;
  const char* name;
  uint64_t type, flags;
  const client_entry* entries;
  size_t entry_count, static_size, pack_align;
  uint64_t id;
} client_schema;

typedef struct {
  const char* name;
  uint64_t value;
  int8_t is_flag;
} client_enum_entry;

typedef struct {
  uint64_t mask;
  const char* name;
  const client_enum_entry* entries;
  size_t entry_count, size;
  uint64_t id;
} client_enum;

/* Slot numbers of the two modules. */
enum {
  CORE_MARK_EX = 1,
  CORE_MARK_A,
  CORE_MARK_W,
  CORE_START_EX,
  CORE_START_A,
  CORE_START_W,
  CORE_END,
  CORE_PUSH_EX,
  CORE_PUSH_A,
  CORE_PUSH_W,
  CORE_POP,
  CORE_CATEGORY_A,
  CORE_SLOTS = 16
};
enum {
  DOMAIN_MARK_EX = 1,
  DOMAIN_START_EX,
  DOMAIN_END,
  DOMAIN_PUSH_EX,
  DOMAIN_POP,
  DOMAIN_CATEGORY_A = 8,
  DOMAIN_STRING_A = 10,
  DOMAIN_STRING_W,
  DOMAIN_CREATE_A,
  DOMAIN_CREATE_W,
  DOMAIN_DESTROY,
  DOMAIN_SLOTS = 16
};

/* 1 when a tool attached; afterwards the slots hold its functions or null. */
int client_attach(void);
/* Attaches the payload extension in the given version of it (0x0103, 0x0104). */
int client_attach_payload(uint16_t compat);

extern void (*client_core[CORE_SLOTS])(void);
extern void (*client_domain[DOMAIN_SLOTS])(void);
extern intptr_t client_payload[64];

/* CALL(result, slot, (argument types), (arguments)): 0 when the slot is empty, as NVTX does. */
#define CALL(result, slot, types, arguments) ((slot) ? ((result(*) types)(slot))arguments : (result)0)
#define CALL_VOID(slot, types, arguments) ((slot) ? ((void(*) types)(slot))arguments : (void)0)
