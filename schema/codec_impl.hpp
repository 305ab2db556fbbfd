#pragma once

// Makes the operations of codec.hpp out of a type's declaration. Include it where a type is declared, and instantiate
// there what the type needs:
//   template parsed<register_request> parse(std::string_view, std::string_view);
//   template void append_json(std::string&, const register_request&);
//   template named_schema json_schema<register_request>();

#include "schema/codec.hpp"
#include "schema/declaration.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace coordinator::schema {

/// Reads a body up to where its type starts to matter. The violation when it does not get there.
std::optional<violation> read_body(json_document& document, std::string_view body, std::string_view content_type);

/// Whether the declaration's rule leaves this value out of what is written.
template <class Rule, class Member>
bool is_omitted([[maybe_unused]] const Rule& rule, [[maybe_unused]] const Member& value) {
  if constexpr (requires { rule.omits(value); })
    return rule.omits(value);
  else
    return false;
}

template <class T>
void object_rule<T>::read(const json_value& value, T& target, violation_report& report) const {
  if (!value.IsObject())
    return report.add("model_attributes_type", "Input should be a valid dictionary or object to extract fields from",
                      value);
  const auto found_before = report.count();
  for_each_field<T>([&](const auto& field) {
    const auto here = report.inside(field.name());
    const auto name = field.name();
    const auto found =
        value.FindMember(json_value{rapidjson::StringRef(name.data(), static_cast<rapidjson::SizeType>(name.size()))});
    if (found != value.MemberEnd())
      field.rule.read(found->value, target.*field.member, report);
    else if (field.is_required)
      report.add("missing", "Field required", value);
  });
  if constexpr (requires { declaration<T>::check(target); })
    if (report.count() == found_before)
      if (const auto problem = declaration<T>::check(target))
        report.add_value_error(*problem, value);
}

template <class T>
void object_rule<T>::write(std::string& out, const T& value) const {
  out.push_back('{');
  bool is_first = true;
  for_each_field<T>([&](const auto& field) {
    const auto& member = value.*field.member;
    if (is_omitted(field.rule, member))
      return;
    out.append(field.key_after_comma().substr(std::exchange(is_first, false) ? 1 : 0));
    field.rule.write(out, member);
  });
  out.push_back('}');
}

template <class T>
void object_rule<T>::describe(json_writer& out) const {
  write_key(out, "$ref");
  write_string(out, std::string{"#/components/schemas/"}.append(declaration<T>::name));
}

template <class T>
parsed<T> parse(std::string_view body, std::string_view content_type) {
  json_document document;
  if (auto refused = read_body(document, body, content_type)) {
    violations found;
    found.push_back(std::move(*refused));
    return found;
  }
  violation_report report{"body"};
  T value;
  object_rule<T>{}.read(document.root(), value, report);
  if (report.count() > 0)
    return report.take();
  return value;
}

template <class T>
void append_json(std::string& out, const T& value) {
  object_rule<T>{}.write(out, value);
}

template <class T>
named_schema json_schema() {
  rapidjson::StringBuffer buffer;
  json_writer out{buffer};
  out.StartObject();
  write_key(out, "type");
  write_string(out, "object");
  write_key(out, "description");
  write_string(out, declaration<T>::description);
  write_key(out, "properties");
  out.StartObject();
  const T defaults{};
  for_each_field<T>([&](const auto& field) {
    write_key(out, field.name());
    out.StartObject();
    field.rule.describe(out);
    write_key(out, "description");
    write_string(out, field.description);
    const auto& member = defaults.*field.member;
    if (!field.is_required && !is_omitted(field.rule, member)) {
      std::string initial;
      field.rule.write(initial, member);
      write_key(out, "default");
      write_json(out, initial);
    }
    out.EndObject();
  });
  out.EndObject();
  write_key(out, "required");
  out.StartArray();
  for_each_field<T>([&](const auto& field) {
    if (field.is_required)
      write_string(out, field.name());
  });
  out.EndArray();
  out.EndObject();
  std::vector<named_schema> parts;
  for_each_field<T>([&](const auto& field) { add_parts_of(field.rule, parts); });
  return {std::string{declaration<T>::name}, {buffer.GetString(), buffer.GetSize()}, std::move(parts)};
}

} // namespace coordinator::schema
