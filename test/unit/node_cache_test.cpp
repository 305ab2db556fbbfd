#include "apps/mp_server/node_cache.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

using namespace mp_server;
using namespace std::chrono_literals;
using schema::cache_event_type;
using schema::cache_tier;

namespace {

constexpr auto rank = 16777472; // of the only worker

schema::cache_key key(std::string hash, std::string salt = "") {
  return {std::move(hash), "m", rank, 0, std::move(salt)};
}

std::vector<schema::cache_event_entry> entries(const std::vector<std::string>& hashes, std::int64_t size = 10) {
  std::vector<schema::cache_event_entry> result;
  for (const auto& hash : hashes)
    result.push_back({key(hash), size, {}, schema::unknown_token_offset});
  return result;
}

std::vector<schema::cache_key> keys(const std::vector<std::string>& hashes) {
  std::vector<schema::cache_key> result;
  for (const auto& hash : hashes)
    result.push_back(key(hash));
  return result;
}

struct fixture {
  node_cache cache = make({});
  time_point now{1h};
  int ids = 0;

  node_cache make(std::int64_t l1_capacity) {
    return node_cache{
        {4, l1_capacity, {{"fs", false}, {"s3", true}}, [this] { return "job-" + std::to_string(++ids); }}};
  }

  result<tally> store(const std::vector<std::string>& hashes, cache_tier tier,
                      const std::optional<std::string>& adapter = {}, std::optional<bool> shared = {}) {
    return cache.store(entries(hashes), tier, adapter, shared);
  }

  schema::prefetch_status poll(const std::string& id) {
    const auto polled = cache.poll_prefetch(id);
    BOOST_TEST_REQUIRE(polled.value() != nullptr);
    return *polled.value();
  }
};

/// Each change as `type tier backend hash`, with ` shared` behind it.
std::vector<std::string> shown(const changes& happened) {
  std::vector<std::string> result;
  for (const auto& each : happened)
    result.push_back(std::string{to_string(each.type)} + ' ' + std::string{to_string(each.where.tier)} + ' '
                     + each.where.backend + ' ' + each.what.key.chunk_hash_hex.substr(0, 4)
                     + (each.where.shared ? " shared" : ""));
  return result;
}

void check_changes(const changes& happened, const std::vector<std::string>& expected) {
  BOOST_TEST(shown(happened) == expected, boost::test_tools::per_element());
}

/// That many chunks of a sequence for that many workers.
schema::prefetch_request chunks(std::size_t count, std::uint32_t workers) {
  return {"m", workers, std::vector<std::int64_t>(4 * count), "", "l2", "l1"};
}

const schema::prefetch_request four_tokens{"m", 1, {1, 2, 3, 4}, "", "l2", "l1"};

} // namespace

BOOST_FIXTURE_TEST_SUITE(node_cache_test, fixture)

BOOST_AUTO_TEST_CASE(each_tier_and_store_reports_its_own_changes) {
  check_changes(store({"aa"}, cache_tier::l1).changed, {"store l1 dram aa"});
  check_changes(store({"aa"}, cache_tier::l2).changed, {"store l2 fs aa"});
  check_changes(store({"aa"}, cache_tier::l2, "s3").changed, {"store l2 s3 aa shared"});
  const auto gone = cache.delete_objects({keys({"aa", "bb"}), cache_tier::all, false, "s3"});
  check_changes(gone.changed, {"delete l1 dram aa", "delete l2 s3 aa shared"});
  BOOST_TEST(gone.value()->deleted == 3U); // of L1 what was there, of L2 what was asked for
  BOOST_TEST(cache.l2(0).size() == 1U);
}

BOOST_AUTO_TEST_CASE(an_object_in_a_shared_part_of_l1_is_deleted_from_there) {
  check_changes(store({"aa"}, cache_tier::l1, {}, true).changed, {"store l1 dram aa shared"});
  check_changes(cache.delete_objects({keys({"aa"}), cache_tier::l1}).changed, {"delete l1 dram aa shared"});
}

BOOST_AUTO_TEST_CASE(storing_again_replaces) {
  store({"aa"}, cache_tier::l1);
  cache.store(entries({"aa"}, 25), cache_tier::l1, {}, {});
  BOOST_TEST(cache.l1().size() == 1U);
  BOOST_TEST(cache.l1().bytes() == 25);
}

BOOST_AUTO_TEST_CASE(a_locked_object_stays_locked_when_it_is_stored_again) {
  store({"aa"}, cache_tier::l1);
  BOOST_TEST(cache.set_locked(keys({"aa", "bb"}), true).value()->skipped == 1U);
  store({"aa"}, cache_tier::l1);
  const auto kept = cache.delete_objects({keys({"aa"}), cache_tier::l1});
  BOOST_TEST((kept.value()->deleted == 0U && kept.value()->skipped == 1U && kept.changed.empty()));
  BOOST_TEST(cache.evict(keys({"aa"}), cache_tier::l1, {}).value()->skipped == 1U);
  cache.set_locked(keys({"aa"}), false);
  BOOST_TEST(cache.evict(keys({"aa"}), cache_tier::l1, {}).value()->done == 1U);
}

