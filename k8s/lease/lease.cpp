#include "k8s/lease/lease.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "text/time.hpp"

namespace gpuctl::k8s {

namespace {

// A whole number of seconds on the wire; rounded up, so that candidates never wait less than we
// hold.
std::int64_t whole_seconds(std::chrono::milliseconds span) {
    return std::chrono::ceil<std::chrono::seconds>(span).count();
}

std::string text_of(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_string() ? found->get<std::string>() : std::string{};
}

std::int64_t number_of(const nlohmann::json& object, const char* key) {
    const auto found = object.find(key);
    return found != object.end() && found->is_number_integer() ? found->get<std::int64_t>() : 0;
}

}  // namespace

Result<void> validate(const LeaseSettings& settings) {
    const auto refuse = [](std::string why) {
        return make_error(ErrorCode::InvalidConfiguration, "lease: " + std::move(why));
    };
    if (settings.namespace_name.empty() || settings.name.empty() || settings.identity.empty()) {
        return refuse("namespace, name and identity must not be empty");
    }
    if (settings.retry_period.count() <= 0) return refuse("retry period must be positive");
    if (settings.duration <= settings.renew_deadline) {
        return refuse("duration (" + std::to_string(settings.duration.count()) +
                      " ms) must be longer than the renew deadline (" +
                      std::to_string(settings.renew_deadline.count()) + " ms)");
    }
    if (settings.renew_deadline.count() * 5 <= settings.retry_period.count() * 6) {
        return refuse("the renew deadline (" + std::to_string(settings.renew_deadline.count()) +
                      " ms) must be longer than 1.2 times the retry period (" +
                      std::to_string(settings.retry_period.count()) + " ms)");
    }
    return {};
}

Result<LeaseRecord> parse_lease(std::string_view object) {
    const auto json = nlohmann::json::parse(object, nullptr, false);
    const auto metadata = json.is_object() ? json.find("metadata") : json.end();
    if (!json.is_object() || metadata == json.end() || !metadata->is_object()) {
        return make_error(ErrorCode::ProtocolError,
                          "read the lease: the answer is not a Lease object; trying again");
    }
    LeaseRecord record;
    record.resource_version = text_of(*metadata, "resourceVersion");
    const auto spec = json.find("spec");
    if (spec == json.end() || !spec->is_object()) return record;  // made by hand, never held
    record.holder = text_of(*spec, "holderIdentity");
    record.duration_seconds = number_of(*spec, "leaseDurationSeconds");
    record.acquire_time = text_of(*spec, "acquireTime");
    record.renew_time = text_of(*spec, "renewTime");
    record.transitions = number_of(*spec, "leaseTransitions");
    return record;
}

std::string lease_body(const LeaseSettings& settings, const LeaseRecord& record) {
    nlohmann::json metadata{{"name", settings.name}, {"namespace", settings.namespace_name}};
    if (!record.resource_version.empty()) metadata["resourceVersion"] = record.resource_version;
    const nlohmann::json body{{"apiVersion", "coordination.k8s.io/v1"},
                              {"kind", "Lease"},
                              {"metadata", metadata},
                              {"spec",
                               {{"holderIdentity", record.holder},
                                {"leaseDurationSeconds", record.duration_seconds},
                                {"acquireTime", record.acquire_time},
                                {"renewTime", record.renew_time},
                                {"leaseTransitions", record.transitions}}}};
    return body.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

LeaseMachine::Step LeaseMachine::begin(Time now, std::int64_t wall_us) {
    expire(now);
    creating_ = false;
    found_ = Before::unknown;
    fast_path_used_ = leading_ && !must_read_;
    if (fast_path_used_) return {Send::update, claim(wall_us)};
    return {Send::read, {}};
}

LeaseMachine::Step LeaseMachine::on_read(std::optional<LeaseRecord> found, Time now,
                                         std::int64_t wall_us) {
    expire(now);
    if (!found) {
        if (leading_) step_down();  // the Lease was deleted: the term ends
        have_observed_ = false;
        observed_ = {};
        creating_ = true;
        return {Send::create, claim(wall_us)};
    }
    const bool is_first_look = !have_observed_;
    const bool has_changed = observe(*found, now);
    must_read_ = false;
    const bool ours = found->holder == settings_.identity;
    if (leading_ && (!ours || Epoch{static_cast<std::uint64_t>(found->transitions)} != epoch_)) {
        step_down();
        must_read_ = false;
    }
    if (!ours && !found->holder.empty()) {
        // The duration is that of the holder's record; the time of the last change is measured on
        // our own clock.
        const auto patience =
            std::max(std::chrono::seconds{found->duration_seconds}, std::chrono::seconds{1});
        if (now - observed_at_ < patience) {
            if (has_changed && !is_first_look) return {};  // the holder renewed
            return {Send::ask, observed_};
        }
    }
    // Where a lease lasts a second or less, an edit by hand looks like a release.
    if (found->is_released() && settings_.duration > std::chrono::seconds{1}) {
        found_ = Before::released;
    }
    return {Send::update, claim(wall_us)};
}

LeaseMachine::Step LeaseMachine::on_asked(bool is_dead, Time now, std::int64_t wall_us) {
    expire(now);
    if (!is_dead) return {};
    found_ = Before::died;
    return {Send::update, claim(wall_us)};
}

void LeaseMachine::on_written(LeaseRecord stored, Time sent_at, Time now) {
    observe(stored, now);
    must_read_ = false;
    if (!leading_) {
        leading_ = true;
        epoch_ = Epoch{static_cast<std::uint64_t>(stored.transitions)};
        writes_from_ = creating_ ? now + settings_.fence() : Time::min();
        before_ = found_;
    }
    renewed_sent_at_ = sent_at;
    expire(now);  // the answer itself may have taken too long
}

LeaseMachine::Step LeaseMachine::on_write_failed(bool conflict, Time now) {
    must_read_ = true;
    expire(now);
    // A conflict on the fast path may be an administrator's edit: read at once. On the slow path
    // another candidate was first: this round is lost.
    if (conflict && std::exchange(fast_path_used_, false)) return {Send::read, {}};
    return {};
}

void LeaseMachine::on_read_failed(Time now) { expire(now); }

void LeaseMachine::expire(Time now) {
    if (leading_ && now - renewed_sent_at_ >= settings_.renew_deadline) step_down();
}

std::optional<LeaseRecord> LeaseMachine::release(Time now, std::int64_t wall_us) {
    expire(now);
    if (!leading_) return std::nullopt;
    LeaseRecord record = claim(wall_us);
    record.holder.clear();
    record.duration_seconds = 1;
    step_down();
    return record;
}

bool LeaseMachine::observe(const LeaseRecord& record, Time now) {
    if (have_observed_ && record == observed_) return false;
    observed_ = record;
    transitions_most_ = std::max(transitions_most_, record.transitions);
    observed_at_ = now;
    have_observed_ = true;
    return true;
}

void LeaseMachine::step_down() {
    leading_ = false;
    must_read_ = true;
}

LeaseRecord LeaseMachine::claim(std::int64_t wall_us) const {
    LeaseRecord record = observed_;
    record.holder = settings_.identity;
    record.duration_seconds = whole_seconds(settings_.duration);
    record.renew_time = text::format_rfc3339_us(wall_us);
    if (!leading_) {
        record.acquire_time = record.renew_time;
        record.transitions = transitions_most_ + 1;
    }
    return record;
}

}  // namespace gpuctl::k8s
