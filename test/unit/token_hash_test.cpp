#include "actors/token_hash.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

using namespace coordinator;

namespace {

/// `count` tokens from `first` on.
std::vector<std::uint32_t> tokens_from(std::uint32_t first, std::size_t count) {
  std::vector<std::uint32_t> result(count);
  std::iota(result.begin(), result.end(), first);
  return result;
}

std::vector<std::string> hex_hashes(const std::vector<std::uint32_t>& tokens, std::size_t chunk_size) {
  std::vector<std::string> result;
  for (const auto& hash : chunk_hashes(tokens, chunk_size))
    result.push_back(to_hex(hash));
  return result;
}

using strings = std::vector<std::string>;

} // namespace

#define CHECK_STRINGS(actual, ...) BOOST_TEST((actual) == (strings __VA_ARGS__), boost::test_tools::per_element())

BOOST_AUTO_TEST_SUITE(token_hash_test)

BOOST_AUTO_TEST_CASE(hashes_are_those_that_servers_compute) {
  BOOST_TEST(to_hex(no_chunk_hash()) == "7e3eff9ef7613a50340eb12677ee03b83ac759fcba9bb32705f07248d56d473b");
  CHECK_STRINGS(hex_hashes(tokens_from(0, 12), 4),
                {"a2981a4d792b45f791d784bfd025148836ce3032f546cc490ef9fb7db9e639de",
                 "f76a7280af54e664fff4e1239c4a72936fedc49ba027e3a969a314ae980dbfd5",
                 "52cde0b920e22a78324ccefea623c5707678d56033320a60ba85eb2d7e13532e"});
  CHECK_STRINGS(hex_hashes(tokens_from(1, 8), 4), {"6309ed506b8721905753f5c73c070bb21c3aafbd9b474b1e231f41368b71123c",
                                                   "98efc76eafb06cfe774c31ff151f300b61a614c27982a211bb8cdbd83a8c0e19"});
  CHECK_STRINGS(hex_hashes(tokens_from(1, 4), 2), {"b793349025fede5d9e4218c8a42a367e674455ede57bdc17765aa8b5e5b47684",
                                                   "38f279467f3c4efeaa010563292499a8e4afa4f463e345e8d81ec4412b313538"});
}

BOOST_AUTO_TEST_CASE(a_chunk_alone_hashes_differently_from_one_that_follows_another) {
  CHECK_STRINGS(hex_hashes(tokens_from(5, 4), 4), {"e884fff61e95e1631af4fb9e33957730db5cfff9c632ff64b07ad8112fb9a2b1"});
}

BOOST_AUTO_TEST_CASE(tokens_take_part_with_all_their_32_bits) {
  CHECK_STRINGS(hex_hashes({4294967295, 0, 1, 16909060}, 4),
                {"07c5bee7528d2873af94de3215d764f878ba0e007a86642ba87a20f050374543"});
}

BOOST_AUTO_TEST_CASE(chunks_of_the_usual_size_are_longer_than_a_block_of_the_hash) {
  CHECK_STRINGS(hex_hashes(tokens_from(0, 512), 256),
                {"084547b6c40ed5b05ba8cd0305db5bf74d5617673948d9ed193ab7d6cbc484d4",
                 "e5ffee45c2b9db326814c9692dc594369887ba3b0df5761817820b60f864c8e0"});
  CHECK_STRINGS(hex_hashes(tokens_from(1000, 256), 256),
                {"d526d88f0c387e4049f866a4c572cbf658276fcae250b069051fd1fff3ad0579"});
}

BOOST_AUTO_TEST_CASE(only_complete_chunks_count) {
  BOOST_TEST(chunk_hashes({}, 4).empty());
  BOOST_TEST(chunk_hashes(tokens_from(0, 3), 4).empty());
  BOOST_TEST(hex_hashes(tokens_from(0, 10), 4) == hex_hashes(tokens_from(0, 8), 4), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(keys_go_through_the_workers_chunk_by_chunk) {
  const auto hashes = chunk_hashes(tokens_from(0, 8), 4);
  const auto keys = chunk_keys(hashes, "m", 2, "tenant");
  BOOST_TEST_REQUIRE(keys.size() == 4U);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    BOOST_TEST(keys[i].chunk_hash_hex == to_hex(hashes[i / 2]));
    BOOST_TEST(keys[i].model_name == "m");
    BOOST_TEST(keys[i].kv_rank == (i % 2 == 0 ? 33554944 : 33620481));
    BOOST_TEST(keys[i].object_group_id == 0);
    BOOST_TEST(keys[i].cache_salt == "tenant");
  }
}

BOOST_AUTO_TEST_SUITE_END()
