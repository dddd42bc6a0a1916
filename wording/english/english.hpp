#pragma once
// Each fact in English, with the separator that joins it to the facts before it. Facts whose
// comment says "comes first" have none.

#include <string>

#include "scheduler/model/explanation/change_facts.hpp"
#include "scheduler/model/explanation/fact.hpp"
#include "scheduler/model/explanation/refusal_facts.hpp"

namespace gpuctl::wording::english {

// hold.cpp
std::string words(const fact::Waits& fact);
std::string words(const fact::PoolUnknown& fact);
std::string words(const fact::QueueUnknown& fact);
std::string words(const fact::QueueHoldsQueues& fact);
std::string words(const fact::FeatureUnsupported& fact);
std::string words(const fact::RoomNominated& fact);
std::string words(const fact::PodBoundElsewhere& fact);
std::string words(const fact::PodGone& fact);
std::string words(const fact::BindRefused& fact);
std::string words(const fact::BindBackoff& fact);
std::string words(const fact::EvictedBefore& fact);
std::string words(const fact::QueueIgnored& fact);
std::string words(const fact::PodsMissing& fact);
std::string words(const fact::ClusterMessage& fact);

// gang.cpp
std::string words(const fact::GangSizeUnknown& fact);
std::string words(const fact::GangIncomplete& fact);
std::string words(const fact::PodsGated& fact);
std::string words(const fact::GangHalfBound& fact);
std::string words(const fact::GangRepair& fact);
std::string words(const fact::RanksNotMade& fact);
std::string words(const fact::ControllerFails& fact);

// limit.cpp
std::string words(const fact::LimitReached& fact);
std::string words(const fact::BudgetSpent& fact);
// "queue a of pool gpu", "namespace team".
std::string holder_of(const fact::LimitHolder& limit);

// room.cpp
std::string words(const fact::Request& fact);
std::string words(const fact::NeverFits& fact);
std::string words(const fact::GpusShort& fact);
std::string words(const fact::ResourceShort& fact);
std::string words(const fact::AlsoShort& fact);
std::string words(const fact::HostPortTaken& fact);
std::string words(const fact::ModelsShort& fact);
std::string words(const fact::MixShort& fact);
std::string words(const fact::MixTogether& fact);

// nodes.cpp
std::string words(const fact::PoolEmpty& fact);
std::string words(const fact::NoNodeMatches& fact);
std::string words(const fact::OtherPools& fact);
std::string words(const fact::NamedNodeMissing& fact);
std::string words(const fact::TopologyShort& fact);
std::string words(const fact::WindowsClosed& fact);

// line.cpp
std::string words(const fact::ShortJobsFirst& fact);
std::string words(const fact::HeadOfLine& fact);
std::string words(const fact::HasReservation& fact);
std::string words(const fact::NodesKeptForHead& fact);
std::string words(const fact::DelaysReservation& fact);
std::string words(const fact::HeadUnderLimit& fact);
std::string words(const fact::LimitReservedForHead& fact);
std::string words(const fact::LimitReserved& fact);
std::string words(const fact::PodsNotEvicted& fact);
std::string words(const fact::PreemptsNothing& fact);

// size.cpp
std::string words(const fact::ElasticSize& fact);
std::string words(const fact::SizeShrinks& fact);
std::string words(const fact::SizeGrows& fact);
std::string words(const fact::SizeWaitsForRoom& fact);
std::string words(const fact::SizeChangedLast& fact);
std::string words(const fact::SizeStays& fact);
std::string words(const fact::GrowthAhead& fact);
std::string words(const fact::GrowthStopped& fact);
std::string words(const fact::GrowthWithoutRoom& fact);
std::string words(const fact::GrowthDelayed& fact);
std::string words(const fact::GrowthUndecided& fact);
std::string words(const fact::Paused& fact);

// cause.cpp, without a separator: "preempted for job b", "room for more ranks is idle".
std::string words(const std::string& sentence_of_an_older_version);
std::string words(const cause::HigherPriority& cause);
std::string words(const cause::Reclaimed& cause);
std::string words(const cause::BlocksGuarantee& cause);
std::string words(const cause::ShorterJob& cause);
std::string words(const cause::NearWaitTarget& cause);
std::string words(const cause::MustStartNow& cause);
std::string words(const cause::DueEarlier& cause);
std::string words(const cause::GangLacksRanks& cause);
std::string words(const cause::GangRestarts& cause);
std::string words(const cause::NodeUnhealthy& cause);
std::string words(const cause::NodeDrained& cause);
std::string words(const cause::WindowCloses& cause);
std::string words(const cause::ShrunkFor& cause);
std::string words(const cause::StartsWithAllRanks& cause);
std::string words(const cause::RoomIsIdle& cause);
std::string words(const cause::NoIdleRoom& cause);
std::string words(const cause::GainsLess& cause);
std::string words(const cause::Gain& cause);
std::string words(const cause::OtherGainsMore& cause);
std::string words_of(const Cause& cause);
std::string times_as_fast(std::int64_t tenths);  // "1.5 times as fast"

// change.cpp: the end of a sentence that begins with "it would start".
std::string words(const change::FewerGpus& change);
std::string words(const change::FewerRanks& change);
std::string words(const change::ShorterRunTime& change);
std::string words(const change::OtherQueue& change);
std::string words(const change::OtherPool& change);
std::string words(const change::HigherLimits& change);
std::string words(const change::JobsMove& change);
std::string words(const change::JobEnds& change);
std::string words(const change::MoreNodes& change);
std::string words_of(const ChangeEffect& effect);

// refusal.cpp
std::string words(const refusal::PoolWithoutNodes& refusal);
std::string words(const refusal::LimitTooLow& refusal);
std::string words(const refusal::NoGpuModel& refusal);
std::string words(const refusal::NodesTooSmall& refusal);
std::string words(const refusal::TopologyTooNarrow& refusal);
std::string words_of(const Refusal& refusal);

// lists.cpp: "1m40s", "2d3h", rounded up.
std::string span(Duration length);
// "a, b", and "none" of none.
std::string list_of(const std::vector<std::string>& names);
// The same with "..." where `total` is more.
std::string list_of(const std::vector<std::string>& names, std::int64_t total);

}  // namespace gpuctl::wording::english
