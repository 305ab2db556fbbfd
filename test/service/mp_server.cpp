#include "harness/connection.hpp"
#include "harness/mp_server_process.hpp"
#include "harness/service.hpp"
#include "harness/violations.hpp"
#include "test/unit/scripted_server.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <sys/resource.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

using namespace coordinator::service_test;

namespace {

/// An mp server, and one client of its service port. Ends cleanly, as the coordinator does in its fixture.
struct node {
  explicit node(std::vector<std::string> flags = {}) : process{std::move(flags)}, api{process.port()} {}
  ~node() {
    process.stop(0s);
    check_clean_end(process);
  }

  mp_server_process process;
  client api;
};

/// Small chunks, one private L2 store and a shared one.
std::vector<std::string> with_stores(std::vector<std::string> flags = {}) {
  for (const char* flag : {"--chunk-size", "4", "--l2-adapter", "fs", "--l2-adapter", "s3:shared"})
    flags.emplace_back(flag);
  return flags;
}

std::vector<std::int64_t> tokens(std::size_t count, std::int64_t first = 1) {
  std::vector<std::int64_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::string key(std::string_view hash, std::string_view salt = "") {
  return fmt::format(
      R"({{"chunk_hash_hex":"{}","model_name":"m","kv_rank":16777472,"object_group_id":0,"cache_salt":"{}"}})", hash,
      salt);
}

std::string keys(const std::vector<std::string>& items) {
  return fmt::format(R"("keys":[{}])", fmt::join(items, ","));
}

void store(node& at, std::string_view tier, const std::vector<std::string>& items, std::string_view more = "") {
  std::vector<std::string> entries;
  for (const auto& item : items)
    entries.push_back(fmt::format(R"({{"key":{},"size_bytes":10}})", item));
  at.process.control("POST", "/store",
                     fmt::format(R"({{"entries":[{}],"tier":"{}"{}}})", fmt::join(entries, ","), tier, more));
}

response delete_objects(node& at, const std::vector<std::string>& items, std::string_view more = "") {
  return at.api.send("DELETE", "/cache/objects", fmt::format("{{{}{}}}", keys(items), more));
}

/// How many objects are in that compartment.
std::int64_t held(node& at, std::string_view backend) {
  const auto status = at.api.get("/status").body_json();
  for (const auto& each : status["compartments"].items())
    if (each["backend"].text() == backend)
      return each["keys"].integer();
  throw std::runtime_error{"no such compartment"};
}

std::string prefetch_body(const std::vector<std::int64_t>& ids, std::string_view more = "", int world_size = 1) {
  return fmt::format(R"({{"model_name":"m","world_size":{},"token_ids":[{}]{}}})", world_size, fmt::join(ids, ","),
                     more);
}

/// Submits a prefetch and returns its id.
std::string submitted(node& at, const std::string& body) {
  const auto reply = at.api.post("/cache/prefetches", body);
  BOOST_TEST_REQUIRE(reply.status == 202, reply);
  return reply.body_json()["request_id"].text();
}

/// Stands in for a coordinator that takes events: answers as told, and keeps what came.
class event_sink {
public:
  event_sink() : server_{[this](auto& client, int) { serve(client); }} {}

  std::uint16_t port() const { return server_.port(); }

  /// The status of replies to events from now on.
  void answer_with(int status) {
    const std::lock_guard guard{lock_};
    status_ = status;
  }

  /// Batches in the order in which they came, those of refused posts included.
  std::vector<json> batches() {
    const std::lock_guard guard{lock_};
    return batches_;
  }

  /// Batches that are no declarations, once there are that many; throws when there are not in time.
  std::vector<json> placements(std::size_t count) {
    std::vector<json> found;
    if (!eventually(10s, [&] {
          found.clear();
          for (const auto& each : batches())
            if (each["event_type"].text() != "config")
              found.push_back(each);
          return found.size() >= count;
        }))
      throw std::runtime_error{fmt::format("{} batches instead of {}", found.size(), count)};
    return found;
  }

  std::size_t posts() {
    const std::lock_guard guard{lock_};
    return posts_;
  }

private:
  void serve(coordinator::unit_test::peer& client) {
    while (const auto request = client.read_request()) {
      if (request->starts_with("POST /instances")) {
        client.answer(R"({"instance_id":"node-a","re_registered":false})");
      } else if (request->starts_with("POST /events")) {
        int status = 0;
        {
          const std::lock_guard guard{lock_};
          ++posts_;
          status = status_;
          const auto body = json::parse(request->substr(request->find("\r\n\r\n") + 4));
          for (const auto& each : body["batches"].items())
            batches_.push_back(each);
        }
        client.answer(R"({"applied":1,"duplicates":0,"stale":0})", status);
      } else {
        client.answer(R"({"instance_id":"node-a"})");
      }
    }
  }

  std::mutex lock_;
  int status_ = 200;
  std::vector<json> batches_;
  std::size_t posts_ = 0;
  coordinator::unit_test::scripted_server server_; // last: its threads use the rest
};

std::vector<std::string> reporting_to(const event_sink& sink) {
  auto flags = with_stores(joining(sink.port(), "node-a"));
  flags.insert(flags.end(), {"--coordinator-event-reporting", "--coordinator-event-flush-interval", "0.05",
                             "--l1-capacity-bytes", "1000000"});
  return flags;
}

std::string kind(const json& batch) {
  return fmt::format("{} {} {}{}", batch["event_type"].text(), batch["tier"].text(), batch["backend"].text(),
                     batch["shared"].boolean() ? " shared" : "");
}

std::vector<std::string> kinds(const std::vector<json>& batches) {
  std::vector<std::string> result;
  for (const auto& each : batches)
    result.push_back(kind(each));
  return result;
}

void check_kinds(const std::vector<json>& batches, const std::vector<std::string>& expected) {
  BOOST_TEST(kinds(batches) == expected, boost::test_tools::per_element());
}

/// For as long as it lives that process gets no descriptors besides those that it has.
class no_new_descriptors {
public:
  explicit no_new_descriptors(pid_t process) : process_{process} {
    ::prlimit(process_, RLIMIT_NOFILE, nullptr, &before_);
    rlim_t lowest_free = 0;
    while (std::filesystem::is_symlink(fmt::format("/proc/{}/fd/{}", process_, lowest_free)))
      ++lowest_free;
    const rlimit none{lowest_free, before_.rlim_max};
    BOOST_TEST_REQUIRE(::prlimit(process_, RLIMIT_NOFILE, &none, nullptr) == 0);
  }
  ~no_new_descriptors() { ::prlimit(process_, RLIMIT_NOFILE, &before_, nullptr); }
  no_new_descriptors(const no_new_descriptors&) = delete;
  no_new_descriptors& operator=(const no_new_descriptors&) = delete;

private:
  pid_t process_;
  rlimit before_{};
};

/// What that process has used so far.
double processor_seconds(pid_t process) {
  clockid_t clock{};
  timespec used{};
  BOOST_TEST_REQUIRE(::clock_getcpuclockid(process, &clock) == 0);
  ::clock_gettime(clock, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

finished_run run_mp_server(const std::vector<std::string>& flags,
                           std::vector<std::pair<std::string, std::string>> environment = {}) {
  child_process child{mp_server_command({flags, std::move(environment)})};
  finished_run result;
  result.status = child.wait_for_exit(10s);
  result.output = child.output();
  return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(mp_server)

BOOST_AUTO_TEST_CASE(it_joins_the_coordinator_and_leaves_when_told_to_stop) {
  service fleet;
  {
    auto flags = joining(fleet.port(), "node-a");
    flags.insert(flags.end(), {"--metadata", "zone=a", "--metadata", "rack=r1"});
    node it{flags};
    BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
    const auto row = listed_row(fleet.api, "node-a");
    BOOST_TEST(row["http_port"].integer() == it.process.port());
    BOOST_TEST(row["ip"].text() == "127.0.0.1");
    BOOST_TEST(row["metadata"]["zone"].text() == "a");
    BOOST_TEST(row["metadata"]["rack"].text() == "r1");
  }
  BOOST_TEST(!is_listed(fleet.api, "node-a"));
}

// -- what a coordinator calls ------------------------------------------------

BOOST_AUTO_TEST_CASE(objects_are_deleted_from_the_tier_that_is_named) {
  node it{with_stores()};
  for (const char* tier : {"l1", "l2"})
    store(it, tier, {key("aa"), key("bb")});
  store(it, "l2", {key("aa")}, R"(,"adapter":"s3")");

  BOOST_TEST(delete_objects(it, {key("aa")}).body == R"({"deleted":1,"skipped":0,"ok":true})");
  BOOST_TEST((held(it, "dram") == 2 && held(it, "fs") == 1 && held(it, "s3") == 1));
  BOOST_TEST(delete_objects(it, {key("aa")}, R"(,"tier":"l1")").body == R"({"deleted":1,"skipped":0,"ok":true})");
  BOOST_TEST((held(it, "dram") == 1 && held(it, "fs") == 1));
  BOOST_TEST(delete_objects(it, {key("bb")}, R"(,"tier":"all")").body == R"({"deleted":2,"skipped":0,"ok":true})");
  BOOST_TEST((held(it, "dram") == 0 && held(it, "fs") == 0 && held(it, "s3") == 1));
  BOOST_TEST(delete_objects(it, {key("AA")}, R"(,"adapter":"s3")").status == 200);
  BOOST_TEST(held(it, "s3") == 0);
}

BOOST_AUTO_TEST_CASE(objects_that_l2_does_not_have_count_as_deleted_and_those_that_l1_does_not_have_do_not) {
  node it{with_stores()};
  BOOST_TEST(delete_objects(it, {key("aa"), key("bb")}).body == R"({"deleted":2,"skipped":0,"ok":true})");
  BOOST_TEST(delete_objects(it, {key("aa")}, R"(,"tier":"l1")").body == R"({"deleted":0,"skipped":0,"ok":true})");
  BOOST_TEST(delete_objects(it, {}).body == R"({"deleted":0,"skipped":0,"ok":true})");
}

BOOST_AUTO_TEST_CASE(objects_that_are_locked_in_l1_stay_unless_forced) {
  node it{with_stores()};
  store(it, "l1", {key("aa"), key("bb")});
  it.process.control("POST", "/lock", fmt::format("{{{}}}", keys({key("aa")})));
  BOOST_TEST(delete_objects(it, {key("aa"), key("bb")}, R"(,"tier":"l1")").body
             == R"({"deleted":1,"skipped":1,"ok":true})");
  BOOST_TEST(held(it, "dram") == 1);
  BOOST_TEST(delete_objects(it, {key("aa")}, R"(,"tier":"l1","force":true)").body
             == R"({"deleted":1,"skipped":0,"ok":true})");
  store(it, "l1", {key("aa")});
  BOOST_TEST(delete_objects(it, {key("aa")}, R"(,"tier":"l1")").body == R"({"deleted":1,"skipped":0,"ok":true})");
}

BOOST_AUTO_TEST_CASE(more_keys_than_the_bound_are_refused_whole) {
  node it{with_stores()};
  store(it, "l2", {key("0000")});
  std::vector<std::string> many;
  for (int i = 0; i <= 10'000; ++i)
    many.push_back(key(fmt::format("{:04x}", i)));
  const auto refused = delete_objects(it, many);
  BOOST_TEST(refused.status == 400);
  BOOST_TEST(refused.body_json()["detail"].text().find("too many keys") != std::string::npos);
  BOOST_TEST(held(it, "fs") == 1);
  many.pop_back();
  BOOST_TEST(delete_objects(it, many).body == R"({"deleted":10000,"skipped":0,"ok":true})");
  BOOST_TEST(held(it, "fs") == 0);
}

BOOST_AUTO_TEST_CASE(a_key_that_breaks_a_rule_is_named_and_nothing_is_deleted) {
  node it{with_stores()};
  store(it, "l2", {key("aa")});
  check_problem(delete_objects(it, {key("aa"), key("zz")}), 400,
                "keys[1]: chunk_hash_hex must be pairs of hexadecimal digits");
  check_problem(delete_objects(it, {key("aa", "a@b")}), 400, "keys[0]: cache_salt must not contain '@' (got 'a@b')");
  BOOST_TEST(held(it, "fs") == 1);
}

BOOST_AUTO_TEST_CASE(a_body_of_the_wrong_shape_names_the_field) {
  node it{with_stores()};
  BOOST_TEST(locations(it.api.send("DELETE", "/cache/objects", "{}")) == std::set<std::string>{"body.keys"});
  BOOST_TEST(locations(it.api.send("DELETE", "/cache/objects", R"({"keys":[],"tier":"l3"})"))
             == std::set<std::string>{"body.tier"});
  BOOST_TEST(it.api.send("DELETE", "/cache/objects", "no json").status == 422);
  BOOST_TEST(locations(it.api.post("/cache/prefetches", R"({"model_name":"m","world_size":0,"token_ids":[]})"))
             == std::set<std::string>{"body.world_size"});
}

BOOST_AUTO_TEST_CASE(without_the_l2_store_only_l1_is_served) {
  node none;
  store(none, "l1", {key("aa")});
  BOOST_TEST(delete_objects(none, {key("aa")}).status == 503);
  BOOST_TEST(held(none, "dram") == 1);
  BOOST_TEST(none.api.get("/cache/objects").status == 503);
  BOOST_TEST(delete_objects(none, {key("aa")}, R"(,"tier":"all")").status == 503);
  BOOST_TEST(held(none, "dram") == 0); // L1 comes first
  BOOST_TEST(delete_objects(none, {key("aa")}, R"(,"tier":"l1","adapter":"any")").status == 200);

  node it{with_stores()};
  check_problem(delete_objects(it, {key("aa")}, R"(,"adapter":"disk")"), 404, "no L2 adapter is named 'disk'");
  BOOST_TEST(it.api.get("/cache/objects?adapter=disk").status == 404);
}

BOOST_AUTO_TEST_CASE(an_l2_store_is_listed_in_pages) {
  node it{with_stores()};
  for (int i = 0; i < 5; ++i)
    store(it, "l2", {key(fmt::format("{:02x}", i))});
  std::vector<std::string> seen;
  std::string token;
  int pages = 0;
  do {
    const auto page = it.api.get("/cache/objects?page_size=2" + token).body_json();
    BOOST_TEST(page["adapter"].text() == "fs");
    BOOST_TEST(!page["shared"].boolean());
    for (const auto& row : page["entries"].items()) {
      seen.push_back(row["key"]["chunk_hash_hex"].text());
      BOOST_TEST(row["size_bytes"].integer() == 10);
    }
    token = page["next_page_token"].is_string() ? "&page_token=" + page["next_page_token"].text() : "";
  } while (++pages < 10 && !token.empty());
  BOOST_TEST(pages == 3);
  BOOST_TEST(seen == (std::vector<std::string>{"00", "01", "02", "03", "04"}), boost::test_tools::per_element());

  BOOST_TEST(it.api.get("/cache/objects?model_name=other").body_json()["entries"].size() == 0U);
  BOOST_TEST(it.api.get("/cache/objects?adapter=s3").body
             == R"({"adapter":"s3","shared":true,"entries":[],"next_page_token":null})");
  BOOST_TEST(it.api.get("/cache/objects?tier=l1").status == 400);
  BOOST_TEST(it.api.get("/cache/objects?page_token=x").status == 400);
  for (const char* size : {"0", "5001", "x", "-1"})
    BOOST_TEST(locations(it.api.get(fmt::format("/cache/objects?page_size={}", size)))
               == std::set<std::string>{"query.page_size"});
  BOOST_TEST(it.api.get("/cache/objects?page_size=5000").status == 200);
}

BOOST_AUTO_TEST_CASE(a_prefetch_brings_what_l2_has_into_l1) {
  node it{with_stores()};
  BOOST_TEST(it.process.store_tokens("l2", "m", 2, tokens(8)) == 4U);
  const auto reply = it.api.post("/cache/prefetches", prefetch_body(tokens(14), "", 2));
  BOOST_TEST(reply.status == 202);
  BOOST_TEST(reply.body_json()["chunks"].integer() == 3);
  BOOST_TEST(reply.body_json()["status"].text() == "submitted");
  const auto id = reply.body_json()["request_id"].text();
  BOOST_TEST(id.size() == 32U);
  BOOST_TEST(it.api.get("/cache/prefetches/" + id).body
             == fmt::format(R"({{"request_id":"{}","status":"completed","found_keys":4,"total_keys":6}})", id));
  BOOST_TEST(held(it, "dram") == 4);
  BOOST_TEST(it.api.get("/cache/prefetches/" + id).status == 404); // told once

  // What is in L1 already is not found by a further one.
  const auto again = submitted(it, prefetch_body(tokens(8), "", 2));
  BOOST_TEST(it.api.get("/cache/prefetches/" + again).body_json()["found_keys"].integer() == 0);
}

BOOST_AUTO_TEST_CASE(a_prefetch_that_takes_time_is_pending_until_it_is_done) {
  node it{with_stores()};
  it.process.store_tokens("l2", "m", 1, tokens(4));
  it.process.set_faults(R"([{"method":"POST","path":"/cache/prefetches","load_ms":300}])");
  const auto id = submitted(it, prefetch_body(tokens(4)));
  BOOST_TEST(it.api.get("/cache/prefetches/" + id).body
             == fmt::format(R"({{"request_id":"{}","status":"pending"}})", id));
  BOOST_TEST(eventually(
      5s, [&] { return it.api.get("/cache/prefetches/" + id).body_json()["status"].text() == "completed"; }));
}

BOOST_AUTO_TEST_CASE(prefetches_that_make_no_sense_are_refused) {
  node it{with_stores()};
  BOOST_TEST(it.api.post("/cache/prefetches", prefetch_body({})).status == 503); // no layout, not even for nothing
  it.process.store_tokens("l2", "m", 1, tokens(4));
  const auto noop = it.api.post("/cache/prefetches", prefetch_body(tokens(3)));
  BOOST_TEST(noop.status == 202);
  BOOST_TEST(noop.body == R"({"chunks":0,"status":"noop"})");
  BOOST_TEST(it.api.post("/cache/prefetches", prefetch_body(tokens(4), "", 2)).status == 503);
  BOOST_TEST(it.api.post("/cache/prefetches", prefetch_body(tokens(4), R"(,"target_tier":"l2")")).status == 400);
  BOOST_TEST(it.api.post("/cache/prefetches", prefetch_body(tokens(4), R"(,"cache_salt":"a@b")")).status == 400);
  BOOST_TEST(it.api.post("/cache/prefetches", prefetch_body({-1})).status == 400);
  const auto too_many = it.api.post("/cache/prefetches", prefetch_body(tokens(1'000'001)));
  BOOST_TEST(too_many.status == 400);
  BOOST_TEST(too_many.body_json()["detail"].text().find("too many token_ids") != std::string::npos);
  BOOST_TEST(it.api.post("/cache/prefetches", prefetch_body(tokens(1'000'000))).status == 202);
  check_problem(it.api.post("/cache/prefetches", prefetch_body(tokens(1'000'000), "", 255)), 400,
                "too many objects in a single request (limit=262144, got=63750000: 250000 chunks for 255 workers)");
  check_problem(it.api.get("/cache/prefetches/unknown"), 404, "no prefetch has the id 'unknown'");
}

BOOST_AUTO_TEST_CASE(clearing_empties_l1_but_for_what_is_locked) {
  node it{with_stores()};
  store(it, "l1", {key("aa"), key("bb")});
  store(it, "l2", {key("aa")});
  it.process.control("POST", "/lock", fmt::format("{{{}}}", keys({key("aa")})));
  BOOST_TEST(it.api.post("/cache/clear", "{}").body == R"({"status":"ok","cleared":{"tier":"l1"}})");
  BOOST_TEST((held(it, "dram") == 1 && held(it, "fs") == 1));
  BOOST_TEST(it.api.post("/cache/clear", R"({"force":true})").status == 200);
  BOOST_TEST(held(it, "dram") == 0);
  BOOST_TEST(it.api.post("/cache/clear", R"({"tier":"l2"})").status == 400);
}

BOOST_AUTO_TEST_CASE(quotas_of_the_node_are_kept_and_shown_with_what_is_used) {
  node it{with_stores()};
  store(it, "l2", {key("aa", "tenant-a")});
  BOOST_TEST(
      it.api.get("/quota/tenant-a").body_json()
      == json::parse(fmt::format(R"({{"cache_salt":"tenant-a","limit_gb":0,"current_usage_gb":{},"exists":false}})",
                                 10.0 / (1 << 30))));
  BOOST_TEST(it.api.send("PUT", "/quota/tenant-a", R"({"limit_gb":2.5})").body
             == R"({"cache_salt":"tenant-a","limit_gb":2.5,"status":"ok"})");
  BOOST_TEST(it.api.send("PUT", "/quota/_default", R"({"limit_gb":1})").body_json()["cache_salt"].text() == "");
  BOOST_TEST(it.api.get("/quota/tenant-a").body_json()["exists"].boolean());
  const auto users = it.api.get("/quota").body_json()["users"];
  BOOST_TEST(users.size() == 2U);
  BOOST_TEST(users["tenant-a"]["limit_gb"].number() == 2.5);
  BOOST_TEST(users[""]["current_usage_gb"].number() == 0);
  BOOST_TEST(it.api.del("/quota/tenant-a").body == R"({"cache_salt":"tenant-a","status":"removed"})");
  BOOST_TEST(it.api.del("/quota/tenant-a").body == R"({"cache_salt":"tenant-a","status":"not_found"})");
  BOOST_TEST(it.api.send("PUT", "/quota/x", R"({"limit_gb":-1})").status == 422);
  BOOST_TEST(it.api.send("PUT", "/quota/x").status == 422);
}

BOOST_AUTO_TEST_CASE(it_tells_its_health_version_and_state) {
  node it{with_stores({"--instance-id", "node-a", "--l1-capacity-bytes", "100"})};
  BOOST_TEST(it.api.get("/healthcheck").body == R"({"status":"healthy"})");
  BOOST_TEST(!it.api.get("/version").body_json()["version"].text().empty());
  store(it, "l1", {key("aa")});
  const auto status = it.api.get("/status").body_json();
  BOOST_TEST(status["instance_id"].text() == "node-a");
  BOOST_TEST(
      status["compartments"][0]
      == json::parse(R"({"tier":"l1","backend":"dram","shared":false,"keys":1,"bytes":10,"capacity_bytes":100})"));
  check_problem(it.api.get("/nothing"), 404, "Not Found");
  check_problem(it.api.post("/healthcheck", ""), 405, "Method Not Allowed");
}

BOOST_AUTO_TEST_CASE(l1_makes_room_by_dropping_what_was_used_least_recently) {
  node it{with_stores({"--l1-capacity-bytes", "30"})};
  store(it, "l1", {key("aa"), key("bb"), key("cc")});
  it.process.control("POST", "/access", fmt::format("{{{}}}", keys({key("aa")})));
  store(it, "l1", {key("dd")});
  BOOST_TEST(held(it, "dram") == 3);
  BOOST_TEST(delete_objects(it, {key("bb")}, R"(,"tier":"l1")").body_json()["deleted"].integer() == 0);
  BOOST_TEST(delete_objects(it, {key("aa")}, R"(,"tier":"l1")").body_json()["deleted"].integer() == 1);
}

// -- faults ------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(what_came_in_is_recorded) {
  node it{with_stores()};
  delete_objects(it, {key("aa")});
  it.api.get("/cache/prefetches/x?y=1");
  it.process.control("GET", "/socket"); // the control port's own requests are not
  const auto calls = it.process.calls();
  BOOST_TEST_REQUIRE(calls.size() == 2U);
  BOOST_TEST(calls[0]["method"].text() == "DELETE");
  BOOST_TEST(calls[0]["target"].text() == "/cache/objects");
  BOOST_TEST(calls[0]["body"].text() == fmt::format("{{{}}}", keys({key("aa")})));
  BOOST_TEST(calls[0]["body_bytes"].integer() == static_cast<std::int64_t>(calls[0]["body"].text().size()));
  BOOST_TEST(calls[1]["method"].text() == "GET");
  BOOST_TEST(calls[1]["target"].text() == "/cache/prefetches/x?y=1");
  it.process.forget_calls();
  BOOST_TEST(it.process.control("GET", "/calls").body == R"({"count":0,"calls":[]})");
}

BOOST_AUTO_TEST_CASE(a_scripted_answer_takes_the_place_of_the_work_as_often_as_told) {
  node it{with_stores()};
  store(it, "l2", {key("aa")});
  it.process.set_faults(R"([{"method":"DELETE","path":"/cache/objects","times":1,"status":500,"body":"oops"},)"
                        R"({"method":"DELETE","path":"/cache/objects","times":1,"body":"not json"}])");
  const auto first = delete_objects(it, {key("aa")});
  BOOST_TEST(first.status == 500);
  BOOST_TEST(first.body == "oops");
  const auto second = delete_objects(it, {key("aa")});
  BOOST_TEST(second.status == 200);
  BOOST_TEST(second.body == "not json");
  BOOST_TEST(held(it, "fs") == 1);
  BOOST_TEST(delete_objects(it, {key("aa")}).body_json()["ok"].boolean());
  BOOST_TEST(held(it, "fs") == 0);
}

BOOST_AUTO_TEST_CASE(a_fault_is_for_the_requests_that_it_names) {
  node it{with_stores()};
  it.process.set_faults(R"([{"method":"POST","path":"/health","status":500}])");
  BOOST_TEST(it.api.get("/healthcheck").status == 200);
  it.process.set_faults(R"([{"path":"/health","status":503}])");
  BOOST_TEST(it.api.get("/healthcheck").status == 503);
  BOOST_TEST(it.api.get("/version").status == 200);
  it.process.clear_faults();
  BOOST_TEST(it.api.get("/healthcheck").status == 200);
}

BOOST_AUTO_TEST_CASE(the_l2_store_can_fail) {
  node it{with_stores()};
  store(it, "l1", {key("aa")});
  store(it, "l2", {key("aa")});
  it.process.set_faults(R"([{"method":"DELETE","ok_false":true}])");
  const auto reply = delete_objects(it, {key("aa")}, R"(,"tier":"all")");
  BOOST_TEST(reply.status == 200);
  BOOST_TEST(reply.body == R"({"deleted":1,"skipped":0,"ok":false,"error":"the L2 adapter failed"})");
  BOOST_TEST((held(it, "dram") == 0 && held(it, "fs") == 1));
}

BOOST_AUTO_TEST_CASE(a_delayed_answer_comes_late_and_holds_up_nobody_else) {
  node it{with_stores()};
  it.process.set_faults(R"([{"path":"/version","delay_ms":500}])");
  connection slow{it.process.port()};
  const auto start = monotonic_clock::now();
  slow.send(render_request("GET", "/version"));
  BOOST_TEST(it.api.get("/healthcheck").status == 200);
  BOOST_TEST(slow.read_response().status == 200);
  BOOST_TEST(seconds_since(start) >= 0.5);
}

BOOST_AUTO_TEST_CASE(a_request_can_hang_until_the_faults_are_cleared) {
  node it{with_stores()};
  it.process.set_faults(R"([{"path":"/version","hang":true}])");
  connection hung{it.process.port()};
  hung.send(render_request("GET", "/version"));
  BOOST_TEST(eventually(5s, [&] { return it.process.calls().size() == 1; }));
  BOOST_TEST(hung.stays_silent(1s));
  BOOST_TEST(it.api.get("/healthcheck").status == 200);
  it.process.clear_faults();
  BOOST_TEST(hung.read_response().status == 503);
}

BOOST_AUTO_TEST_CASE(it_stops_although_requests_hang_and_wait) {
  mp_server_process it;
  it.set_faults(R"([{"path":"/version","hang":true},{"path":"/healthcheck","delay_ms":60000}])");
  connection hung{it.port()};
  hung.send(render_request("GET", "/version"));
  connection waiting{it.port()};
  waiting.send(render_request("GET", "/healthcheck"));
  BOOST_TEST(eventually(5s, [&] { return it.calls().size() == 2; }));
  it.stop();
  check_clean_end(it);
}

BOOST_AUTO_TEST_CASE(a_port_that_refuses_is_kept_and_serves_again) {
  node it;
  BOOST_TEST(it.api.get("/healthcheck").status == 200);
  it.process.set_socket("refuse");
  BOOST_TEST(refuses_connections(it.process.port()));
  BOOST_CHECK_THROW(it.api.get("/healthcheck"), transport_error); // the connection that was open has ended, too
  it.process.set_socket("serve");
  BOOST_TEST(client{it.process.port()}.get("/healthcheck").status == 200);
}

BOOST_AUTO_TEST_CASE(a_silent_port_accepts_and_sends_nothing) {
  node it;
  it.process.set_socket("silent");
  connection caller{it.process.port()};
  caller.send(render_request("GET", "/healthcheck"));
  BOOST_TEST(caller.stays_silent(1s));
  BOOST_TEST(it.process.dead_connections() == 1U);
  it.process.set_socket("serve");
  BOOST_TEST(caller.ends(5s));
}

BOOST_AUTO_TEST_CASE(a_dripping_port_sends_a_byte_a_second) {
  node it;
  it.process.set_socket("drip");
  connection caller{it.process.port()};
  caller.send(render_request("GET", "/healthcheck"));
  const auto start = monotonic_clock::now();
  std::string got;
  while (got.size() < 3)
    got += caller.read_some(100, 10s);
  BOOST_TEST(got == "HTT");
  BOOST_TEST(seconds_since(start) >= 1.5);
}

BOOST_AUTO_TEST_CASE(a_port_can_reset_and_cut_connections) {
  node it;
  it.process.set_socket("reset");
  {
    connection caller{it.process.port()};
    BOOST_TEST(caller.stays_silent(200ms));
    caller.send(render_request("GET", "/healthcheck"));
    BOOST_CHECK_THROW(caller.read_some(1), transport_error);
  }
  it.process.set_socket("cut");
  connection caller{it.process.port()};
  caller.send(render_request("GET", "/healthcheck"));
  const auto got = caller.read_to_end();
  BOOST_TEST(got.starts_with("HTTP/1.1 200 OK\r\n"));
  BOOST_TEST(got.ends_with(R"({"status":)"));
}

BOOST_AUTO_TEST_CASE(a_dead_port_waits_for_descriptors_without_using_the_processor) {
  node it;
  it.process.set_socket("silent");
  connection waiting{it.process.port()};
  BOOST_TEST(eventually(5s, [&] { return it.process.dead_connections() == 1U; }));
  std::optional<connection> another;
  {
    const no_new_descriptors scarcity{it.process.pid()};
    another.emplace(it.process.port());
    const auto before = processor_seconds(it.process.pid());
    let_pass(1s);
    BOOST_TEST(processor_seconds(it.process.pid()) - before < 0.25);
  }
  BOOST_TEST(eventually(5s, [&] { return it.process.dead_connections() == 2U; }));
}

BOOST_AUTO_TEST_CASE(a_server_whose_port_is_dead_still_heartbeats) {
  service fleet{{"--instance-timeout", "1", "--health-check-interval", "0.2"}};
  node it{joining(fleet.port(), "node-a")};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
  for (const char* mode : {"refuse", "silent"}) {
    it.process.set_socket(mode);
    BOOST_TEST(holds_for(2s, [&] { return is_listed(fleet.api, "node-a"); }));
  }
}

BOOST_AUTO_TEST_CASE(a_server_without_heartbeats_lapses_and_comes_back) {
  service fleet{{"--instance-timeout", "1", "--health-check-interval", "0.2"}};
  node it{joining(fleet.port(), "node-a")};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
  it.process.set_heartbeats(false);
  BOOST_TEST(is_listed(fleet.api, "node-a")); // nobody was told
  BOOST_TEST(eventually(10s, [&] { return !is_listed(fleet.api, "node-a"); }));
  BOOST_TEST(it.api.get("/healthcheck").status == 200);
  it.process.set_heartbeats(true);
  BOOST_TEST(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
}

BOOST_AUTO_TEST_CASE(a_server_that_can_not_go_on_heartbeating_says_so) {
  service fleet;
  node it{joining(fleet.port(), "node-a")};
  client control{it.process.control_port()};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
  BOOST_TEST(control.send("PUT", "/heartbeats", R"({"enabled":false})").status == 200);
  {
    const no_new_descriptors scarcity{it.process.pid()};
    for (int i = 0; i < 2; ++i) {
      const auto refused = control.send("PUT", "/heartbeats", R"({"enabled":true})");
      BOOST_TEST_REQUIRE(refused.status == 503, refused);
      BOOST_TEST(refused.body_json()["detail"].text().starts_with("heartbeats can't go on: "), refused);
    }
  }
  BOOST_TEST(fleet.api.send("DELETE", "/instances/node-a").status == 204);
  it.process.set_heartbeats(true);
  BOOST_TEST(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
}

BOOST_AUTO_TEST_CASE(a_server_that_restarts_registers_anew) {
  service fleet;
  node it{joining(fleet.port(), "node-a")};
  BOOST_TEST_REQUIRE(eventually(5s, [&] { return is_listed(fleet.api, "node-a"); }));
  const auto tag = [&] { return fleet.api.get(instance_path("node-a")).header_text("ETag"); };
  const auto before = tag();
  it.process.restart();
  BOOST_TEST(eventually(5s, [&] { return tag() != before; }));
}

BOOST_AUTO_TEST_CASE(the_control_port_is_for_this_machine_and_names_what_is_wrong) {
  node it{with_stores()};
  client control{it.process.control_port()};
  BOOST_TEST(locations(control.send("PUT", "/socket", R"({"mode":"broken"})")) == std::set<std::string>{"body.mode"});
  BOOST_TEST(locations(control.send("PUT", "/faults", R"({"faults":[{"status":99}]})"))
             == std::set<std::string>{"body.faults.0.status"});
  BOOST_TEST(control.post("/store", fmt::format(R"({{"entries":[{{"key":{}}}]}})", key("zz"))).status == 422);
  BOOST_TEST(control.post("/store", R"({"entries":[],"tier":"l2","adapter":"disk"})").status == 404);
  BOOST_TEST(control.post("/evict", fmt::format(R"({{{},"tier":"all"}})", keys({key("aa")}))).status == 400);
  BOOST_TEST(control.get("/healthcheck").status == 404);
  BOOST_TEST(it.api.get("/calls").status == 404);
}

// -- events ------------------------------------------------------------------

BOOST_AUTO_TEST_CASE(capacities_are_declared_before_anything_else) {
  event_sink sink;
  node it{reporting_to(sink)};
  store(it, "l1", {key("aa")});
  sink.placements(1);
  const auto batches = sink.batches();
  BOOST_TEST_REQUIRE(batches.size() >= 4U);
  check_kinds({batches.begin(), batches.begin() + 3}, {"config l1 dram", "config l2 fs", "config l2 s3 shared"});
  for (std::size_t i = 0; i < batches.size(); ++i) {
    BOOST_TEST(batches[i]["seq"].integer() == static_cast<std::int64_t>(i) + 1);
    BOOST_TEST(batches[i]["instance_id"].text() == "node-a");
    BOOST_TEST(batches[i]["ts"].number() > 0);
    BOOST_TEST(batches[i].size() == 12U); // every field is there
  }
  for (std::size_t i = 0; i < 3; ++i) {
    BOOST_TEST(batches[i]["entries"].size() == 0U);
    BOOST_TEST(batches[i]["capacity_revision"].integer() == 1);
    BOOST_TEST(batches[i]["capacity_bytes"].integer() == (i == 0 ? 1000000 : 0));
  }
}

BOOST_AUTO_TEST_CASE(every_change_is_reported_once_where_it_happened) {
  event_sink sink;
  node it{reporting_to(sink)};
  it.process.store_tokens("l2", "m", 1, tokens(8), 64);
  auto batches = sink.placements(1);
  check_kinds(batches, {"store l2 fs"});
  BOOST_TEST_REQUIRE(batches[0]["entries"].size() == 2U);
  const auto entry = batches[0]["entries"][1];
  BOOST_TEST(entry["size_bytes"].integer() == 64);
  BOOST_TEST(entry["token_ids"] == json::parse("[5,6,7,8]"));
  BOOST_TEST(entry["token_offset"].integer() == 4);

  submitted(it, prefetch_body(tokens(4)));
  batches = sink.placements(3);
  check_kinds({batches.begin() + 1, batches.end()}, {"access l2 fs", "store l1 dram"});
  BOOST_TEST(batches[2]["entries"][0]["token_ids"] == json::parse("[1,2,3,4]"));

  const auto hash = batches[2]["entries"][0]["key"]["chunk_hash_hex"].text();
  delete_objects(it, {key(hash)}, R"(,"tier":"all")");
  batches = sink.placements(5);
  check_kinds({batches.begin() + 3, batches.end()}, {"delete l1 dram", "delete l2 fs"});
  const auto gone = batches[4]["entries"][0];
  BOOST_TEST(gone["size_bytes"].integer() == 0);
  BOOST_TEST(gone["token_ids"].size() == 0U);
  BOOST_TEST(gone["token_offset"].integer() == -1);
}

BOOST_AUTO_TEST_CASE(a_restart_starts_a_higher_incarnation_without_announcing_what_is_left) {
  event_sink sink;
  node it{reporting_to(sink)};
  store(it, "l1", {key("aa")});
  store(it, "l2", {key("bb")});
  sink.placements(2);
  const auto first = sink.batches().front()["incarnation"].integer();
  const auto second = it.process.restart();
  BOOST_TEST(second > first);
  BOOST_TEST((held(it, "dram") == 0 && held(it, "fs") == 1));
  store(it, "l1", {key("cc")});
  sink.placements(3);
  std::vector<json> after;
  for (const auto& each : sink.batches())
    if (each["incarnation"].integer() == second)
      after.push_back(each);
  BOOST_TEST_REQUIRE(after.size() >= 4U);
  BOOST_TEST(after[0]["seq"].integer() == 1);
  BOOST_TEST(after[0]["event_type"].text() == "config");
  BOOST_TEST(after[0]["capacity_revision"].integer() == 1);
  const auto& stored = after.back();
  BOOST_TEST(kind(stored) == "store l1 dram");
  BOOST_TEST(stored["entries"].size() == 1U);
  BOOST_TEST(stored["entries"][0]["key"]["chunk_hash_hex"].text() == "cc");
}

BOOST_AUTO_TEST_CASE(deletions_can_go_unreported) {
  event_sink sink;
  node it{reporting_to(sink)};
  store(it, "l2", {key("aa")});
  it.process.set_faults(R"([{"method":"DELETE","drop_events":true}])");
  BOOST_TEST(delete_objects(it, {key("aa")}).status == 200);
  BOOST_TEST(held(it, "fs") == 0);
  store(it, "l1", {key("bb")}); // comes after what is missing
  check_kinds(sink.placements(2), {"store l2 fs", "store l1 dram"});
}

BOOST_AUTO_TEST_CASE(events_that_a_coordinator_can_not_take_now_are_sent_again_in_order) {
  event_sink sink;
  sink.answer_with(503);
  node it{reporting_to(sink)};
  store(it, "l1", {key("aa")});
  BOOST_TEST(eventually(10s, [&] { return sink.posts() >= 2; }));
  sink.answer_with(200);
  BOOST_TEST(
      eventually(10s, [&] { return !sink.batches().empty() && kind(sink.batches().back()) == "store l1 dram"; }));
  const auto batches = sink.batches();
  BOOST_TEST(batches.front()["seq"].integer() == 1);
  BOOST_TEST(batches.back()["dropped_events"].integer() == 0);
}

BOOST_AUTO_TEST_CASE(events_that_a_coordinator_refuses_are_dropped_counted_and_warned_of_once) {
  event_sink sink;
  sink.answer_with(404);
  node it{reporting_to(sink)};
  for (const char* hash : {"aa", "bb"}) {
    store(it, "l1", {key(hash)});
    BOOST_TEST(eventually(10s, [&] {
      return it.api.get("/status").body_json()["dropped_events"].integer() == (hash[0] == 'a' ? 1 : 2);
    }));
  }
  sink.answer_with(200);
  store(it, "l1", {key("cc")});
  BOOST_TEST(eventually(10s, [&] { return sink.batches().back()["dropped_events"].integer() == 2; }));
  const auto output = it.process.output();
  const auto warning = output.find("answered 404; events are dropped");
  BOOST_TEST(warning != std::string::npos);
  BOOST_TEST(output.find("answered 404; events are dropped", warning + 1) == std::string::npos);
}

BOOST_AUTO_TEST_CASE(what_happened_last_is_reported_before_it_stops) {
  event_sink sink;
  auto flags = reporting_to(sink);
  flags[static_cast<std::size_t>(std::find(flags.begin(), flags.end(), "0.05") - flags.begin())] = "3600";
  {
    node it{flags};
    store(it, "l1", {key("aa")});
  }
  check_kinds(sink.placements(1), {"store l1 dram"});
}

// -- settings ----------------------------------------------------------------

BOOST_AUTO_TEST_CASE(settings_that_make_no_sense_are_named_and_stop_the_start) {
  const std::vector<std::pair<std::string, std::string>> wrong{{"--http-port", "65536"},
                                                               {"--http-port", "x"},
                                                               {"--control-port", "-1"},
                                                               {"--metadata", "zone"},
                                                               {"--l2-adapter", ":shared"},
                                                               {"--l1-capacity-bytes", "-1"},
                                                               {"--chunk-size", "0"},
                                                               {"--coordinator-url", "ftp://x"},
                                                               {"--host", "a b"},
                                                               {"--coordinator-heartbeat-interval", "0"},
                                                               {"--coordinator-event-flush-interval", "nan"},
                                                               {"--coordinator-advertise-ip", "0.0.0.0"}};
  for (const auto& [flag, value] : wrong) {
    const auto run = run_mp_server({flag, value});
    BOOST_TEST_CONTEXT(flag << " " << value << ": " << run.output) {
      BOOST_TEST_REQUIRE(run.status.has_value());
      BOOST_TEST(run.status->code == 2);
      BOOST_TEST(run.output.find(flag) != std::string::npos);
    }
  }
  BOOST_TEST(run_mp_server({"--no-such-flag"}).status.value().code == 2);
  const auto run = run_mp_server({}, {{"LMCACHE_COORDINATOR_EVENT_FLUSH_INTERVAL", "soon"}});
  BOOST_TEST(run.status.value().code == 2);
  BOOST_TEST(run.output.find("LMCACHE_COORDINATOR_EVENT_FLUSH_INTERVAL") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(old_names_of_event_flags_still_work_with_a_warning) {
  event_sink sink;
  auto flags = joining(sink.port(), "node-a");
  flags.insert(flags.end(), {"--coordinator-l2-event-reporting", "--coordinator-l2-event-flush-interval", "0.05"});
  node it{flags};
  BOOST_TEST(it.process.output().find("--coordinator-l2-event-reporting is deprecated") != std::string::npos);
  BOOST_TEST(it.process.output().find("--coordinator-l2-event-flush-interval is deprecated") != std::string::npos);
  BOOST_TEST(eventually(10s, [&] { return !sink.batches().empty(); }));
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_stops_the_start) {
  node it;
  const auto run = run_mp_server({"--http-port", std::to_string(it.process.port())});
  BOOST_TEST_REQUIRE(run.status.has_value());
  BOOST_TEST(run.status->code == 1);
  BOOST_TEST(run.output.find("cannot listen on 127.0.0.1 port") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
