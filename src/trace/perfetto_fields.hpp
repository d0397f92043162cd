// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Field numbers of Perfetto's public trace format, as far as shunt writes it
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
inline constexpr Tag kTimestamp = 8;
inline constexpr Tag kTrustedPacketSequenceId = 10;
inline constexpr Tag kTrackEvent = 11;
inline constexpr Tag kInternedData = 12;
inline constexpr Tag kSequenceFlags = 13;
inline constexpr Tag kTrackDescriptor = 60;
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
namespace process {
inline constexpr Tag kPid = 1;
inline constexpr Tag kName = 6;
}  // namespace process
namespace counter {
inline constexpr Tag kUnitName = 6;
}
namespace event {
inline constexpr Tag kCategoryIids = 3;
inline constexpr Tag kDebugAnnotations = 4;
inline constexpr Tag kType = 9;
inline constexpr Tag kNameIid = 10;
inline constexpr Tag kTrackUuid = 11;
inline constexpr Tag kCounterValue = 30;
inline constexpr Tag kFlowIds = 47;
inline constexpr Tag kTerminatingFlowIds = 48;
}  // namespace event
namespace annotation {
inline constexpr Tag kNameIid = 1;
inline constexpr Tag kIntValue = 4;
}  // namespace annotation
namespace interned {
inline constexpr Tag kEventCategories = 1;
inline constexpr Tag kEventNames = 2;
inline constexpr Tag kDebugAnnotationNames = 3;
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

}  // namespace shunt::trace::field
