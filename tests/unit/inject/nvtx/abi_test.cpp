// Our declarations of NVTX's interface against the vendor's own headers, where there are any.
#include "collectors/inject/abi/nvtx_abi.h"

#include <doctest/doctest.h>

#if __has_include(<nvtx3/nvToolsExtPayload.h>)
#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

using namespace gradsync::nvtx;

#define SAME_OFFSET(ours, our_field, theirs, their_field) \
  static_assert(offsetof(ours, our_field) == offsetof(theirs, their_field))

static_assert(kTableCallbacks == NVTX_ETID_CALLBACKS && kTableVersion == NVTX_ETID_VERSIONINFO);
static_assert(kModuleCore == NVTX_CB_MODULE_CORE && kModuleCore2 == NVTX_CB_MODULE_CORE2);
static_assert(sizeof(CallbacksTable) == sizeof(NvtxExportTableCallbacks));
static_assert(sizeof(VersionTable) == sizeof(NvtxExportTableVersionInfo));
SAME_OFFSET(CallbacksTable, get_module_function_table, NvtxExportTableCallbacks, GetModuleFunctionTable);
SAME_OFFSET(VersionTable, set_injection_version, NvtxExportTableVersionInfo, SetInjectionNvtxVersion);

static_assert(uint32_t{CoreSlot::count} == NVTX_CBID_CORE_SIZE && uint32_t{DomainSlot::count} == NVTX_CBID_CORE2_SIZE);
static_assert(uint32_t{CoreSlot::mark_ex} == NVTX_CBID_CORE_MarkEx);
static_assert(uint32_t{CoreSlot::range_start_ex} == NVTX_CBID_CORE_RangeStartEx);
static_assert(uint32_t{CoreSlot::range_end} == NVTX_CBID_CORE_RangeEnd);
static_assert(uint32_t{CoreSlot::range_push_ex} == NVTX_CBID_CORE_RangePushEx);
static_assert(uint32_t{CoreSlot::range_push_a} == NVTX_CBID_CORE_RangePushA);
static_assert(uint32_t{CoreSlot::range_pop} == NVTX_CBID_CORE_RangePop);
static_assert(uint32_t{CoreSlot::name_category_a} == NVTX_CBID_CORE_NameCategoryA);
static_assert(uint32_t{CoreSlot::name_os_thread_w} == NVTX_CBID_CORE_NameOsThreadW);
static_assert(uint32_t{DomainSlot::mark_ex} == NVTX_CBID_CORE2_DomainMarkEx);
static_assert(uint32_t{DomainSlot::range_push_ex} == NVTX_CBID_CORE2_DomainRangePushEx);
static_assert(uint32_t{DomainSlot::range_pop} == NVTX_CBID_CORE2_DomainRangePop);
static_assert(uint32_t{DomainSlot::name_category_a} == NVTX_CBID_CORE2_DomainNameCategoryA);
static_assert(uint32_t{DomainSlot::register_string_a} == NVTX_CBID_CORE2_DomainRegisterStringA);
static_assert(uint32_t{DomainSlot::create_a} == NVTX_CBID_CORE2_DomainCreateA);
static_assert(uint32_t{DomainSlot::destroy} == NVTX_CBID_CORE2_DomainDestroy);
static_assert(uint32_t{DomainSlot::initialize} == NVTX_CBID_CORE2_Initialize);

static_assert(sizeof(EventAttributes) == sizeof(nvtxEventAttributes_t));
SAME_OFFSET(EventAttributes, category, nvtxEventAttributes_t, category);
SAME_OFFSET(EventAttributes, payload_type, nvtxEventAttributes_t, payloadType);
SAME_OFFSET(EventAttributes, payload_count, nvtxEventAttributes_t, reserved0);
SAME_OFFSET(EventAttributes, payload, nvtxEventAttributes_t, payload);
SAME_OFFSET(EventAttributes, message_type, nvtxEventAttributes_t, messageType);
SAME_OFFSET(EventAttributes, message, nvtxEventAttributes_t, message);
static_assert(int32_t(MessageType::ascii) == NVTX_MESSAGE_TYPE_ASCII);
static_assert(int32_t(MessageType::wide) == NVTX_MESSAGE_TYPE_UNICODE);
static_assert(int32_t(MessageType::registered) == NVTX_MESSAGE_TYPE_REGISTERED);
static_assert(int32_t(PayloadType::unsigned_int64) == NVTX_PAYLOAD_TYPE_UNSIGNED_INT64);
static_assert(int32_t(PayloadType::float64) == NVTX_PAYLOAD_TYPE_DOUBLE);
static_assert(int32_t(PayloadType::float32) == NVTX_PAYLOAD_TYPE_FLOAT);
static_assert(uint32_t(PayloadType::extended) == uint32_t(NVTX_PAYLOAD_TYPE_EXT));