BOOST_AUTO_TEST_CASE(a_declined_deletion_tells_what_it_did_before) {
  store({"aa"}, cache_tier::l1);
  const auto outcome = cache.delete_objects({keys({"aa"}), cache_tier::all, false, "disk"});
  BOOST_TEST_REQUIRE(outcome.declined() != nullptr);
  BOOST_TEST((outcome.declined()->reason == refusal_reason::not_found));
  check_changes(outcome.changed, {"delete l1 dram aa"});
}

BOOST_AUTO_TEST_CASE(an_l2_store_that_fails_keeps_its_objects) {
  store({"aa"}, cache_tier::l2);
  const auto outcome = cache.delete_objects({keys({"aa"}), cache_tier::l2}, true);
  BOOST_TEST((!outcome.value()->ok && outcome.value()->deleted == 0U && outcome.value()->error.has_value()));
  BOOST_TEST(outcome.changed.empty());
  BOOST_TEST(cache.l2(0).size() == 1U);
}

BOOST_AUTO_TEST_CASE(l1_drops_the_least_recently_used_and_never_what_is_locked) {
  cache = make(30);
  store({"aa", "bb", "cc"}, cache_tier::l1);
  cache.set_locked(keys({"aa"}), true);
  check_changes(cache.access(keys({"bb", "ee"}), cache_tier::l1, {}).changed, {"access l1  bb"});
  check_changes(store({"dd"}, cache_tier::l1).changed, {"store l1 dram dd", "delete l1 dram cc"});
  check_changes(cache.store(entries({"ff"}, 25), cache_tier::l1, {}, {}).changed,
                {"store l1 dram ff", "delete l1 dram bb", "delete l1 dram dd", "delete l1 dram ff"});
  BOOST_TEST(cache.l1().bytes() == 10);
}

BOOST_AUTO_TEST_CASE(pages_go_on_where_they_ended_whatever_was_deleted_meanwhile) {
  store({"aa", "bb", "cc", "dd"}, cache_tier::l2);
  node_cache::page_query query;
  query.page_size = 2;
  const auto first = *cache.list_objects(query).value();
  BOOST_TEST(first.entries.size() == 2U);
  cache.delete_objects({keys({"aa", "bb", "cc"})});
  query.page_token = first.next_page_token;
  const auto second = *cache.list_objects(query).value();
  BOOST_TEST_REQUIRE(second.entries.size() == 1U);
  BOOST_TEST(second.entries[0].key.chunk_hash_hex == "dd");
  BOOST_TEST(!second.next_page_token);
}

BOOST_AUTO_TEST_CASE(a_page_that_ends_with_the_last_object_is_the_last) {
  store({"aa", "bb"}, cache_tier::l2);
  node_cache::page_query query;
  query.page_size = 2;
  BOOST_TEST(!cache.list_objects(query).value()->next_page_token);
}

BOOST_AUTO_TEST_CASE(a_load_is_done_when_it_is_due) {
  cache.store_tokens(four_tokens, 10, cache_tier::l2, {}, {});
  const auto submitted = cache.prefetch(four_tokens, 5s, now);
  BOOST_TEST(submitted.changed.empty());
  const auto id = *submitted.value()->request_id;
  BOOST_TEST(cache.advance(now + 4s).empty());
  BOOST_TEST(poll(id).status == "pending");
  BOOST_TEST(cache.l1().size() == 0U);
  check_changes(cache.advance(now + 5s), {"access l2 fs 6309", "store l1 dram 6309"});
  const auto done = poll(id);
  BOOST_TEST(done.status == "completed");
  BOOST_TEST((done.found_keys == 1U && done.total_keys == 1U));
  BOOST_TEST((cache.poll_prefetch(id).declined()->reason == refusal_reason::not_found));
}

BOOST_AUTO_TEST_CASE(a_load_finds_objects_in_any_store_and_counts_only_what_it_brought) {
  const schema::prefetch_request twelve{"m", 1, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}, "", "l2", "l1"};
  cache.store_tokens(four_tokens, 10, cache_tier::l1, {}, {});
  cache.store_tokens({"m", 1, {1, 2, 3, 4, 5, 6, 7, 8}, "", "l2", "l1"}, 10, cache_tier::l2, "s3", {});
  const auto submitted = cache.prefetch(twelve, 0s, now);
  check_changes(submitted.changed, {"access l1  6309", "access l2 s3 98ef shared", "store l1 dram 98ef"});
  const auto done = poll(*submitted.value()->request_id);
  BOOST_TEST((done.found_keys == 1U && done.total_keys == 3U));
}

