#include "collectors/inject/nccl/work.h"

#include <string.h>

#include "collectors/inject/abi/nccl_abi.h"
#include "collectors/inject/nccl/calls.h"
#include "collectors/inject/nccl/thread.h"
#include "src/spool_writer/atomics.h"
#include "src/spool_writer/gsd.h"

namespace gradsync::nccl {
namespace {

// The enumerations of version 1; later versions pass the words.
constexpr const char* kFunctions[] = {"Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce"};
constexpr const char* kAlgorithms[] = {"TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
constexpr const char* kProtocols[] = {"LL", "LL128", "SIMPLE"};
constexpr uint8_t kSendV1 = 6, kReceiveV1 = 7;

template <size_t kCount>
uint32_t word(const char* const (&words)[kCount], uint8_t index) {
  return index < kCount ? gsd_string(words[index], -1) : 0;
}

// NCCL's words for types, from version 2 on: those of nccl.h.
constexpr const char* kTypes[kDataTypes] = {"ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
                                            "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
                                            "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};

const DataType* type_named(const char* word) {
  static uint32_t last;  // a job has one or two
  const uint32_t likely = spool::load_relaxed(&last);
  if (word == nullptr || strcmp(kTypes[likely], word) == 0) return word == nullptr ? nullptr : &kDataTypeTable[likely];
  for (uint32_t i = 0; i < kDataTypes; ++i) {
    if (strcmp(kTypes[i], word) != 0) continue;
    spool::store_relaxed(&last, i);
    return &kDataTypeTable[i];
  }
  return nullptr;
}

void set_amount(Work& work, size_t count, const DataType* type) {
  if (type == nullptr) return;
  work.bytes = count * type->bytes;
  work.type = type;
}

Work read_v1(const CollectiveV1& told) {
  Work work = {};
  work.communicator = told.communicator;
  if (told.function < 5) work.call = call_of_word(kFunctions[told.function]);
  set_amount(work, told.count, data_type(told.data_type));
  work.algorithm = word(kAlgorithms, told.algorithm);
  work.protocol = word(kProtocols, told.protocol);
  work.channels = told.most_channels;
  return work;
}

// Versions 2 to 6 differ in where things are.
template <typename Collective>
Work read_words(const Collective& told, uint64_t communicator, uint8_t channels) {
  Work work = {};
  work.communicator = communicator;
  work.call = call_of_word(told.function);
  set_amount(work, told.count, type_named(told.data_type));
  work.algorithm = t_nccl.names.id_of(told.algorithm);
  work.protocol = t_nccl.names.id_of(told.protocol);
  work.channels = channels;
  return work;
}

}  // namespace

uint64_t type_of(int version, const void* descriptor) {
  return version < 5 ? *static_cast<const uint8_t*>(descriptor) : *static_cast<const uint64_t*>(descriptor);
}

Work read_collective(int version, const void* descriptor) {
  if (version == 1) return read_v1(*static_cast<const CollectiveV1*>(descriptor));
  if (version == 2) {
    const auto& told = *static_cast<const CollectiveV2*>(descriptor);
    return read_words(told, told.communicator, told.most_channels);
  }
  if (version == 3) {
    const auto& told = *static_cast<const CollectiveV3*>(descriptor);
    return read_words(told, told.communicator, told.most_channels);
  }
  const auto& told = *static_cast<const CollectiveV4*>(descriptor);  // versions 5 and 6 begin alike
  return read_words(told, 0, told.channels);
}

Work read_copy_engine(const void* descriptor) {
  const auto& told = *static_cast<const CopyEngineCollectiveV6*>(descriptor);
  Work work = {};
  work.call = call_of_word(told.function);
  set_amount(work, told.count, type_named(told.data_type));
  return work;
}

Work read_point_to_point(int version, const void* descriptor) {
  Work work = {};
  if (version == 1) {
    const auto& told = *static_cast<const PointToPointV1*>(descriptor);
    work.communicator = told.communicator;
    work.call = call_of_word(told.function == kSendV1 ? "Send" : told.function == kReceiveV1 ? "Recv" : nullptr);
    set_amount(work, told.count, data_type(told.data_type));
    return work;
  }
  if (version < 4) {
    const auto& told = *static_cast<const PointToPointV2*>(descriptor);
    work.communicator = told.communicator;
    work.call = call_of_word(told.function);
    set_amount(work, told.count, type_named(told.data_type));
    return work;
  }
  const auto& told = *static_cast<const PointToPointV4*>(descriptor);
  work.call = call_of_word(told.function);
  set_amount(work, told.count, type_named(told.data_type));
  work.channels = told.channels;
  return work;
}

}  // namespace gradsync::nccl
