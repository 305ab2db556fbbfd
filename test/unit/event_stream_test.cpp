#include "apps/mp_server/event_stream.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <variant>
#include <vector>

using namespace mp_server;
using namespace std::chrono_literals;
using schema::cache_event_type;
using schema::cache_tier;
using delivery = event_stream::delivery;

namespace {

const compartment dram{cache_tier::l1, "dram", false};
const compartment fs{cache_tier::l2, "fs", false};
const compartment shared_fs{cache_tier::l2, "fs", true};

change made(cache_event_type type, const compartment& where, std::string hash = "aa") {
  return {type, where, {{std::move(hash), "m", 0, 0, ""}, 10, {}, schema::unknown_token_offset}};
}

/// So many stores in one batch.
changes stores(std::size_t count) {
  return changes(count, made(cache_event_type::store, dram));
}

std::vector<schema::cache_event_batch> batches_in(const event_stream::post& post) {
  return std::get<schema::cache_events_request>(
             schema::parse<schema::cache_events_request>(post.body, "application/json"))
      .batches;
}

struct fixture {
  event_stream stream{"node-a", 7};
  time_point now{1h};

  /// Posts what there is, successfully, and returns the batches.
  std::vector<schema::cache_event_batch> posted() {
    std::vector<schema::cache_event_batch> result;
    while (const auto post = stream.next(now)) {
      for (auto& batch : batches_in(*post))
        result.push_back(std::move(batch));
      stream.on_result(post->id, delivery::done, now);
    }
    return result;
  }

