#pragma once
// One fact of an explanation: a closed set of small structs with numbers and names. The room
// wording/ has one function for each fact; it does not compile if one is missing.

#include <variant>

#include "scheduler/model/explanation/hold_facts.hpp"
#include "scheduler/model/explanation/limit_facts.hpp"
#include "scheduler/model/explanation/line_facts.hpp"
#include "scheduler/model/explanation/room_facts.hpp"
#include "scheduler/model/explanation/size_facts.hpp"

namespace gpuctl {

using Fact = std::variant<
    fact::Waits, fact::PoolUnknown, fact::QueueUnknown, fact::QueueHoldsQueues,
    fact::GangSizeUnknown, fact::GangIncomplete, fact::PodsGated, fact::FeatureUnsupported,
    fact::RoomNominated, fact::PodBoundElsewhere, fact::PodGone, fact::BindRefused,
    fact::BindBackoff, fact::GangHalfBound, fact::GangRepair, fact::EvictedBefore,
    fact::QueueIgnored, fact::PodsMissing, fact::ClusterMessage, fact::RanksNotMade,
    fact::ControllerFails, fact::LimitReached, fact::BudgetSpent, fact::Request, fact::PoolEmpty,
    fact::NoNodeMatches, fact::NeverFits, fact::GpusShort, fact::ResourceShort, fact::AlsoShort,
    fact::HostPortTaken, fact::ModelsShort, fact::OtherPools, fact::NamedNodeMissing,
    fact::TopologyShort, fact::MixShort, fact::MixTogether, fact::WindowsClosed,
    fact::ShortJobsFirst, fact::HeadOfLine, fact::HasReservation, fact::NodesKeptForHead,
    fact::DelaysReservation, fact::HeadUnderLimit, fact::LimitReservedForHead, fact::LimitReserved,
    fact::PodsNotEvicted, fact::PreemptsNothing, fact::ElasticSize, fact::SizeShrinks,
    fact::SizeGrows, fact::SizeWaitsForRoom, fact::SizeChangedLast, fact::SizeStays,
    fact::GrowthAhead, fact::GrowthStopped, fact::GrowthWithoutRoom, fact::GrowthDelayed,
    fact::GrowthUndecided, fact::Paused>;

}  // namespace gpuctl
