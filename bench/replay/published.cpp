#include "bench/replay/published.hpp"

namespace gpuctl::replay {
namespace {

// The published value is met to its last printed digit.
constexpr double kTenth = 0.05;
constexpr double kTenThousand = 5'000;

// Zhao et al., SIGCOMM 2022 (Muri), under Muri's own overhead rule.
void add_philly(std::vector<PublishedRun>& runs) {
    const auto add = [&](std::string trace, std::string policy, double jct, double jct_digit,
                         double makespan_millions, double p99_millions) {
        PublishedRun run{Suite::philly64, "philly64/" + trace + ".csv",    std::move(policy), true,
                         Overhead::muri,  {{"jct_mean_s", jct, jct_digit}}};
        if (makespan_millions > 0) {
            const double digit = jct_digit > 0 ? kTenThousand : 0;
            run.figures.push_back({"makespan_s", makespan_millions * 1e6, digit});
        }
        if (p99_millions > 0) {
            run.figures.push_back({"jct_p99_s", p99_millions * 1e6, kTenThousand});
        }
        runs.push_back(std::move(run));
    };
    add("trace1", "srtf", 1'370'603.2, kTenth, 26.05, 16.65);
    add("trace1", "srsf", 980'140.6, kTenth, 26.07, 15.53);
    add("trace3", "srtf", 193'081.8, kTenth, 8.174, 4.54);
    add("trace3", "srsf", 185'021.9, kTenth, 8.174, 4.19);
    add("trace4", "srtf", 581'982.9, kTenth, 14.79, 7.77);
    add("trace4", "srsf", 487'167.2, kTenth, 14.89, 7.37);
    // These two are not among the figures that validate a world: SRTF meets them, SRSF misses them
    // by 0.02 % and 0.0002 % (docs/adr/0009).
    add("trace1_batch", "srtf", 2'303'544, 0, 24.51, 0);
    add("trace1_batch", "srsf", 1'801'860, 0, 24.27, 0);
    add("trace3_batch", "srtf", 844'395, 0, 7.26, 0);
    add("trace3_batch", "srsf", 798'058, 0, 6.91, 0);
}

// The default overhead rule has no published figures. These are from an independent replay.
void add_philly_clean(std::vector<PublishedRun>& runs) {
    const std::pair<const char*, double> figures[] = {{"trace1", 976'838},
                                                      {"trace3", 184'179},
                                                      {"trace4", 481'693},
                                                      {"trace1_batch", 1'794'506},
                                                      {"trace3_batch", 793'690}};
    for (const auto& [trace, jct] : figures) {
        runs.push_back({Suite::philly64,
                        std::string{"philly64/"} + trace + ".csv",
                        "srsf",
                        true,
                        Overhead::clean,
                        {{"jct_mean_s", jct, 0}}});
    }
    const std::pair<const char*, double> tiresias[] = {
        {"trace1", 3'330'371}, {"trace3", 347'213}, {"trace4", 1'319'383}};
    for (const auto& [trace, jct] : tiresias) {
        runs.push_back({Suite::philly64,
                        std::string{"philly64/"} + trace + ".csv",
                        "tiresias",
                        false,
                        Overhead::clean,
                        {{"jct_mean_s", jct, 0}}});
    }
}

// Gaussier et al., SC 2015.
void add_backfill(std::vector<PublishedRun>& runs) {
    const std::string jobs = "kth_sp2/jobs.csv";
    constexpr auto kClean = Overhead::clean;
    runs.push_back(
        {Suite::backfill,
         jobs,
         "easy",
         false,
         kClean,
         {{"avebsld", 92.6, 0.5}, {"bsld_max", 14'805.2, kTenth}, {"flow_mean_s", 15'697, 0}}});
    runs.push_back({Suite::backfill,
                    jobs,
                    "easy_sjbf",
                    false,
                    kClean,
                    {{"avebsld", 69.41, 0}, {"flow_mean_s", 14'764, 0}}});
    runs.push_back({Suite::backfill,
                    jobs,
                    "easy",
                    true,
                    kClean,
                    {{"avebsld", 71.72, 0}, {"bsld_max", 10'017, 0}, {"flow_mean_s", 15'188, 0}}});
    runs.push_back({Suite::backfill,
                    jobs,
                    "easy_sjbf",
                    true,
                    kClean,
                    {{"avebsld", 49.85, 0}, {"bsld_max", 9'942, 0}, {"flow_mean_s", 14'296, 0}}});
}

// Weng et al., USENIX ATC 2023: mean of ten seeds at 130 % arrivals.
void add_openb(std::vector<PublishedRun>& runs) {
    struct Mix {
        const char* name;
        double random, best_fit, fgd;
        double random_tolerance, best_fit_tolerance;
    };
    constexpr Mix kMixes[] = {{"default", 0.875, 0.931, 0.9539, 0.004, 0.003},
                              {"cpu100", 0.8911, 0.9344, 0.9535, 0, 0},
                              {"gpushare40", 0.86, 0.9169, 0.9415, 0, 0},
                              {"gpuspec20", 0.8724, 0.933, 0.9484, 0, 0},
                              {"multigpu20", 0.8869, 0.9393, 0.9565, 0, 0}};
    for (const Mix& mix : kMixes) {
        const std::string jobs = std::string{"openb/openb_pod_list_"} + mix.name + ".csv";
        const auto add = [&](const char* policy, double value, double tolerance) {
            runs.push_back({Suite::openb,
                            jobs,
                            policy,
                            false,
                            Overhead::clean,
                            {{"allocation_ratio", value, tolerance}}});
        };
        add("random", mix.random, mix.random_tolerance);
        add("best_fit", mix.best_fit, mix.best_fit_tolerance);
        add("fgd", mix.fgd, 0);
    }
}

// Qiao et al., OSDI 2021. The figures of the other two suites are from an independent replay.
void add_others(std::vector<PublishedRun>& runs) {
    constexpr auto kClean = Overhead::clean;
    runs.push_back({Suite::elastic,
                    "elastic64/workloads_load10.csv",
                    "tiresias",
                    false,
                    kClean,
                    {{"jct_mean_s", 4'038, 4'038 * 0.03},
                     {"jct_p50_s", 988, 0},
                     {"jct_p99_s", 57'687, 0},
                     {"jct_max_s", 90'301, 0}}});
    const auto add_fairness = [&](const char* policy, bool clairvoyant, double makespan, double jct,
                                  double rho, double unfair) {
        runs.push_back({Suite::fairness,
                        "fairness32/jobs.csv",
                        policy,
                        clairvoyant,
                        kClean,
                        {{"makespan_s", makespan, 0},
                         {"jct_mean_s", jct, 0},
                         {"rho_max", rho, 0},
                         {"unfair_ratio", unfair, 0}}});
    };
    add_fairness("fifo", false, 31'331, 9'309, 4.87, 0.25);
    add_fairness("srtf", true, 31'066, 7'110, 0.72, 0);
    const auto add_vc = [&](const char* policy, bool clairvoyant, double mean, double p99,
                            double preemptions) {
        runs.push_back({Suite::vc,
                        "philly_vc/jobs_2017_10.csv",
                        policy,
                        clairvoyant,
                        kClean,
                        {{"queue_delay_mean_s", mean, 0},
                         {"queue_delay_p99_s", p99, 0},
                         {"preemptions", preemptions, 0}}});
    };
    add_vc("fifo", false, 1'644, 39'546, 0);
    add_vc("srtf", true, 87, 0, 78'270);
    add_vc("srsf", true, 85, 0, 24'720);
}

}  // namespace

std::vector<PublishedRun> published_runs() {
    std::vector<PublishedRun> runs;
    add_openb(runs);
    add_philly(runs);
    add_philly_clean(runs);
    add_backfill(runs);
    add_others(runs);
    for (PublishedRun& run : engine_runs()) runs.push_back(std::move(run));
    return runs;
}

}  // namespace gpuctl::replay
