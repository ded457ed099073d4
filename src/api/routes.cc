#include <array>

#include "api/call.h"

namespace once::api {
namespace {

constexpr std::array kRoutes = {
    Route{"GET", "/", show_page, Access::open},
    Route{"GET", "/healthz", show_health, Access::open},
    Route{"GET", "/readyz", show_readiness, Access::open},
    Route{"GET", "/openapi.yaml", show_openapi, Access::open},
    Route{"GET", "/metrics", show_metrics, Access::read},
    Route{"POST", "/v1/claims/{}", take_claim},
    Route{"GET", "/v1/claims/{}", show_claim, Access::read},
    Route{"DELETE", "/v1/claims/{}", forget_claim},
    Route{"POST", "/v1/claims/{}/renew", renew_claim},
    Route{"POST", "/v1/claims/{}/complete", complete_claim},
    Route{"POST", "/v1/claims/{}/release", release_claim},
    Route{"GET", "/v1/claims", list_claims, Access::read},
    Route{"POST", "/v1/seen", mark_seen},
    Route{"POST", "/v1/tokens", make_token, Access::admin},
    Route{"GET", "/v1/tokens", list_tokens, Access::admin},
    Route{"DELETE", "/v1/tokens/{}", revoke_token, Access::admin},
    Route{"GET", "/v1/hot", list_hot_keys, Access::read},
    Route{"POST", "/v1/logs/{}", append_log},
    Route{"GET", "/v1/logs/{}", read_log, Access::read},
    Route{"POST", "/v1/logs/{}/trim", trim_log},
    Route{"GET", "/v1/docs/{}", get_document, Access::read},
    Route{"PUT", "/v1/docs/{}", put_document},
    Route{"PATCH", "/v1/docs/{}", patch_document},
    Route{"DELETE", "/v1/docs/{}", remove_document},
    // Before the next: a tally named "read" is reached as "%72ead".
    Route{"POST", "/v1/tallies/read", read_tallies, Access::read},
    Route{"POST", "/v1/tallies/{}", add_to_tally},
    Route{"GET", "/v1/tallies/{}", read_tally, Access::read},
    Route{"POST", "/v1/commit", commit_effects},
    Route{"POST", "/v1/events", receive_events},
    Route{"GET", "/v1/items", list_items, Access::admin},
    Route{"POST", "/v1/items", import_items, Access::admin},
    Route{"POST", "/v1/checkpoints", make_checkpoint, Access::admin},
};

}  // namespace

std::span<const Route> routes() { return kRoutes; }

}  // namespace once::api
