#include "schema/cache_event.hpp"
#include "schema/violation.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <map>
#include <string>
#include <string_view>
#include <variant>

using namespace coordinator::schema;

namespace {

parsed<cache_events_request> read(std::string_view body) {
  return parse<cache_events_request>(body, "application/json");
}

cache_events_request accepted(std::string_view body) {
  auto result = read(body);
  if (const auto* found = std::get_if<violations>(&result))
    BOOST_REQUIRE_MESSAGE(false, body << " is refused: " << to_json(*found));
  return std::get<cache_events_request>(std::move(result));
}

using members = std::map<std::string, std::string>;

std::string object_of(const members& values) {
  std::string text;
  for (const auto& [name, json] : values)
    text += fmt::format("{}\"{}\":{}", text.empty() ? "" : ",", name, json);
  return "{" + text + "}";
}

/// A request of one batch that is good but for these members.
std::string request_with(const members& changed) {
  members batch{{"instance_id", R"("node-a")"}, {"incarnation", "7"}, {"seq", "1"},
                {"event_type", R"("store")"},   {"tier", R"("l1")"},  {"backend", R"("dram")"}};
  for (const auto& [name, json] : changed)
    batch[name] = json;
  return fmt::format(R"({{"batches":[{}]}})", object_of(batch));
}

std::string request_with_entry(const members& changed) {
  members entry{{"key", R"({"chunk_hash_hex":"aa","model_name":"m","kv_rank":0})"}};
  for (const auto& [name, json] : changed)
    entry[name] = json;
  return request_with({{"entries", "[" + object_of(entry) + "]"}});
}

struct refusal {
  std::string msg;
  std::string loc;
};

/// The only violation.
refusal refused(std::string_view body) {
  const auto result = read(body);
  BOOST_REQUIRE_MESSAGE(std::holds_alternative<violations>(result), body << " is accepted");
  const auto& found = std::get<violations>(result);
  BOOST_REQUIRE_EQUAL(found.size(), 1U);
  std::string loc;
  for (const auto& step : found.front().loc)
    loc += '/' + (step.index() == 0 ? std::get<0>(step) : std::to_string(std::get<1>(step)));
  return {found.front().msg, loc};
}

void check_batch_refused(const members& changed, const std::string& msg) {
  const auto found = refused(request_with(changed));
  BOOST_TEST(found.msg == "Value error, " + msg);
  BOOST_TEST(found.loc == "/body/batches/0");
}

void check_entry_refused(const members& changed, const std::string& msg) {
  const auto found = refused(request_with_entry(changed));
  BOOST_TEST(found.msg == "Value error, " + msg);
  BOOST_TEST(found.loc == "/body/batches/0/entries/0");
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_cache_event_test)

BOOST_AUTO_TEST_CASE(a_batch_is_written_with_every_field) {
  cache_event_batch batch{"node-a", 1790000000, 2, cache_event_type::removed, cache_tier::l2, "fs", {}};
  batch.entries.push_back({{"0a1b", "m", 16777472, 0, ""}, 0, {}, unknown_token_offset});
  BOOST_TEST(
      to_json(batch)
      == R"({"instance_id":"node-a","incarnation":1790000000,"seq":2,"event_type":"delete","tier":"l2","backend":"fs",)"
         R"("entries":[{"key":{"chunk_hash_hex":"0a1b","model_name":"m","kv_rank":16777472,)"
         R"("object_group_id":0,"cache_salt":""},)"
         R"("size_bytes":0,"token_ids":[],"token_offset":-1}],)"
         R"("shared":false,"ts":0.0,"capacity_bytes":0,"capacity_revision":0,"dropped_events":0})");
}

BOOST_AUTO_TEST_CASE(what_is_written_reads_back_the_same) {
  cache_events_request request;
  request.batches.push_back(
      {"node-a", 7, 1, cache_event_type::config, cache_tier::l1, "dram", {}, false, 1790000001.5, 42949672960, 1, 3});
  request.batches.push_back({"node-a",
                             7,
                             2,
                             cache_event_type::store,
                             cache_tier::l1,
                             "dram",
                             {{{"0a1b", "m", 16777472, 0, "t"}, 1048576, {1, 2, 3}, 0}},
                             true,
                             1790000001.5});
  BOOST_TEST((accepted(to_json(request)) == request));
}

BOOST_AUTO_TEST_CASE(old_emitters_may_leave_out_later_fields) {
  const auto request = accepted(request_with_entry({}));
  BOOST_TEST_REQUIRE(request.batches.size() == 1U);
  const auto& batch = request.batches.front();
  BOOST_TEST((!batch.shared && batch.ts == 0 && batch.capacity_bytes == 0 && batch.dropped_events == 0));
  BOOST_TEST_REQUIRE(batch.entries.size() == 1U);
  BOOST_TEST(batch.entries[0].token_offset == unknown_token_offset);
  BOOST_TEST(accepted("{}").batches.empty());
  accepted(request_with({{"capacity_reports", "[1]"}}));
}

BOOST_AUTO_TEST_CASE(keys_come_out_normalized) {
  const auto request =
      accepted(request_with_entry({{"key", R"({"chunk_hash_hex":"AA bB","model_name":"m","kv_rank":0})"}}));
  BOOST_TEST(request.batches[0].entries[0].key.chunk_hash_hex == "aabb");
}

BOOST_AUTO_TEST_CASE(an_access_needs_no_backend) {
  accepted(request_with({{"event_type", R"("access")"}, {"backend", R"("")"}}));
  check_batch_refused({{"backend", R"("")"}}, "backend must be non-empty for store batches");
  check_batch_refused({{"event_type", R"("delete")"}, {"backend", R"("")"}},
                      "backend must be non-empty for delete batches");
}

BOOST_AUTO_TEST_CASE(a_rule_about_a_batch_is_told_at_the_batch) {
  check_batch_refused({{"instance_id", R"("")"}}, "instance_id must be non-empty");
  check_batch_refused({{"incarnation", "-1"}}, "incarnation must be >= 0 (got -1)");
  check_batch_refused({{"seq", "0"}}, "seq must be >= 1 (got 0)");
  check_batch_refused({{"tier", R"("all")"}}, "cache events must target a concrete tier (got 'all')");
  check_batch_refused({{"ts", "-1"}}, "ts must be >= 0 (got -1)");
  check_batch_refused({{"capacity_bytes", "-1"}}, "capacity_bytes must be >= 0 (got -1)");
  check_batch_refused({{"capacity_revision", "-1"}}, "capacity_revision must be >= 0 (got -1)");
  check_batch_refused({{"dropped_events", "-1"}}, "dropped_events must be >= 0 (got -1)");
  check_batch_refused(
      {{"event_type", R"("config")"}, {"entries", R"([{"key":{"chunk_hash_hex":"aa","model_name":"m","kv_rank":0}}])"}},
      "config batches declare capacity and carry no entries");
}

BOOST_AUTO_TEST_CASE(a_rule_about_an_entry_is_told_at_the_entry) {
  check_entry_refused({{"size_bytes", "-1"}}, "size_bytes must be >= 0 (got -1)");
  check_entry_refused({{"token_offset", "-2"}}, "token_offset must be >= 0 or UNKNOWN_TOKEN_OFFSET (-1), got -2");
  check_entry_refused({{"key", R"({"chunk_hash_hex":"zz","model_name":"m","kv_rank":0})"}},
                      "chunk_hash_hex must be pairs of hexadecimal digits");
  check_entry_refused({{"key", R"({"chunk_hash_hex":"aa","model_name":"m@1","kv_rank":0})"}},
                      "model_name must not contain '@' (got 'm@1')");
}

BOOST_AUTO_TEST_CASE(a_field_of_the_wrong_type_is_told_at_the_field) {
  BOOST_TEST(refused(request_with({{"seq", "1.5"}})).loc == "/body/batches/0/seq");
  BOOST_TEST(refused(request_with({{"tier", R"("l3")"}})).loc == "/body/batches/0/tier");
  BOOST_TEST(refused(request_with_entry({{"token_ids", "7"}})).loc == "/body/batches/0/entries/0/token_ids");
  BOOST_TEST(refused(request_with_entry({{"key", R"({"model_name":"m","kv_rank":0})"}})).loc
             == "/body/batches/0/entries/0/key/chunk_hash_hex");
}

BOOST_AUTO_TEST_CASE(replies_are_what_emitters_expect) {
  BOOST_TEST(to_json(cache_events_reply{1, 2, 3}) == R"({"applied":1,"duplicates":2,"stale":3})");
}

BOOST_AUTO_TEST_SUITE_END()
