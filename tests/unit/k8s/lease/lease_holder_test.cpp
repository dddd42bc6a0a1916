#include "k8s/lease/lease_holder.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

namespace gpuctl::k8s {
namespace {

const PodIdentity kPod{"gpuctl-system", "gpuctld-7c9d-x2x", "3f6d2a1c-0b1e", "gpuctld"};

LeaseHolder holder_of(std::uint64_t pid_namespace, std::int64_t pid, const std::string& process) {
    return {kPod, pid_namespace, pid, process};
}

ApiResult<ApiResponse> pod_with(const std::string& uid) {
    return ApiResponse{
        200, R"({"kind":"Pod","metadata":{"name":"gpuctld-7c9d-x2x","uid":")" + uid + R"("}})"};
}

ApiResult<ApiResponse> refusal(ErrorCode code, int status, const std::string& reason) {
    ApiError error = make_api_error(code, "refused");
    error.http_status = status;
    error.reason = reason;
    return error;
}

bool nothing_runs(std::int64_t) { return false; }
bool all_runs(std::int64_t) { return true; }

TEST(LeaseHolder, an_identity_without_a_pod_is_this_host_and_a_fresh_uuid) {
    const std::string one = make_lease_identity({});
    EXPECT_NE(one, make_lease_identity({}));
    EXPECT_EQ(one.size() - one.rfind('_') - 1, 36u);
    EXPECT_FALSE(parse_lease_holder(one));
}

TEST(LeaseHolder, an_identity_in_a_pod_names_the_pod_and_is_unique_to_the_process) {
    const std::string one = make_lease_identity(kPod);
    EXPECT_NE(one, make_lease_identity(kPod));
    const auto holder = parse_lease_holder(one);
    ASSERT_TRUE(holder) << one;
    EXPECT_EQ(holder->pod, kPod);
    EXPECT_EQ(holder->pid, ::getpid());
    EXPECT_NE(holder->pid_namespace, 0u);
    EXPECT_EQ(to_text(*holder), one);
}

TEST(LeaseHolder, text_that_is_no_identity_of_a_pod_is_rejected) {
    for (const char* text : {"", "host_uuid", "a_b_c_d_1.2", "a_b_c_d_1.2_", "_b_c_d_1.2_e",
                             "a_b_c_d_12_e", "a_b_c_d_x.2_e", "a_b_c_d_1.2x_e", "a_b_c_d_1.2_e_f",
                             "a_b_c_d_99999999999999999999999.1_e"}) {
        EXPECT_FALSE(parse_lease_holder(text)) << text;
    }
}

TEST(LeaseHolder, a_pod_that_is_gone_or_was_replaced_is_proof) {
    const LeaseHolder holder = holder_of(7, 1, "p");
    EXPECT_TRUE(
        is_provably_dead(holder, {}, refusal(ErrorCode::NotFound, 404, "NotFound"), all_runs));
    EXPECT_TRUE(is_provably_dead(holder, {}, pod_with("another"), all_runs));
}

TEST(LeaseHolder, errors_and_answers_that_are_no_pod_prove_nothing) {
    const LeaseHolder holder = holder_of(7, 1, "p");
    for (const auto& answer :
         {refusal(ErrorCode::NotFound, 404, ""), refusal(ErrorCode::Forbidden, 403, "Forbidden"),
          refusal(ErrorCode::Timeout, 0, ""), refusal(ErrorCode::ClusterUnavailable, 503, ""),
          refusal(ErrorCode::Gone, 410, "Expired"), ApiResult<ApiResponse>{ApiResponse{200, "{}"}},
          ApiResult<ApiResponse>{ApiResponse{200, "<html>"}},
          ApiResult<ApiResponse>{
              ApiResponse{200, R"({"metadata":{"name":"another","uid":"another"}})"}}}) {
        EXPECT_FALSE(is_provably_dead(holder, holder_of(8, 1, "q"), answer, nothing_runs));
    }
}

TEST(LeaseHolder, the_same_pod_proves_something_only_to_the_container_that_follows) {
    const LeaseHolder holder = holder_of(7, 1, "p");
    const auto same = pod_with(kPod.uid);
    EXPECT_TRUE(is_provably_dead(holder, holder_of(8, 1, "q"), same, all_runs))
        << "a container is started again only when the one before has ended";
    EXPECT_FALSE(is_provably_dead(holder, {}, same, nothing_runs)) << "we are in no pod";
    LeaseHolder elsewhere = holder_of(8, 1, "q");
    elsewhere.pod.uid = "another";
    EXPECT_FALSE(is_provably_dead(holder, elsewhere, same, nothing_runs)) << "another replica";
    LeaseHolder sidecar = holder_of(8, 1, "q");
    sidecar.pod.container = "sidecar";
    EXPECT_FALSE(is_provably_dead(holder, sidecar, same, nothing_runs))
        << "another container of the pod";
    EXPECT_FALSE(is_provably_dead(holder, holder_of(0, 1, "q"), same, nothing_runs));
    EXPECT_FALSE(is_provably_dead(holder_of(0, 1, "p"), holder_of(8, 1, "q"), same, nothing_runs));
}

TEST(LeaseHolder, a_second_process_of_the_same_container_sees_whether_the_first_runs) {
    const auto same = pod_with(kPod.uid);
    EXPECT_FALSE(is_provably_dead(holder_of(7, 1, "p"), holder_of(7, 30, "q"), same, all_runs));
    EXPECT_TRUE(is_provably_dead(holder_of(7, 20, "p"), holder_of(7, 30, "q"), same, nothing_runs));
    EXPECT_TRUE(is_provably_dead(holder_of(7, 1, "p"), holder_of(7, 1, "q"), same, all_runs))
        << "the node was started again, and the number of the name space came back";
}

TEST(LeaseHolder, a_process_is_running_until_it_has_been_waited_for) {
    EXPECT_TRUE(is_running(::getpid()));
    EXPECT_TRUE(is_running(0));
    const pid_t child = ::fork();
    if (child == 0) ::_exit(0);
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_FALSE(is_running(child));
}

}  // namespace
}  // namespace gpuctl::k8s
