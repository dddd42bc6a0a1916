#include "bench/replay/policies/policies.hpp"

#include "bench/reference/packers.hpp"
#include "bench/reference/planners.hpp"
#include "bench/replay/policies/elastic_policy.hpp"
#include "bench/replay/policies/engine_packer.hpp"
#include "bench/replay/policies/engine_setup.hpp"

namespace gpuctl::replay {
namespace {

constexpr const char* kReferencePlanners = "fifo, srtf, srsf, tiresias, easy, easy_sjbf";
constexpr std::int64_t kMsPerSecond = 1000;
constexpr std::int64_t kMsPerHour = 3600 * kMsPerSecond;

Error refuse(std::string sentence) {
    return make_error(ErrorCode::ValidationFailed, std::move(sentence));
}

Error unknown(const SuiteRequest& request, const std::string& known) {
    if (request.policy == "engine") {
        return refuse("the engine does not replay " + std::string{name_of(request.suite)} +
                      " yet (docs/adr/0009); choose --policy from " + known);
    }
    return refuse("suite " + std::string{name_of(request.suite)} + " has no policy `" +
                  request.policy + "`; choose from " + known);
}

// As published: Muri's three queues for philly64, and one threshold at 16 GPU-hours for elastic.
reference::TiresiasSettings tiresias_for(Suite suite) {
    if (suite == Suite::elastic) return {{16 * kMsPerHour}};
    return {{3'250 * kMsPerSecond, 7'200 * kMsPerSecond}};
}

}  // namespace

Result<std::unique_ptr<Policy>> make_policy(const SuiteRequest& request, const Trace& trace,
                                            const WorldSettings& settings) {
    const std::string& name = request.policy;
    if (name == "engine") {
        auto setup = engine_setup_for(request.suite, request.engine, trace);
        if (!setup) return unknown(request, kReferencePlanners);
        if (request.suite == Suite::elastic) {
            return std::make_unique<ElasticPolicy>(trace, settings, std::move(setup->policy));
        }
        return std::make_unique<EnginePolicy>(trace, settings, std::move(*setup));
    }
    const bool by_run_time = name == "srtf" || name == "srsf";
    const bool by_limit = name == "easy" || name == "easy_sjbf";
    if (by_run_time && !request.clairvoyant) {
        return refuse("policy " + name + " reads true run times; say --clairvoyant");
    }
    if (by_limit && !request.clairvoyant && request.suite != Suite::backfill) {
        return refuse("policy " + name + " needs limits, which only backfill traces have; say " +
                      "--clairvoyant to use true run times");
    }
    if (name == "fifo") return reference::make_fifo();
    if (name == "srtf") return reference::make_srtf();
    if (name == "srsf") return reference::make_srsf();
    if (name == "easy") return reference::make_easy(reference::BackfillOrder::submitted);
    if (name == "easy_sjbf") return reference::make_easy(reference::BackfillOrder::shortest);
    if (name == "tiresias") {
        auto tiresias = reference::make_tiresias(tiresias_for(request.suite));
        if (request.suite != Suite::elastic) return tiresias;
        return reference::make_in_rounds(std::move(tiresias), Duration::seconds(60));
    }
    return unknown(request, std::string{"engine, "} + kReferencePlanners);
}

Result<std::unique_ptr<Packer>> make_packer(const SuiteRequest& request, const PackTrace& trace,
                                            std::uint64_t seed) {
    if (request.policy == "engine") return std::make_unique<EnginePacker>(trace);
    if (request.policy == "random") return reference::make_random(seed);
    if (request.policy == "best_fit") return reference::make_best_fit();
    if (request.policy == "fgd") return reference::make_fgd(trace);
    return unknown(request, "engine, random, best_fit, fgd");
}

}  // namespace gpuctl::replay
