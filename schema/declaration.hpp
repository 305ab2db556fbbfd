#pragma once

#include "schema/codec.hpp"
#include "schema/rules.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace coordinator::schema {

/// Everything there is to say about a wire type. A type is declared by specialising this with
///   static constexpr std::string_view name         its name among the schemas of the OpenAPI document,
///   static constexpr std::string_view description  a sentence for the reader of that document,
///   static constexpr auto fields                   a tuple of `required` and `optional` fields, in the order of the
///   wire.
/// and, when there are rules that no single field can tell,
///   static std::optional<std::string> check(T& value)  what is wrong with a value whose fields are all good, else
///   empty; may bring the value into a normal form.
/// Parsing, violations, serialising and the schema follow from it (codec_impl.hpp). The type itself is a plain struct
/// whose member initialisers are the defaults of optional fields.
template <class T>
struct declaration;

/// The name of a field as a template argument, so that its JSON key is made when compiling.
template <std::size_t Size>
struct field_name {
  char text[Size]{};

  consteval field_name(const char (&literal)[Size]) {
    for (std::size_t i = 0; i + 1 < Size; ++i) {
      if (literal[i] < ' ' || literal[i] > '~' || literal[i] == '"' || literal[i] == '\\')
        throw "a name that is written without escapes is needed";
      text[i] = literal[i];
    }
  }

  constexpr std::string_view view() const { return {text, Size - 1}; }
};

/// One field of `Object`.
template <field_name Name, class Object, class Member, class Rule>
struct field {
  Member Object::*member;
  bool is_required;
  Rule rule;
  std::string_view description;

  static constexpr std::string_view name() { return Name.view(); }

  /// The name as it stands in front of the value, after a comma: `,"name":`.
  static constexpr std::string_view key_after_comma() { return {key_text.data(), key_text.size()}; }

private:
  static constexpr auto key_text = [] {
    std::array<char, name().size() + 4> text{',', '"'};
    std::copy(name().begin(), name().end(), text.begin() + 2);
    text[text.size() - 2] = '"';
    text[text.size() - 1] = ':';
    return text;
  }();
};

// -- rules for values that hold other values ---------------------------------
//
// These have one operation more: `add_parts(parts)` adds the schemas that `describe` refers to.

template <class Rule>
void add_parts_of([[maybe_unused]] const Rule& rule, [[maybe_unused]] std::vector<named_schema>& parts) {
  if constexpr (requires { rule.add_parts(parts); })
    rule.add_parts(parts);
}

/// A nested value of a declared type.
template <class T>
struct object_rule {
  void read(const json_value& value, T& target, violation_report& report) const;
  void write(std::string& out, const T& value) const;
  void describe(json_writer& out) const;
  void add_parts(std::vector<named_schema>& parts) const { parts.push_back(json_schema<T>()); }
};

/// A list of any length.
template <class Item>
struct list_rule {
  Item item;

  template <class T>
  void read(const json_value& value, std::vector<T>& target, violation_report& report) const {
    if (!value.IsArray())
      return report.add("list_type", "Input should be a valid list", value);
    target.clear();
    if constexpr (sizeof(T) <= sizeof(json_value)) // then it takes no more than the document has taken
      target.reserve(value.Size());
    std::size_t index = 0;
    for (auto element = value.Begin(); element != value.End(); ++element, ++index) {
      const auto here = report.inside(index);
      item.read(*element, target.emplace_back(), report);
      // Nothing will come of it: don't let millions of small wrong items become millions of large objects.
      if (report.count() > 0)
        target.clear();
    }
  }

  template <class Range>
  void write(std::string& out, const Range& values) const {
    out.push_back('[');
    bool is_first = true;
    for (const auto& value : values) {
      if (!std::exchange(is_first, false))
        out.push_back(',');
      item.write(out, value);
    }
    out.push_back(']');
  }

  void describe(json_writer& out) const {
    write_key(out, "type");
    write_string(out, "array");
    write_key(out, "items");
    out.StartObject();
    item.describe(out);
    out.EndObject();
  }

  void add_parts(std::vector<named_schema>& parts) const { add_parts_of(item, parts); }
};

/// A value that may be missing: not written when unset; `null` is read as missing.
template <class Inner>
struct optional_rule {
  Inner inner;

  template <class T>
  void read(const json_value& value, std::optional<T>& target, violation_report& report) const {
    if (value.IsNull())
      target.reset();
    else
      inner.read(value, target.emplace(), report);
  }
  template <class T>
  void write(std::string& out, const std::optional<T>& value) const {
    inner.write(out, *value);
  }
  template <class T>
  bool omits(const std::optional<T>& value) const {
    return !value.has_value();
  }
  void describe(json_writer& out) const { inner.describe(out); }
  void add_parts(std::vector<named_schema>& parts) const { add_parts_of(inner, parts); }
};

/// A value that may be `null`, and is written as that when unset.
template <class Inner>
struct nullable_rule {
  Inner inner;

  template <class T>
  void read(const json_value& value, std::optional<T>& target, violation_report& report) const {
    optional_rule<Inner>{inner}.read(value, target, report);
  }
  template <class T>
  void write(std::string& out, const std::optional<T>& value) const {
    if (value)
      inner.write(out, *value);
    else
      out.append("null");
  }
  void describe(json_writer& out) const {
    write_key(out, "anyOf");
    out.StartArray();
    out.StartObject();
    inner.describe(out);
    out.EndObject();
    out.StartObject();
    write_key(out, "type");
    write_string(out, "null");
    out.EndObject();
    out.EndArray();
  }
  void add_parts(std::vector<named_schema>& parts) const { add_parts_of(inner, parts); }
};

/// The rule of a member for which the declaration gives none.
template <class Member>
struct default_rule {
  using type = object_rule<Member>;
};
template <>
struct default_rule<std::string> {
  using type = text_rule;
};
template <>
struct default_rule<bool> {
  using type = boolean_rule;
};
template <std::integral Int>
struct default_rule<Int> {
  using type = integer_rule<Int>;
};
template <>
struct default_rule<double> {
  using type = number_rule;
};
template <>
struct default_rule<string_map_rule::map> {
  using type = string_map_rule;
};
template <class T>
struct default_rule<std::vector<T>> {
  using type = list_rule<typename default_rule<T>::type>;
};
template <class T>
struct default_rule<std::optional<T>> {
  using type = optional_rule<typename default_rule<T>::type>;
};

// -- fields ------------------------------------------------------------------

/// A field that a request must have, and a reply always has.
template <field_name Name, class Object, class Member, class Rule>
constexpr field<Name, Object, Member, Rule> required(Member Object::*member, Rule rule, std::string_view description) {
  return {member, true, rule, description};
}

template <field_name Name, class Object, class Member>
constexpr auto required(Member Object::*member, std::string_view description) {
  return required<Name>(member, typename default_rule<Member>::type{}, description);
}

/// A field that a request may leave out: the member then keeps its initial value. In a reply it may be missing.
template <field_name Name, class Object, class Member, class Rule>
constexpr field<Name, Object, Member, Rule> optional(Member Object::*member, Rule rule, std::string_view description) {
  return {member, false, rule, description};
}

template <field_name Name, class Object, class Member>
constexpr auto optional(Member Object::*member, std::string_view description) {
  return optional<Name>(member, typename default_rule<Member>::type{}, description);
}

/// Calls `action` with each field of `T`, in order.
template <class T, class Action>
constexpr void for_each_field(Action action) {
  std::apply([&action](const auto&... each) { (action(each), ...); }, declaration<T>::fields);
}

} // namespace coordinator::schema
