#include "json.hpp"

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

#include <fmt/format.h>

#include <ostream>
#include <stdexcept>
#include <utility>

namespace coordinator::service_test {

struct json::document {
  rapidjson::Document root;
};

namespace {

const rapidjson::Value& as_value(const void* value) {
  return *static_cast<const rapidjson::Value*>(value);
}

[[noreturn]] void refuse(const char* wanted, const json& found) {
  throw std::runtime_error{fmt::format("not {}: {}", wanted, found.dump())};
}

} // namespace

json::json(std::shared_ptr<const document> owner, const void* value) : owner_{std::move(owner)}, value_{value} {}

json json::parse(std::string_view text) {
  auto owner = std::make_shared<document>();
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseFullPrecisionFlag;
  owner->root.Parse<flags>(text.data(), text.size());
  if (owner->root.HasParseError())
    throw std::runtime_error{fmt::format("not JSON ({} at byte {}): {}",
                                         rapidjson::GetParseError_En(owner->root.GetParseError()),
                                         owner->root.GetErrorOffset(), text.substr(0, 500))};
  const void* root = &static_cast<const rapidjson::Value&>(owner->root);
  return json{std::move(owner), root};
}

json json::operator[](std::string_view member) const {
  if (!is_object())
    refuse("an object", *this);
  const auto& value = as_value(value_);
  const rapidjson::Value name{rapidjson::StringRef(member.data(), static_cast<rapidjson::SizeType>(member.size()))};
  const auto found = value.FindMember(name);
  if (found == value.MemberEnd())
    throw std::runtime_error{fmt::format("no member '{}' in {}", member, dump())};
  return json{owner_, &found->value};
}

json json::operator[](std::size_t index) const {
  if (!is_array())
    refuse("an array", *this);
  if (index >= size())
    throw std::runtime_error{fmt::format("no item {} in {}", index, dump())};
  return json{owner_, &as_value(value_)[static_cast<rapidjson::SizeType>(index)]};
}

bool json::has(std::string_view member) const {
  if (!is_object())
    refuse("an object", *this);
  const rapidjson::Value name{rapidjson::StringRef(member.data(), static_cast<rapidjson::SizeType>(member.size()))};
  return as_value(value_).HasMember(name);
}

std::size_t json::size() const {
  if (is_object())
    return as_value(value_).MemberCount();
  if (is_array())
    return as_value(value_).Size();
  refuse("an object or array", *this);
}

std::vector<std::string> json::names() const {
  if (!is_object())
    refuse("an object", *this);
  std::vector<std::string> result;
  for (const auto& member : as_value(value_).GetObject())
    result.emplace_back(member.name.GetString(), member.name.GetStringLength());
  return result;
}

std::vector<json> json::items() const {
  if (!is_array())
    refuse("an array", *this);
  std::vector<json> result;
  for (const auto& item : as_value(value_).GetArray())
    result.push_back(json{owner_, &item});
  return result;
}

std::string json::text() const {
  if (!is_string())
    refuse("a string", *this);
  return {as_value(value_).GetString(), as_value(value_).GetStringLength()};
}

double json::number() const {
  if (!as_value(value_).IsNumber())
    refuse("a number", *this);
  return as_value(value_).GetDouble();
}

std::int64_t json::integer() const {
  if (!as_value(value_).IsInt64())
    refuse("an integer", *this);
  return as_value(value_).GetInt64();
}

bool json::boolean() const {
  if (!as_value(value_).IsBool())
    refuse("a boolean", *this);
  return as_value(value_).GetBool();
}

bool json::is_object() const {
  return as_value(value_).IsObject();
}

bool json::is_array() const {
  return as_value(value_).IsArray();
}

bool json::is_string() const {
  return as_value(value_).IsString();
}

std::string json::dump() const {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  as_value(value_).Accept(writer);
  return {buffer.GetString(), buffer.GetSize()};
}

bool json::operator==(const json& other) const {
  return as_value(value_) == as_value(other.value_);
}

std::ostream& operator<<(std::ostream& out, const json& value) {
  return out << value.dump();
}

std::string quoted(std::string_view text) {
  rapidjson::StringBuffer buffer;
  rapidjson::Writer<rapidjson::StringBuffer> writer{buffer};
  writer.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
  return {buffer.GetString(), buffer.GetSize()};
}

} // namespace coordinator::service_test
