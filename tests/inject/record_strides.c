// Which record lengths a libcupti works with: its own cuptiActivityGetNextRecord is asked, on buffers made by hand.
// Needs no driver. Prints the version, then a line "kind bytes" for each.
// usage: record_strides LIBCUPTI
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int (*version_fn)(uint32_t*);
typedef int (*next_fn)(uint8_t*, size_t, uint8_t**);

static const struct {
  const char* name;
  uint32_t kind;
} kinds[] = {
    {"memcpy", 1},    {"memset", 2},       {"driver", 4},           {"runtime", 5},     {"concurrent_kernel", 10},
    {"overhead", 17}, {"memcpy_peer", 22}, {"synchronization", 38}, {"graph_trace", 51}};

int main(int count, char** words) {
  void* library = count == 2 ? dlopen(words[1], RTLD_LAZY) : NULL;
  if (library == NULL) {
    fprintf(stderr, "usage: record_strides LIBCUPTI: %s\n", count == 2 ? dlerror() : "which one?");
    return 2;
  }
  version_fn version = (version_fn)dlsym(library, "cuptiGetVersion");
  next_fn next = (next_fn)dlsym(library, "cuptiActivityGetNextRecord");
  uint32_t number = 0;
  if (version == NULL || next == NULL || version(&number) != 0) return 3;
  printf("version %u\n", number);
  enum { WORDS = 256 };
  static uint64_t buffer[WORDS];
  for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; ++i) {
    for (int word = 0; word < WORDS; ++word) buffer[word] = kinds[i].kind;  // a record may begin at each
    uint8_t* record = NULL;
    if (next((uint8_t*)buffer, sizeof buffer, &record) != 0 || record == NULL) continue;
    uint8_t* first = record;
    if (next((uint8_t*)buffer, sizeof buffer, &record) != 0) continue;
    printf("%s %td\n", kinds[i].name, record - first);
  }
  return 0;
}
