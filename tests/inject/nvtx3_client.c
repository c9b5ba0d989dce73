/* The same as a real client: compiled with the vendor's headers, where they are. */
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <string.h>

int main(void) {
  nvtxRangePushA("outer");
  nvtxMarkA("a mark");
  nvtxRangePop();
  nvtxRangeEnd(nvtxRangeStartA("started"));

  nvtxDomainHandle_t domain = nvtxDomainCreateA("library");
  nvtxEventAttributes_t attributes;
  memset(&attributes, 0, sizeof attributes);
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  attributes.message.registered = nvtxDomainRegisterStringA(domain, "registered text");
  attributes.category = 7;
  nvtxDomainNameCategoryA(domain, 7, "input");
  attributes.payloadType = NVTX_PAYLOAD_TYPE_UNSIGNED_INT64;
  attributes.payload.ullValue = 99;
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);

  const nvtxPayloadSchemaEntry_t entries[] = {{0, NVTX_PAYLOAD_ENTRY_TYPE_INT, "count", NULL, 0, 0, NULL, NULL},
                                              {0, NVTX_PAYLOAD_ENTRY_TYPE_SIZE, "bytes", NULL, 0, 0, NULL, NULL}};
  nvtxPayloadSchemaAttr_t schema;
  memset(&schema, 0, sizeof schema);
  schema.fieldMask = NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES |
                     NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES;
  schema.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
  schema.entries = entries;
  schema.numEntries = 2;
  struct {
    int count;
    size_t bytes;
  } value = {-3, 4096};
  const nvtxPayloadData_t blob = {nvtxPayloadSchemaRegister(domain, &schema), sizeof value, &value};
  attributes.category = 0;
  attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
  attributes.message.ascii = "with payload";
  attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
  attributes.reserved0 = 1;
  attributes.payload.ullValue = (uint64_t)(uintptr_t)&blob;
  nvtxDomainRangePushEx(domain, &attributes);
  nvtxDomainRangePop(domain);
  return nvtxDomainIsEnabled(domain) ? 0 : 1;
}