BOOST_AUTO_TEST_CASE(only_layouts_of_which_something_was_stored_can_be_loaded) {
  const auto reason = [&](const schema::prefetch_request& request) {
    return cache.prefetch(request, 0s, now).declined()->reason;
  };
  BOOST_TEST((reason(four_tokens) == refusal_reason::unavailable));
  store({"aa"}, cache_tier::l1);
  BOOST_TEST((cache.prefetch({"m", 1, {}, "", "l2", "l1"}, 0s, now).value()->status == "noop"));
  BOOST_TEST((reason({"m", 2, {}, "", "l2", "l1"}) == refusal_reason::unavailable));
  BOOST_TEST((reason({"m", 1, {}, "a@b", "l2", "l1"}) == refusal_reason::invalid));
  BOOST_TEST((reason({"m", 1, {4294967296}, "", "l2", "l1"}) == refusal_reason::invalid));
  BOOST_TEST((reason({"m", 1, {}, "", "l1", "l2"}) == refusal_reason::invalid));
}

BOOST_AUTO_TEST_CASE(more_objects_than_a_request_may_be_for_are_refused_with_their_number) {
  cache.store_tokens({"m", 255, {1, 2, 3, 4}, "", "l2", "l1"}, 10, cache_tier::l1, {}, {});
  const auto stored = cache.l1().size();
  const auto too_many = chunks(most_objects_of_a_request / 255 + 1, 255);
  const auto load = cache.prefetch(too_many, 0s, now);
  const auto store = cache.store_tokens(too_many, 10, cache_tier::l1, {}, {});
  for (const auto* refused : {load.declined(), store.declined()}) {
    BOOST_TEST_REQUIRE(refused != nullptr);
    BOOST_TEST((refused->reason == refusal_reason::invalid));
    BOOST_TEST(refused->detail
               == "too many objects in a single request (limit=262144, got=262395: 1029 chunks for 255 workers)");
  }
  BOOST_TEST(cache.l1().size() == stored);
  BOOST_TEST(cache.prefetch(chunks(most_objects_of_a_request / 255, 255), 0s, now).value()->status == "submitted");
}

BOOST_AUTO_TEST_CASE(of_too_many_loads_that_nobody_asks_for_the_oldest_one_that_is_done_is_forgotten) {
  cache.store_tokens(four_tokens, 10, cache_tier::l2, {}, {});
  const auto pending = *cache.prefetch(four_tokens, 1h, now).value()->request_id;
  std::vector<std::string> done;
  for (std::size_t i = 0; i < most_loads; ++i)
    done.push_back(*cache.prefetch(four_tokens, 0s, now).value()->request_id);
  BOOST_TEST(cache.loads_under_way() == most_loads);
  BOOST_TEST((cache.poll_prefetch(done.front()).declined()->reason == refusal_reason::not_found));
  BOOST_TEST(poll(done[1]).status == "completed");
  BOOST_TEST(poll(done.back()).status == "completed");
  BOOST_TEST(poll(pending).status == "pending");
}

BOOST_AUTO_TEST_CASE(with_too_many_loads_pending_another_one_is_refused_until_they_are_done) {
  cache.store_tokens(four_tokens, 10, cache_tier::l2, {}, {});
  for (std::size_t i = 0; i < most_loads; ++i)
    BOOST_TEST_REQUIRE(cache.prefetch(four_tokens, 1s, now).value() != nullptr);
  BOOST_TEST((cache.prefetch(four_tokens, 0s, now).declined()->reason == refusal_reason::unavailable));
  BOOST_TEST(cache.loads_under_way() == most_loads);
  cache.advance(now + 1s);
  BOOST_TEST((cache.prefetch(four_tokens, 0s, now).value() != nullptr));
}

BOOST_AUTO_TEST_CASE(with_too_many_objects_pending_another_load_is_refused_until_they_are_done) {
  cache.store_tokens(four_tokens, 10, cache_tier::l2, {}, {});
  const auto large = chunks(most_objects_of_a_request / 2, 2);
  cache.store_tokens(chunks(1, 2), 10, cache_tier::l2, {}, {});
  BOOST_TEST_REQUIRE((most_pending_objects == 2 * most_objects_of_a_request));
  for (int i = 0; i < 2; ++i)
    BOOST_TEST_REQUIRE(cache.prefetch(large, 1s, now).value() != nullptr);
  BOOST_TEST((cache.prefetch(four_tokens, 0s, now).declined()->reason == refusal_reason::unavailable));
  cache.advance(now + 1s);
  const auto status = *cache.prefetch(four_tokens, 0s, now).value();
  BOOST_TEST(poll(*status.request_id).total_keys.value() == 1U);
}

