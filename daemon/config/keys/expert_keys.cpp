#include "daemon/config/keys/expert_keys.hpp"

#include "daemon/config/keys/tables.hpp"
#include "policy_document/expert_keys.hpp"

namespace gpuctl::config {

Key<Config> expert_section() {
    std::vector<Key<Config>> members;
    for (Key<PolicyDocument>& key : expert_policy_sections()) {
        members.push_back(of_base<Config>(std::move(key)));
    }
    for (Key<Config>& key : expert_daemon_sections()) members.push_back(std::move(key));
    return group<Config>("expert", std::move(members),
                         "numbers that a policy or a default sets; leave them out unless one of "
                         "these lines describes your cluster");
}

}  // namespace gpuctl::config
