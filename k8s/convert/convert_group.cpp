#include "k8s/convert/convert_group.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "k8s/convert/convert_pod_parts.hpp"
#include "k8s/json/json_cursor.hpp"
#include "k8s/json/object_key.hpp"

namespace gpuctl::k8s {

namespace {

constexpr auto kDialects = std::to_array<GangDialect>({
    {"scheduling.x-k8s.io", "v1alpha1", "podgroups", GangField::min_member},
    {"scheduling.volcano.sh", "v1beta1", "podgroups", GangField::task_member},
    {"scheduling.run.ai", "v2alpha2", "podgroups", GangField::sub_groups},
    {"scheduling.k8s.io", "v1alpha3", "podgroups", GangField::gang_policy},
    {"scheduling.k8s.io", "v1alpha2", "podgroups", GangField::gang_policy},
    {"jobset.x-k8s.io", "v1alpha2", "jobsets", GangField::job_set},
});

std::int32_t bounded(std::int64_t count) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(count, 0, 1'000'000));
}

// spec.schedulingPolicy.gang.minCount
std::int32_t read_gang_policy(JsonCursor& cursor) {
    std::int32_t count = 0;
    cursor.object([&](std::string_view policy) {
        if (policy != "gang") return cursor.skip();
        cursor.object([&](std::string_view key) {
            if (key == "minCount") {
                count = bounded(cursor.integer());
            } else {
                cursor.skip();
            }
        });
    });
    return count;
}

// Volcano's spec.minTaskMember: {"worker": 4}
void read_task_members(JsonCursor& cursor, GangSize& size) {
    cursor.object([&](std::string_view role) {
        const std::int32_t ranks = bounded(cursor.integer());
        if (ranks > 0) size.add({std::string{role}, ranks});
    });
}

// KAI's spec.subGroups: [{"name": "worker", "minMember": 4, "parent": "..."}]; pods are in leaves.
void read_sub_groups(JsonCursor& cursor, GangSize& size) {
    std::vector<std::string> parents;
    cursor.array([&] {
        RoleMinimum minimum;
        cursor.object([&](std::string_view key) {
            if (key == "name") {
                minimum.role = cursor.string();
            } else if (key == "minMember") {
                minimum.ranks = bounded(cursor.integer());
            } else if (key == "parent") {
                parents.emplace_back(cursor.string());
            } else {
                cursor.skip();
            }
        });
        if (minimum.ranks > 0) size.add(minimum);
    });
    std::erase_if(size.roles, [&](const RoleMinimum& one) {
        return std::find(parents.begin(), parents.end(), one.role) != parents.end();
    });
}

void read_size(JsonCursor& cursor, GangField field, GangReading& gang) {
    GangSize& size = gang.size;
    cursor.object([&](std::string_view member) {
        if (field == GangField::gang_policy) {
            if (member != "schedulingPolicy") return cursor.skip();
            size.ranks = read_gang_policy(cursor);
        } else if (member == "minMember") {
            size.ranks = bounded(cursor.integer());
        } else if (member == "queue") {
            gang.note.queue = suggested_queue(cursor.string());
        } else if (field == GangField::task_member && member == "minTaskMember") {
            read_task_members(cursor, size);
        } else if (field == GangField::sub_groups && member == "subGroups") {
            read_sub_groups(cursor, size);
        } else {
            cursor.skip();
        }
    });
    GangSize raised = size;
    raised.raise_to_roles();
    // Volcano fills in minima of tasks by itself, and respects them only within that of the group.
    const bool are_heeded = field != GangField::task_member || raised.ranks == size.ranks;
    if (are_heeded) {
        size = std::move(raised);
    } else {
        size.roles.clear();
    }
}

