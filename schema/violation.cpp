#include "schema/violation.hpp"

#include "schema/codec_impl.hpp"

namespace coordinator::schema {

namespace {

/// A location, which mixes names and indexes.
struct location_rule {
  void write(std::string& out, const std::vector<location_step>& steps) const {
    out.push_back('[');
    bool is_first = true;
    for (const auto& step : steps) {
      if (!std::exchange(is_first, false))
        out.push_back(',');
      if (const auto* name = std::get_if<std::string>(&step))
        append_quoted(out, *name);
      else
        append_number(out, std::get<std::size_t>(step));
    }
    out.push_back(']');
  }

  void describe(json_writer& out) const {
    write_key(out, "type");
    write_string(out, "array");
    write_key(out, "items");
    out.StartObject();
    write_key(out, "type");
    out.StartArray();
    write_string(out, "string");
    write_string(out, "integer");
    out.EndArray();
    out.EndObject();
  }
};

/// A member that is JSON text already.
struct json_text_rule {
  std::string_view type; ///< What kind of value it is; empty: any.

  void write(std::string& out, std::string_view json) const { out.append(json); }
  void describe(json_writer& out) const {
    if (type.empty())
      return;
    write_key(out, "type");
    write_string(out, type);
  }
};

struct optional_json_text_rule : json_text_rule {
  bool omits(std::string_view json) const { return json.empty(); }
};

} // namespace

template <>
struct declaration<violation> {
  static constexpr std::string_view name = "violation";
  static constexpr std::string_view description = "One way in which a request breaks its schema.";
  static constexpr auto fields = std::make_tuple(
      required<"type">(&violation::type, "Stable name of the rule, such as `missing`."),
      required<"loc">(&violation::loc, location_rule{},
                      "Where: `body`, `query`, `path` or `header`, then member names and list indexes."),
      required<"msg">(&violation::msg, "What is wrong, for people."),
      required<"input">(&violation::input, json_text_rule{},
                        "The offending value; a string with the start of its JSON text when that is long."),
      optional<"ctx">(&violation::ctx, optional_json_text_rule{{"object"}}, "Parameters of the rule."));
};

template <>
struct declaration<violations_body> {
  static constexpr std::string_view name = "violations";
  static constexpr std::string_view description = "Everything that is wrong with a request, none of which was applied.";
  static constexpr auto fields = std::make_tuple(required<"detail">(
      &violations_body::detail, list_rule<object_rule<violation>>{}, "The violations, in the order of the schema."));
};

template void append_json(std::string&, const violation&);
template void append_json(std::string&, const violations_body&);
template named_schema json_schema<violation>();
template named_schema json_schema<violations_body>();

std::string to_json(const violations& found) {
  return to_json(violations_body{found});
}

} // namespace coordinator::schema
