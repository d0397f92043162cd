// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Field numbers of Perfetto's public trace format, as far as shunt writes and reads it
// (perfetto.protos.Trace: protos/perfetto/trace/ of google/perfetto).
#pragma once

#include <cstdint>

#include <protozero/types.hpp>

namespace shunt::trace::field {

using Tag = protozero::pbf_tag_type;

namespace trace {
inline constexpr Tag kPacket = 1;
}
namespace packet {
inline constexpr Tag kClockSnapshot = 6;
inline constexpr Tag kTimestamp = 8;
inline constexpr Tag kTrustedPacketSequenceId = 10;
inline constexpr Tag kTrackEvent = 11;
inline constexpr Tag kInternedData = 12;
inline constexpr Tag kSequenceFlags = 13;
inline constexpr Tag kTraceConfig = 33;
inline constexpr Tag kTraceStats = 35;
inline constexpr Tag kSynchronizationMarker = 36;
inline constexpr Tag kIncrementalStateCleared = 41;
inline constexpr Tag kPreviousPacketDropped = 42;
inline constexpr Tag kProcessDescriptor = 43;
inline constexpr Tag kThreadDescriptor = 44;
inline constexpr Tag kCompressedPackets = 50;
inline constexpr Tag kGpuRenderStageEvent = 53;
inline constexpr Tag kTimestampClockId = 58;
inline constexpr Tag kDefaults = 59;
inline constexpr Tag kTrackDescriptor = 60;
inline constexpr Tag kTraceUuid = 89;
inline constexpr Tag kZstdCompressedPackets = 133;
}  // namespace packet
namespace descriptor {
inline constexpr Tag kUuid = 1;
inline constexpr Tag kName = 2;
inline constexpr Tag kProcess = 3;
inline constexpr Tag kParentUuid = 5;
inline constexpr Tag kCounter = 8;
inline constexpr Tag kChildOrdering = 11;
inline constexpr Tag kSiblingOrderRank = 12;
inline constexpr Tag kDescription = 14;
inline constexpr Tag kSiblingMergeBehavior = 15;
inline constexpr Tag kProcessOrdering = 19;
}  // namespace descriptor
namespace clock_snapshot {
inline constexpr Tag kClocks = 1;
inline constexpr Tag kPrimaryTraceClock = 2;
inline constexpr Tag kClockId = 1;
inline constexpr Tag kTimestamp = 2;
inline constexpr Tag kIsIncremental = 3;
inline constexpr Tag kUnitMultiplierNs = 4;
}  // namespace clock_snapshot
namespace defaults {
inline constexpr Tag kTrackEvent = 11;
inline constexpr Tag kTimestampClockId = 58;
}  // namespace defaults
namespace thread {
inline constexpr Tag kPid = 1;
inline constexpr Tag kTid = 2;
inline constexpr Tag kReferenceTimestampUs = 6;
}  // namespace thread
namespace process {
inline constexpr Tag kPid = 1;
inline constexpr Tag kName = 6;
}  // namespace process
namespace counter {
inline constexpr Tag kUnitName = 6;
}
namespace event {
inline constexpr Tag kTimestampDeltaUs = 1;
inline constexpr Tag kCategoryIids = 3;
inline constexpr Tag kDebugAnnotations = 4;
inline constexpr Tag kLegacyEvent = 6;
inline constexpr Tag kType = 9;
inline constexpr Tag kNameIid = 10;
inline constexpr Tag kTrackUuid = 11;
inline constexpr Tag kTimestampAbsoluteUs = 16;
inline constexpr Tag kCategories = 22;
inline constexpr Tag kName = 23;
inline constexpr Tag kCounterValue = 30;
inline constexpr Tag kFlowIds = 47;
inline constexpr Tag kTerminatingFlowIds = 48;
}  // namespace event
namespace legacy {
inline constexpr Tag kNameIid = 1;
inline constexpr Tag kPhase = 2;
inline constexpr Tag kDurationUs = 3;
inline constexpr Tag kUnscopedId = 6;
inline constexpr Tag kIdScope = 7;
inline constexpr Tag kLocalId = 10;
inline constexpr Tag kGlobalId = 11;
inline constexpr Tag kPidOverride = 18;
inline constexpr Tag kTidOverride = 19;
}  // namespace legacy
namespace annotation {
inline constexpr Tag kNameIid = 1;
inline constexpr Tag kUintValue = 3;
inline constexpr Tag kIntValue = 4;
inline constexpr Tag kStringValue = 6;
inline constexpr Tag kNestedValue = 8;
inline constexpr Tag kLegacyJsonValue = 9;
inline constexpr Tag kName = 10;
inline constexpr Tag kArrayValues = 12;
inline constexpr Tag kStringValueIid = 17;
}  // namespace annotation
namespace nested_value {
inline constexpr Tag kArrayValues = 4;
inline constexpr Tag kIntValue = 5;
inline constexpr Tag kStringValue = 8;
}  // namespace nested_value
namespace render_stage {
inline constexpr Tag kDuration = 2;
inline constexpr Tag kStageIid = 14;
inline constexpr Tag kName = 17;
inline constexpr Tag kKernelIid = 19;
inline constexpr Tag kNameIid = 20;
}  // namespace render_stage
namespace interned {
inline constexpr Tag kEventCategories = 1;
inline constexpr Tag kEventNames = 2;
inline constexpr Tag kDebugAnnotationNames = 3;
inline constexpr Tag kGpuSpecifications = 24;
inline constexpr Tag kDebugAnnotationStringValues = 29;
inline constexpr Tag kComputeKernels = 1000;  ///< An extension (GpuInternedData).
inline constexpr Tag kIid = 1;
inline constexpr Tag kName = 2;
}  // namespace interned

inline constexpr int kSliceBegin = 1;
inline constexpr int kSliceEnd = 2;
inline constexpr int kInstant = 3;
inline constexpr int kCounter = 4;
inline constexpr int kExplicit = 3;           ///< ChildTracksOrdering.
inline constexpr int kProcessesExplicit = 1;  ///< ProcessOrdering.
inline constexpr int kMergeNone = 2;          ///< SiblingMergeBehavior.
inline constexpr std::uint32_t kIncrementalStateCleared = 1;
inline constexpr std::uint32_t kNeedsIncrementalState = 2;
inline constexpr std::uint32_t kClockMonotonic = 3;
inline constexpr std::uint32_t kClockBoottime = 6;
inline constexpr std::uint32_t kFirstSequenceClock = 64;  ///< … to 127: of one sequence only.
inline constexpr std::uint32_t kLastSequenceClock = 127;

}  // namespace shunt::trace::field