Result<GangReading> read_pod_group(std::string_view json, GangField field) {
    JsonCursor cursor{json};
    GangReading gang;
    ObjectKey& key = gang.job;
    cursor.object([&](std::string_view member) {
        if (member == "metadata") {
            read_object_key(cursor, key);
        } else if (member == "spec") {
            read_size(cursor, field, gang);
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || key.name.empty()) return unreadable_object("a PodGroup");
    key.name = std::string{kForeignGangPrefix} + key.name;
    return gang;
}

// One entry of spec.replicatedJobs.
struct ReplicatedJob {
    std::int64_t replicas = 1;
    std::int64_t parallelism = 1;
    std::optional<std::int64_t> completions;
    OwnValue gang;  // of its pod template
    bool depends = false;
};

void read_job_template(JsonCursor& cursor, const LabelKeys& labels, ReplicatedJob& job) {
    const auto member = [&](std::string_view wanted, const auto& read) {
        cursor.object([&](std::string_view key) {
            if (key == wanted) {
                read();
            } else {
                cursor.skip();
            }
        });
    };
    cursor.object([&](std::string_view key) {
        if (key != "spec") return cursor.skip();
        cursor.object([&](std::string_view of_job) {
            if (of_job == "parallelism") {
                job.parallelism = cursor.integer();
            } else if (of_job == "completions") {
                job.completions = cursor.integer();
            } else if (of_job == "template") {
                member("metadata", [&] {
                    member("labels", [&] {
                        cursor.object([&](std::string_view label) {
                            const std::string_view value = cursor.string();
                            const auto found = labels.recognise(label);
                            if (found.key == OwnKey::gang) job.gang.offer(value, found.old_prefix);
                        });
                    });
                });
            } else {
                cursor.skip();
            }
        });
    });
}

ReplicatedJob read_replicated_job(JsonCursor& cursor, const LabelKeys& labels) {
    ReplicatedJob job;
    cursor.object([&](std::string_view key) {
        if (key == "replicas") {
            job.replicas = cursor.integer();
        } else if (key == "template") {
            read_job_template(cursor, labels, job);
        } else if (key == "dependsOn") {
            cursor.array([&] {
                job.depends = true;
                cursor.skip();
            });
        } else {
            cursor.skip();
        }
    });
    return job;
}

struct JobSetParts {
    ObjectKey key;
    std::vector<ReplicatedJob> jobs;
    bool is_in_order = false;
    std::int64_t restarts = 0;
};

void read_job_set_spec(JsonCursor& cursor, const LabelKeys& labels, JobSetParts& set) {
    cursor.object([&](std::string_view member) {
        if (member == "replicatedJobs") {
            cursor.array([&] { set.jobs.push_back(read_replicated_job(cursor, labels)); });
        } else if (member == "startupPolicy") {
            cursor.object([&](std::string_view key) {
                if (key == "startupPolicyOrder") {
                    set.is_in_order = cursor.string() == "InOrder";
                } else {
                    cursor.skip();
                }
            });
        } else {
            cursor.skip();
        }
    });
}

// All pods of the jobs whose templates name the gang, at one time.
GangReading gang_in(const JobSetParts& set, std::string_view named) {
    GangReading gang;
    gang.job = {set.key.namespace_name,
                job_set_gang(named, set.key.name, std::to_string(set.restarts))};
    gang.note.is_derived = true;
    std::int64_t ranks = 0;
    std::size_t jobs = 0;
    bool depends = false;
    for (const ReplicatedJob& job : set.jobs) {
        if (job.gang.text != named) continue;
        ++jobs;
        depends = depends || job.depends;
        const std::int64_t pods = std::min(job.parallelism, job.completions.value_or(INT64_MAX));
        ranks += bounded(job.replicas) * std::int64_t{bounded(pods)};
        ranks = bounded(ranks);
    }
    gang.size.ranks = bounded(ranks);
    const std::string name = "JobSet " + set.key.name;
    if (depends) {
        gang.note.made_in_turn = name + ", in which one job depends on another (dependsOn)";
    } else if (set.is_in_order && jobs > 1) {
        gang.note.made_in_turn = name + ", whose startupPolicy is InOrder";
    }
    return gang;
}

Result<std::vector<GangReading>> read_job_set(std::string_view json, const LabelKeys& labels) {
    JsonCursor cursor{json};
    JobSetParts set;
    cursor.object([&](std::string_view member) {
        if (member == "metadata") {
            read_object_key(cursor, set.key);
        } else if (member == "spec") {
            read_job_set_spec(cursor, labels, set);
        } else if (member == "status") {
            cursor.object([&](std::string_view key) {
                if (key == "restarts") {
                    set.restarts = std::max<std::int64_t>(cursor.integer(), 0);
                } else {
                    cursor.skip();
                }
            });
        } else {
            cursor.skip();
        }
    });
    if (!cursor.ok() || set.key.name.empty()) return unreadable_object("a JobSet");
    std::set<std::string_view> named;
    std::vector<GangReading> gangs;
    for (const ReplicatedJob& job : set.jobs) {
        if (job.gang.text.empty() || !named.insert(job.gang.text).second) continue;
        gangs.push_back(gang_in(set, job.gang.text));
    }
    return gangs;
}

}  // namespace

std::span<const GangDialect> gang_dialects() { return kDialects; }

Result<std::vector<GangReading>> read_gangs(std::string_view json, GangField field,
                                            const LabelKeys& labels) {
    if (field == GangField::job_set) return read_job_set(json, labels);
    Result<GangReading> one = read_pod_group(json, field);
    if (!one) return one.error();
    return std::vector<GangReading>{std::move(*one)};
}

}  // namespace gpuctl::k8s
