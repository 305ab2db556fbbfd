#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace coordinator::service_test {

/// A parsed JSON value, or a part of one. Every access that does not fit the value throws `std::runtime_error` with a
/// text that shows the value, so a test fails with its reason. Copies are cheap: they share the document.
class json {
public:
  static json parse(std::string_view text);

  json operator[](std::string_view member) const;
  json operator[](std::size_t index) const;
  bool has(std::string_view member) const;

  /// Members of an object or items of an array.
  std::size_t size() const;
  std::vector<std::string> names() const;
  std::vector<json> items() const;

  std::string text() const;
  double number() const;
  std::int64_t integer() const;
  bool boolean() const;
  bool is_object() const;
  bool is_array() const;
  bool is_string() const;

  std::string dump() const;

  /// Numbers compare by value, members of objects in any order.
  bool operator==(const json& other) const;

private:
  struct document;
  json(std::shared_ptr<const document> owner, const void* value);

  std::shared_ptr<const document> owner_;
  const void* value_; // a rapidjson::Value inside owner_
};

std::ostream& operator<<(std::ostream& out, const json& value);

/// `text` as a JSON string, quotes included.
std::string quoted(std::string_view text);

} // namespace coordinator::service_test
