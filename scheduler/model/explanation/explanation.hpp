#pragma once
// Why a job waits: a reason and its facts, without text in any language. wording/ makes sentences
// from it (docs/adr/0039).

#include <boost/describe.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "scheduler/model/explanation/fact.hpp"
#include "scheduler/model/reason.hpp"

namespace gpuctl {

// A machine-readable number; scheduler/plan/explain/explain.hpp lists the names.
struct Figure {
    std::string name;
    std::int64_t value = 0;
};
BOOST_DESCRIBE_STRUCT(Figure, (), (name, value))

// The number of nodes of the pool that refuse a rank for this reason, in the words of
// kube-scheduler, e.g. {"Insufficient nvidia.com/gpu", 3}. A node counts once for the first rule
// that refuses the rank (a taint, a selector), or otherwise once for every resource that is short.
// So the sum may exceed the number of nodes.
struct NodeTally {
    std::string message;
    std::int64_t nodes = 0;
};
BOOST_DESCRIBE_STRUCT(NodeTally, (), (message, nodes))

struct Explanation {
    Reason reason = Reason::none;
    std::string subject;          // pool, queue, namespace, resource or feature concerned
    std::vector<Fact> facts;      // in reporting order
    std::vector<Figure> figures;  // the same numbers in machine-readable form
    std::vector<NodeTally> tallies;
    std::int64_t nodes_total = 0;  // nodes of the pool
};
BOOST_DESCRIBE_STRUCT(Explanation, (), (reason, subject, facts, figures, tallies, nodes_total))

}  // namespace gpuctl