static_assert(kPayloadModule == NVTX_EXT_PAYLOAD_MODULEID);
static_assert(kPayloadCompat104 == NVTX_EXT_PAYLOAD_COMPATID || kPayloadCompat103 == NVTX_EXT_PAYLOAD_COMPATID);
static_assert(sizeof(ExtensionModule) == sizeof(nvtxExtModuleInfo_t));
static_assert(sizeof(ExtensionSegment) == sizeof(nvtxExtModuleSegment_t));
SAME_OFFSET(ExtensionModule, compat_id, nvtxExtModuleInfo_t, compatId);
SAME_OFFSET(ExtensionModule, segments, nvtxExtModuleInfo_t, segments);
SAME_OFFSET(ExtensionSegment, slots, nvtxExtModuleSegment_t, functionSlots);
static_assert(uint32_t{PayloadSlot::schema_register} == NVTX3EXT_CBID_nvtxPayloadSchemaRegister);
static_assert(uint32_t{PayloadSlot::enum_register} == NVTX3EXT_CBID_nvtxPayloadEnumRegister);
static_assert(sizeof(PayloadBlob) == sizeof(nvtxPayloadData_t));
SAME_OFFSET(PayloadBlob, size, nvtxPayloadData_t, size);
SAME_OFFSET(PayloadBlob, bytes, nvtxPayloadData_t, payload);
static_assert(sizeof(SchemaEntry) == sizeof(nvtxPayloadSchemaEntry_t));
SAME_OFFSET(SchemaEntry, type, nvtxPayloadSchemaEntry_t, type);
SAME_OFFSET(SchemaEntry, name, nvtxPayloadSchemaEntry_t, name);
SAME_OFFSET(SchemaEntry, array_or_union_detail, nvtxPayloadSchemaEntry_t, arrayOrUnionDetail);
SAME_OFFSET(SchemaEntry, offset, nvtxPayloadSchemaEntry_t, offset);
SAME_OFFSET(SchemaAttributes, entries, nvtxPayloadSchemaAttr_t, entries);
SAME_OFFSET(SchemaAttributes, static_size, nvtxPayloadSchemaAttr_t, payloadStaticSize);
SAME_OFFSET(SchemaAttributes, schema_id, nvtxPayloadSchemaAttr_t, schemaId);
SAME_OFFSET(EnumAttributes, entries, nvtxPayloadEnumAttr_t, entries);
SAME_OFFSET(EnumAttributes, schema_id, nvtxPayloadEnumAttr_t, schemaId);
static_assert(sizeof(EnumEntry) == sizeof(nvtxPayloadEnum_t));
static_assert(uint64_t{EntryType::char32} == NVTX_PAYLOAD_ENTRY_TYPE_CHAR32);
static_assert(uint64_t{EntryType::size} == NVTX_PAYLOAD_ENTRY_TYPE_SIZE);
static_assert(uint64_t{EntryType::uint64} == NVTX_PAYLOAD_ENTRY_TYPE_UINT64);
static_assert(uint64_t{EntryType::float128} == NVTX_PAYLOAD_ENTRY_TYPE_FLOAT128);
static_assert(uint64_t{EntryType::tid_uint64} == NVTX_PAYLOAD_ENTRY_TYPE_TID_UINT64);
static_assert(uint64_t{EntryType::cstring_utf32} == NVTX_PAYLOAD_ENTRY_TYPE_CSTRING_UTF32);
static_assert(uint64_t{EntryType::registered_string} == NVTX_PAYLOAD_ENTRY_TYPE_NVTX_REGISTERED_STRING_HANDLE);
static_assert(uint64_t{EntryFlag::pointer} == NVTX_PAYLOAD_ENTRY_FLAG_POINTER);
static_assert(uint64_t{EntryFlag::array_fixed} == NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_FIXED_SIZE);
static_assert((EntryFlag::array_mask & NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX) ==
              NVTX_PAYLOAD_ENTRY_FLAG_ARRAY_LENGTH_PAYLOAD_INDEX);
static_assert(uint64_t{SchemaField::entries} == NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES);
static_assert(uint64_t{SchemaField::alignment} == NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ALIGNMENT);
static_assert(uint64_t{SchemaField::schema_id} == NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID);
static_assert(uint64_t{EnumField::entries} == NVTX_PAYLOAD_ENUM_ATTR_FIELD_ENTRIES);
static_assert(uint64_t{EnumField::schema_id} == NVTX_PAYLOAD_ENUM_ATTR_FIELD_SCHEMA_ID);
static_assert(kSchemaTypeStatic == NVTX_PAYLOAD_SCHEMA_TYPE_STATIC);
static_assert(kStaticSchemaStart == NVTX_PAYLOAD_SCHEMA_ID_STATIC_START);
static_assert(kDynamicSchemaStart == NVTX_PAYLOAD_SCHEMA_ID_DYNAMIC_START);

TEST_CASE("our NVTX declarations match the vendor's headers") { MESSAGE("compared when this file was compiled"); }
#else
TEST_CASE("our NVTX declarations match the vendor's headers") {
  MESSAGE("skipped: no <nvtx3/nvToolsExtPayload.h> here");
}
#endif