BOOST_AUTO_TEST_CASE(stored_tokens_are_repeated_for_every_worker) {
  const auto stored =
      cache.store_tokens({"m", 2, {1, 2, 3, 4, 5, 6, 7, 8, 9}, "t", "l2", "l1"}, 7, cache_tier::l1, {}, {});
  BOOST_TEST_REQUIRE(stored.changed.size() == 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    const auto& entry = stored.changed[i].what;
    BOOST_TEST(entry.size_bytes == 7);
    BOOST_TEST(entry.token_offset == static_cast<std::int64_t>(i / 2 * 4));
    BOOST_TEST(entry.token_ids.front() == entry.token_offset + 1);
    BOOST_TEST(entry.token_ids.size() == 4U);
    BOOST_TEST(entry.key.cache_salt == "t");
  }
}

BOOST_AUTO_TEST_CASE(a_restart_loses_l1_and_loads_and_keeps_l2_without_a_word) {
  cache.store_tokens(four_tokens, 10, cache_tier::l2, {}, {});
  store({"aa"}, cache_tier::l1);
  cache.store({{{"bb", "other", rank, 0, ""}, 1, {}, -1}}, cache_tier::l1, {}, {});
  const auto id = *cache.prefetch(four_tokens, 5s, now).value()->request_id;
  cache.restart();
  BOOST_TEST(cache.l1().size() == 0U);
  BOOST_TEST(cache.l2(0).size() == 1U);
  BOOST_TEST((cache.poll_prefetch(id).declined()->reason == refusal_reason::not_found));
  BOOST_TEST((cache.prefetch(four_tokens, 0s, now).value() != nullptr));
  BOOST_TEST(
      (cache.prefetch({"other", 1, {}, "", "l2", "l1"}, 0s, now).declined()->reason == refusal_reason::unavailable));
}

BOOST_AUTO_TEST_CASE(objects_of_more_bytes_than_can_be_counted_are_refused_whole) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  const auto reason = [](const result<tally>& outcome) {
    BOOST_TEST_REQUIRE(outcome.declined() != nullptr);
    return outcome.declined()->reason;
  };
  BOOST_TEST((reason(cache.store(entries({"aa", "bb"}, most), cache_tier::l1, {}, {})) == refusal_reason::invalid));
  BOOST_TEST(cache.l1().size() == 0U);
  BOOST_TEST((cache.store(entries({"aa"}, most - 10), cache_tier::l1, {}, {}).value() != nullptr));
  BOOST_TEST((cache.store(entries({"bb"}, 10), cache_tier::l1, {}, {}).value() != nullptr));
  BOOST_TEST((reason(cache.store(entries({"cc"}, 1), cache_tier::l1, {}, {})) == refusal_reason::invalid));
  BOOST_TEST(cache.l1().bytes() == most);

  // L2 stores are summed up for quotas.
  BOOST_TEST((cache.store(entries({"aa"}, most), cache_tier::l2, "fs", {}).value() != nullptr));
  BOOST_TEST((reason(cache.store(entries({"aa"}, 1), cache_tier::l2, "s3", {})) == refusal_reason::invalid));
  BOOST_TEST(cache.l2_bytes_of("") == most);
}

BOOST_AUTO_TEST_CASE(a_load_leaves_out_what_has_more_bytes_than_can_be_counted) {
  constexpr auto most = std::numeric_limits<std::int64_t>::max();
  cache.store_tokens(four_tokens, 10, cache_tier::l2, {}, {});
  cache.store(entries({"aa"}, most - 9), cache_tier::l1, {}, {});
  const auto submitted = cache.prefetch(four_tokens, 0s, now);
  check_changes(submitted.changed, {"access l2 fs 6309"});
  BOOST_TEST(poll(*submitted.value()->request_id).found_keys.value() == 0U);
  BOOST_TEST(cache.l1().bytes() == most - 9);
}

BOOST_AUTO_TEST_CASE(quotas_are_kept_apart_and_usage_is_that_of_all_l2_stores) {
  for (const char* adapter : {"fs", "s3"})
    cache.store({{key("aa", "t"), 10, {}, -1}, {key("aa"), 5, {}, -1}}, cache_tier::l2, adapter, {});
  cache.store({{key("aa", "t"), 10, {}, -1}}, cache_tier::l1, {}, {});
  BOOST_TEST(cache.l2_bytes_of("t") == 20);
  BOOST_TEST(cache.l2_bytes_of("") == 10);
  BOOST_TEST(!cache.quota("t"));
  cache.set_quota("t", 1.5);
  BOOST_TEST(*cache.quota("t") == 1.5);
  BOOST_TEST(cache.remove_quota("t"));
  BOOST_TEST(!cache.remove_quota("t"));
}

BOOST_AUTO_TEST_SUITE_END()
