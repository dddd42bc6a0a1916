// If several papers report a figure for one input, it is the best of them. Targets were chosen from
// bounds and from independent replays of the same files.

#include "bench/replay/published.hpp"

namespace gpuctl::replay {
namespace {

constexpr auto kUnknown = std::nullopt;
constexpr bool kClairvoyant = true;
constexpr bool kBlind = false;

void add(std::vector<PublishedRun>& runs, Suite suite, std::string jobs, bool clairvoyant,
         std::vector<PublishedFigure> figures) {
    runs.push_back(
        {suite, std::move(jobs), "engine", clairvoyant, Overhead::clean, std::move(figures)});
}

// Published: FGD (Weng et al., USENIX ATC 2023).
void add_engine_openb(std::vector<PublishedRun>& runs) {
    const auto add_mix = [&](const char* mix, double fgd, double wanted) {
        add(runs, Suite::openb, std::string{"openb/openb_pod_list_"} + mix + ".csv", kBlind,
            {{"allocation_ratio", fgd, 0, wanted}});
    };
    add_mix("default", 0.9539, 0.961);
    add_mix("cpu100", 0.9535, 0.961);
    add_mix("gpushare40", 0.9415, 0.947);
    add_mix("gpuspec20", 0.9484, 0.959);
    add_mix("multigpu20", 0.9565, 0.965);
}

// Run times given: SRSF with free migration (an independent replay; makespan and p99 under Muri's
// rule). Run times unknown: the best of Themis and Tiresias (Zhao et al., SIGCOMM 2022).
void add_engine_philly(std::vector<PublishedRun>& runs) {
    const auto jobs = [](const char* trace) { return std::string{"philly64/"} + trace + ".csv"; };
    const auto add_reported = [&](const char* trace, std::vector<PublishedFigure> figures) {
        add(runs, Suite::philly64, jobs(trace), kClairvoyant, std::move(figures));
    };
    add_reported("trace1", {{"jct_mean_s", 976'838, 0, 965'000},
                            {"makespan_s", 26.07e6, 0, 23.2e6},
                            {"jct_p99_s", 15.53e6, 0, 15.53e6}});
    add_reported("trace3", {{"jct_mean_s", 184'179, 0, 168'000},
                            {"makespan_s", 8.174e6, 0, kUnknown},
                            {"jct_p99_s", 4.19e6, 0, 4.19e6}});
    add_reported("trace4", {{"jct_mean_s", 481'693, 0, 480'000},
                            {"makespan_s", 14.89e6, 0, 12.4e6},
                            {"jct_p99_s", 7.37e6, 0, 7.37e6}});
    add_reported("trace1_batch", {{"jct_mean_s", 1'794'506, 0, 1'794'506 * 1.002},
                                  {"makespan_s", 24.27e6, 0, 22.4e6}});
    add_reported("trace3_batch",
                 {{"jct_mean_s", 793'690, 0, 790'000}, {"makespan_s", 6.91e6, 0, 6.82e6}});
    const auto add_blind = [&](const char* trace, double best, double wanted) {
        add(runs, Suite::philly64, jobs(trace), kBlind, {{"jct_mean_s", best, 0, wanted}});
    };
    add_blind("trace1", 1.823e6, 1.65e6);
    add_blind("trace3", 347'213, 310'000);
    add_blind("trace4", 995'000, 900'000);
}

// Published: the best of 5,774 variants of EASY (Gaussier et al., SC 2015).
void add_engine_backfill(std::vector<PublishedRun>& runs) {
    const char* jobs = "kth_sp2/jobs.csv";
    add(runs, Suite::backfill, jobs, kBlind,
        {{"avebsld", 45.80, 0, 38},
         {"wait_max_s", kUnknown, 0, 400'000},
         {"flow_mean_s", kUnknown, 0, 13'500}});
    add(runs, Suite::backfill, jobs, kClairvoyant, {{"avebsld", kUnknown, 0, 20}});
}

// Published: Pollux (Qiao et al., OSDI 2021); Shockwave (Zheng et al., NSDI 2023). Nothing is
// published for vc.
void add_engine_others(std::vector<PublishedRun>& runs) {
    add(runs, Suite::elastic, "elastic64/workloads_load10.csv", kBlind,
        {{"jct_mean_s", 2'751, 0, 2'200}});
    const auto add_fairness = [&](bool clairvoyant, double makespan, double jct, double rho,
                                  double unfair) {
        add(runs, Suite::fairness, "fairness32/jobs.csv", clairvoyant,
            {{"makespan_s", 24'197, 0, makespan},
             {"jct_mean_s", 9'958, 0, jct},
             {"rho_max", 1.784, 0, rho},
             {"unfair_ratio", 0.05, 0, unfair}});
    };
    add_fairness(kClairvoyant, 21'600, 7'500, 0.80, 0);
    add_fairness(kBlind, 29'000, 10'500, 1.05, 0.05);
    const auto add_vc = [&](bool clairvoyant, double mean, double p99, double preemptions) {
        add(runs, Suite::vc, "philly_vc/jobs_2017_10.csv", clairvoyant,
            {{"queue_delay_mean_s", kUnknown, 0, mean},
             {"queue_delay_p99_s", kUnknown, 0, p99},
             {"preemptions", kUnknown, 0, preemptions},
             {"guarantee_violations", kUnknown, 0, 0}});
    };
    add_vc(kClairvoyant, 120, 1'800, 25'000);
    add_vc(kBlind, 300, 6'000, 60'000);
}

}  // namespace

std::vector<PublishedRun> engine_runs() {
    std::vector<PublishedRun> runs;
    add_engine_openb(runs);
    add_engine_philly(runs);
    add_engine_backfill(runs);
    add_engine_others(runs);
    return runs;
}

}  // namespace gpuctl::replay