  /// Posts once, with that outcome, and returns how many batches there were.
  std::size_t post(delivery outcome) {
    const auto made_post = stream.next(now);
    BOOST_TEST_REQUIRE(made_post.has_value());
    stream.on_result(made_post->id, outcome, now);
    return batches_in(*made_post).size();
  }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(event_stream_test, fixture)

BOOST_AUTO_TEST_CASE(consecutive_changes_of_one_kind_at_one_place_share_a_batch) {
  stream.record({made(cache_event_type::store, dram, "aa"), made(cache_event_type::store, dram, "bb")});
  stream.record({made(cache_event_type::store, dram, "cc"), made(cache_event_type::store, fs),
                 made(cache_event_type::store, shared_fs), made(cache_event_type::removed, shared_fs),
                 made(cache_event_type::store, dram)});
  stream.flush(1790000000.5);
  const auto batches = posted();
  std::vector<std::size_t> sizes;
  for (std::size_t i = 0; i < batches.size(); ++i) {
    sizes.push_back(batches[i].entries.size());
    BOOST_TEST(batches[i].instance_id == "node-a");
    BOOST_TEST(batches[i].incarnation == 7);
    BOOST_TEST(batches[i].seq == static_cast<std::int64_t>(i) + 1);
    BOOST_TEST(batches[i].ts == 1790000000.5);
  }
  BOOST_TEST(sizes == (std::vector<std::size_t>{3, 1, 1, 1, 1}), boost::test_tools::per_element());
  BOOST_TEST((batches[2].shared && batches[3].event_type == cache_event_type::removed && !batches[4].shared));
}

BOOST_AUTO_TEST_CASE(what_is_stored_deleted_and_stored_again_is_three_batches) {
  for (const auto type : {cache_event_type::store, cache_event_type::removed, cache_event_type::store})
    stream.record({made(type, dram)});
  stream.flush(1);
  BOOST_TEST(posted().size() == 3U);
}

BOOST_AUTO_TEST_CASE(a_flush_ends_a_batch_and_does_nothing_when_nothing_happened) {
  stream.record(stores(1));
  stream.flush(1);
  stream.record(stores(1));
  stream.flush(2);
  stream.flush(3);
  const auto batches = posted();
  BOOST_TEST_REQUIRE(batches.size() == 2U);
  BOOST_TEST((batches[0].ts == 1 && batches[1].ts == 2));
  BOOST_TEST(stream.empty());
}

BOOST_AUTO_TEST_CASE(a_declaration_goes_first_and_a_newer_one_replaces_it) {
  stream.record(stores(1));
  stream.declare({{dram, 1}});
  stream.declare({{dram, 5}, {shared_fs, 0}});
  stream.flush(1);
  stream.declare({{dram, 6}});
  stream.flush(2);
  const auto batches = posted();
  BOOST_TEST_REQUIRE(batches.size() == 4U);
  BOOST_TEST((batches[0].event_type == cache_event_type::config && batches[0].capacity_bytes == 5));
  BOOST_TEST((batches[1].event_type == cache_event_type::config && batches[1].shared));
  BOOST_TEST((batches[0].capacity_revision == 1 && batches[1].capacity_revision == 1));
  BOOST_TEST((batches[2].event_type == cache_event_type::store && batches[2].capacity_revision == 0));
  BOOST_TEST((batches[3].capacity_revision == 2 && batches[3].capacity_bytes == 6 && batches[3].seq == 4));
}

BOOST_AUTO_TEST_CASE(one_post_is_under_way_at_a_time) {
  stream.record(stores(1));
  stream.flush(1);
  const auto first = stream.next(now);
  BOOST_TEST_REQUIRE(first.has_value());
  stream.record(stores(1));
  stream.flush(2);
  BOOST_TEST(!stream.next(now).has_value());
  BOOST_TEST(!stream.wake().has_value());
  stream.on_result(first->id + 1, delivery::done, now); // of nobody's post
  BOOST_TEST(!stream.next(now).has_value());
  stream.on_result(first->id, delivery::done, now);
  BOOST_TEST(stream.next(now).has_value());
}

BOOST_AUTO_TEST_CASE(posts_are_bounded_but_never_split_a_batch) {
  for (int i = 0; i < 3; ++i) {
    stream.record(stores(1000));
    stream.record({made(cache_event_type::removed, dram)});
  }
  stream.record(stores(5000));
  stream.record({made(cache_event_type::removed, dram)});
  stream.flush(1);
  BOOST_TEST(post(delivery::done) == 4U); // 2002 entries
  BOOST_TEST(post(delivery::done) == 2U); // 1001; the next one has too many
  BOOST_TEST(post(delivery::done) == 1U); // and goes alone
  BOOST_TEST(post(delivery::done) == 1U);
  BOOST_TEST(stream.empty());
}

BOOST_AUTO_TEST_CASE(a_failed_post_is_made_again_after_a_pause_that_doubles) {
  stream.record(stores(1));
  stream.flush(1);
  for (const auto pause : {500ms, 1000ms, 2000ms, 4000ms, 8000ms, 16'000ms, 30'000ms, 30'000ms}) {
    BOOST_TEST(post(delivery::failed) == 1U);
    BOOST_TEST((stream.wake() == now + pause));
    now += pause - 1ms;
    BOOST_TEST(!stream.next(now).has_value());
    now += 1ms;
  }
  BOOST_TEST(post(delivery::done) == 1U);
  stream.record(stores(1));
  stream.flush(2);
  BOOST_TEST(post(delivery::failed) == 1U);
  BOOST_TEST((stream.wake() == now + 500ms));
  BOOST_TEST(stream.dropped_events() == 0U);
}

BOOST_AUTO_TEST_CASE(a_refused_post_is_lost_and_later_batches_say_so) {
  stream.declare({{dram, 1}});
  stream.record(stores(3));
  stream.flush(1);
  BOOST_TEST(post(delivery::refused) == 2U);
  BOOST_TEST(stream.dropped_events() == 3U); // a declaration holds no events
  stream.record(stores(1));
  stream.flush(2);
  const auto batches = posted();
  BOOST_TEST_REQUIRE(batches.size() == 1U);
  BOOST_TEST((batches[0].dropped_events == 3 && batches[0].seq == 3));
}

BOOST_AUTO_TEST_CASE(while_posts_fail_the_oldest_events_make_room_for_new_ones) {
  for (int i = 0; i < 10; ++i) {
    stream.record(stores(2000));
    stream.flush(1);
  }
  BOOST_TEST(stream.dropped_events() == 0U);
  post(delivery::failed);
  BOOST_TEST(stream.dropped_events() == 4000U); // 16,000 of 16,384 are kept
  now += 1min;
  const auto batches = posted();
  BOOST_TEST_REQUIRE(batches.size() == 8U);
  BOOST_TEST(batches.front().seq == 3);
}

BOOST_AUTO_TEST_CASE(a_single_large_batch_is_kept_whatever_its_size) {
  stream.record(stores(20'000));
  stream.flush(1);
  post(delivery::failed);
  BOOST_TEST(stream.dropped_events() == 0U);
  now += 1s;
  BOOST_TEST(posted().size() == 1U);
}

BOOST_AUTO_TEST_CASE(a_restart_forgets_everything_and_counts_anew) {
  stream.record(stores(1));
  stream.flush(1);
  const auto under_way = stream.next(now);
  stream.declare({{dram, 1}});
  stream.restart(8);
  BOOST_TEST(stream.empty());
  stream.declare({{dram, 1}});
  stream.record(stores(1));
  stream.flush(2);
  stream.on_result(under_way->id, delivery::refused, now); // comes late, and is not about any of these
  BOOST_TEST(stream.dropped_events() == 0U);
  const auto batches = posted();
  BOOST_TEST_REQUIRE(batches.size() == 2U);
  BOOST_TEST((batches[0].incarnation == 8 && batches[0].seq == 1 && batches[0].capacity_revision == 1));
}

BOOST_AUTO_TEST_SUITE_END()
