#include "schema/cache_objects.hpp"
#include "schema/violation.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <string_view>
#include <variant>

using namespace coordinator::schema;

namespace {

template <class T>
T accepted(std::string_view body) {
  auto result = parse<T>(body, "application/json");
  if (const auto* found = std::get_if<violations>(&result))
    BOOST_REQUIRE_MESSAGE(false, body << " is refused: " << to_json(*found));
  return std::get<T>(std::move(result));
}

template <class T>
bool is_refused(std::string_view body) {
  return std::holds_alternative<violations>(parse<T>(body, "application/json"));
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_cache_objects_test)

BOOST_AUTO_TEST_CASE(a_deletion_that_names_keys_alone_is_for_the_first_l2_store) {
  const auto request =
      accepted<delete_objects_request>(R"({"keys":[{"chunk_hash_hex":"aa","model_name":"m","kv_rank":0}]})");
  BOOST_TEST(request.keys.size() == 1U);
  BOOST_TEST((request.tier == cache_tier::l2 && !request.force && !request.adapter));
  BOOST_TEST(!accepted<delete_objects_request>(R"({"keys":[],"adapter":null})").adapter);
  BOOST_TEST(*accepted<delete_objects_request>(R"({"keys":[],"adapter":"fs"})").adapter == "fs");
  BOOST_TEST((accepted<delete_objects_request>(R"({"keys":[],"tier":"all"})").tier == cache_tier::all));
}

BOOST_AUTO_TEST_CASE(a_deletion_of_the_wrong_shape_is_refused) {
  BOOST_TEST(is_refused<delete_objects_request>("{}"));
  BOOST_TEST(is_refused<delete_objects_request>(R"({"keys":{}})"));
  BOOST_TEST(is_refused<delete_objects_request>(R"({"keys":[{"model_name":"m","kv_rank":0}]})"));
  BOOST_TEST(is_refused<delete_objects_request>(R"({"keys":[],"tier":"L1"})"));
  BOOST_TEST(is_refused<delete_objects_request>(R"({"keys":[],"force":"maybe"})"));
  BOOST_TEST(is_refused<delete_objects_request>("no json"));
}

BOOST_AUTO_TEST_CASE(rules_of_keys_are_left_to_the_server) {
  BOOST_TEST(
      !is_refused<delete_objects_request>(R"({"keys":[{"chunk_hash_hex":"zz","model_name":"a@b","kv_rank":0}]})"));
}

BOOST_AUTO_TEST_CASE(a_deletion_tells_an_error_only_when_it_failed) {
  BOOST_TEST(to_json(delete_objects_reply{3, 1, true, {}}) == R"({"deleted":3,"skipped":1,"ok":true})");
  BOOST_TEST(to_json(delete_objects_reply{0, 0, false, "disk"})
             == R"({"deleted":0,"skipped":0,"ok":false,"error":"disk"})");
  BOOST_TEST(accepted<delete_objects_reply>(R"({"deleted":3,"skipped":1,"ok":false,"error":"x"})").error.value_or("")
             == "x");
}

BOOST_AUTO_TEST_CASE(the_last_page_says_null) {
  object_page page{"fs", false, {{{"aa", "m", 0, 0, ""}, 5}}, {}};
  BOOST_TEST(
      to_json(page)
      == R"({"adapter":"fs","shared":false,"entries":[{"key":{"chunk_hash_hex":"aa","model_name":"m","kv_rank":0,)"
         R"("object_group_id":0,"cache_salt":""},"size_bytes":5}],"next_page_token":null})");
  page.entries.clear();
  page.next_page_token = "7";
  BOOST_TEST(to_json(page) == R"({"adapter":"fs","shared":false,"entries":[],"next_page_token":"7"})");
}

BOOST_AUTO_TEST_CASE(a_prefetch_has_its_tiers_by_default) {
  const auto request = accepted<prefetch_request>(R"({"model_name":"m","world_size":2,"token_ids":[1,2]})");
  BOOST_TEST((request.source_tier == "l2" && request.target_tier == "l1" && request.cache_salt.empty()));
  BOOST_TEST(is_refused<prefetch_request>(R"({"model_name":"m","world_size":0,"token_ids":[]})"));
  BOOST_TEST(is_refused<prefetch_request>(R"({"model_name":"m","world_size":256,"token_ids":[]})"));
  BOOST_TEST(is_refused<prefetch_request>(R"({"model_name":"m","token_ids":[]})"));
  BOOST_TEST(is_refused<prefetch_request>(R"({"model_name":"m","world_size":1})"));
}

BOOST_AUTO_TEST_CASE(states_of_a_prefetch_are_the_bytes_that_are_relayed) {
  BOOST_TEST(to_json(prefetch_reply{"r", 2, "submitted"}) == R"({"request_id":"r","chunks":2,"status":"submitted"})");
  BOOST_TEST(to_json(prefetch_reply{{}, 0, "noop"}) == R"({"chunks":0,"status":"noop"})");
  BOOST_TEST(to_json(prefetch_status{"r", "pending", {}, {}}) == R"({"request_id":"r","status":"pending"})");
  BOOST_TEST(to_json(prefetch_status{"r", "completed", 3, 4})
             == R"({"request_id":"r","status":"completed","found_keys":3,"total_keys":4})");
}

BOOST_AUTO_TEST_CASE(clearing_says_what_was_cleared) {
  BOOST_TEST(to_json(clear_reply{}) == R"({"status":"ok","cleared":{"tier":"l1"}})");
  BOOST_TEST((accepted<clear_request>("{}").tier == cache_tier::l1));
}

BOOST_AUTO_TEST_SUITE_END()
