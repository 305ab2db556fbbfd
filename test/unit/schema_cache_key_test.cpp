#include "schema/cache_key.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <variant>

using namespace coordinator::schema;
using namespace std::string_literals;

namespace {

cache_key key_with_hash(std::string hex) {
  return {std::move(hex), "m", 0, 0, ""};
}

/// The hash after normalizing, or what is wrong.
std::string normalized_hash(std::string hex) {
  auto key = key_with_hash(std::move(hex));
  const auto problem = normalize(key);
  return problem ? *problem : key.chunk_hash_hex;
}

std::string problem_of(cache_key key) {
  return normalize(key).value_or("none");
}

} // namespace

BOOST_AUTO_TEST_SUITE(schema_cache_key_test)

BOOST_AUTO_TEST_CASE(a_key_is_its_five_fields_on_the_wire) {
  const cache_key key{"0a1b", "m", 16777472, 1, "tenant"};
  const auto text = to_json(key);
  BOOST_TEST(
      text
      == R"({"chunk_hash_hex":"0a1b","model_name":"m","kv_rank":16777472,"object_group_id":1,"cache_salt":"tenant"})");
  const auto read = parse<cache_key>(text, "application/json");
  BOOST_TEST_REQUIRE(std::holds_alternative<cache_key>(read));
  BOOST_TEST((std::get<cache_key>(read) == key));
}

BOOST_AUTO_TEST_CASE(group_and_salt_may_be_left_out) {
  const auto read = parse<cache_key>(R"({"chunk_hash_hex":"","model_name":"","kv_rank":-1})", "");
  BOOST_TEST_REQUIRE(std::holds_alternative<cache_key>(read));
  BOOST_TEST((std::get<cache_key>(read) == cache_key{"", "", -1, 0, ""}));
}

BOOST_AUTO_TEST_CASE(hashes_that_are_the_same_bytes_are_the_same_key) {
  BOOST_TEST(normalized_hash("0A1b") == "0a1b");
  BOOST_TEST(normalized_hash(" 0a\t1B\n") == "0a1b");
  BOOST_TEST(normalized_hash("") == "");
  auto upper = key_with_hash("AA");
  auto lower = key_with_hash("aa");
  BOOST_TEST((!normalize(upper) && !normalize(lower)));
  BOOST_TEST((upper == lower));
  BOOST_TEST(cache_key_hash{}(upper) == cache_key_hash{}(lower));
}

BOOST_AUTO_TEST_CASE(what_is_no_hexadecimal_is_refused) {
  for (const char* text : {"a", "zz", "0 a", "abc", "0x12", "aa-bb", "a a"})
    BOOST_TEST(normalized_hash(text) == "chunk_hash_hex must be pairs of hexadecimal digits", text);
}

BOOST_AUTO_TEST_CASE(names_groups_and_salts_keep_their_rules) {
  BOOST_TEST(problem_of({"aa", "a@b", 0, 0, ""}) == "model_name must not contain '@' (got 'a@b')");
  BOOST_TEST(problem_of({"aa", "m", 0, -1, ""}) == "object_group_id must be >= 0 (got -1)");
  BOOST_TEST(problem_of({"aa", "m", 0, 0, "a@b"}) == "cache_salt must not contain '@' (got 'a@b')");
  BOOST_TEST(problem_of({"aa", "m", 0, 0, "a/b"}) == "cache_salt must not contain '/' (got 'a/b')");
  BOOST_TEST(problem_of({"aa", "m", 0, 0, "a\\b"}) == "cache_salt must not contain '\\' (got 'a\\b')");
  BOOST_TEST(problem_of({"aa", "m", 0, 0, "a\0b"s}) == "cache_salt must not contain NUL");
  BOOST_TEST(problem_of({"aa", "org/model", -7, 3, "tenant-a"}) == "none");
}

BOOST_AUTO_TEST_CASE(a_salt_is_measured_in_characters) {
  std::string salt;
  for (std::size_t i = 0; i < max_cache_salt_characters; ++i)
    salt += "ä";
  BOOST_TEST(problem_of({"aa", "m", 0, 0, salt}) == "none");
  BOOST_TEST(problem_of({"aa", "m", 0, 0, salt + "x"}) == "cache_salt exceeds max length 128 (got 129)");
}

BOOST_AUTO_TEST_CASE(ranks_are_packed_as_servers_pack_them) {
  BOOST_TEST(pack_kv_rank(1, 0) == 16777472);
  BOOST_TEST(pack_kv_rank(2, 0) == 33554944);
  BOOST_TEST(pack_kv_rank(2, 1) == 33620481);
  BOOST_TEST(pack_kv_rank(4, 3) == 67306499);
  BOOST_TEST(pack_kv_rank(255, 254) == 0xFFFEFFFE);
  for (const std::uint32_t world_size : {1U, 2U, 4U, 255U})
    BOOST_TEST(world_size_of(pack_kv_rank(world_size, world_size - 1)) == world_size);
  BOOST_TEST(world_size_of(0) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
