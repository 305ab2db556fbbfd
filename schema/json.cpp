#include "schema/json.hpp"

#include "schema/json_text.hpp"
#include "schema/utf8.hpp"
#include "schema/violation.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <stdexcept>
#include <system_error>
#include <utility>
#include <vector>

namespace coordinator::schema {

namespace {

/// A RapidJSON assertion that failed.
struct json_assertion : std::logic_error {
  using std::logic_error::logic_error;
};

// kParseNumbersAsStringsFlag because RapidJSON's own conversions can't be trusted with hostile input: with
// kParseFullPrecisionFlag, 0.0000000000000000000000000000001e-323 reads far outside of a table and 0.1e-2147483639
// overflows an int. Numbers are converted in `tree_builder`, exactly and in every case.
constexpr unsigned parse_flags =
    rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;

constexpr std::string_view out_of_range = "A number is out of range";

/// Passes the reader's events on to the document, refuses what we don't accept, and notes where each name ends.
class tree_builder : public rapidjson::BaseReaderHandler<rapidjson::UTF8<>, tree_builder> {
public:
  tree_builder(rapidjson::Document& document, const rapidjson::MemoryStream& stream)
      : document_{document}, stream_{stream} {}

  // NOLINTBEGIN(readability-identifier-naming): these names are RapidJSON's
  bool Null() { return document_.Null(); }
  bool Bool(bool value) { return document_.Bool(value); }
  bool RawNumber(const char* text, rapidjson::SizeType length, bool) { return number({text, length}); }
  bool String(const char* text, rapidjson::SizeType length, bool) {
    return has_only_whole_characters({text, length}) && document_.String(text, length, true);
  }
  bool StartObject() { return descend() && document_.StartObject(); }
  bool Key(const char* text, rapidjson::SizeType length, bool) {
    name_ends_.push_back(stream_.Tell());
    return has_only_whole_characters({text, length}) && document_.Key(text, length, true);
  }
  bool EndObject(rapidjson::SizeType count) {
    --depth_;
    return document_.EndObject(count);
  }
  bool StartArray() { return descend() && document_.StartArray(); }
  bool EndArray(rapidjson::SizeType count) {
    --depth_;
    return document_.EndArray(count);
  }
  // NOLINTEND(readability-identifier-naming)

  /// Why an event was refused; empty when none was.
  const std::string& refusal() const noexcept { return refusal_; }

  /// Byte offset of the end of each member name, in the order of the text.
  const std::vector<std::size_t>& name_ends() const noexcept { return name_ends_; }

private:
  bool refuse(std::string reason) {
    refusal_ = std::move(reason);
    return false;
  }

  bool descend() {
    if (++depth_ > max_json_depth)
      return refuse("Nested deeper than " + std::to_string(max_json_depth) + " levels");
    return true;
  }

  /// The reader checks raw bytes, yet turns an escape such as `\udc00` into the three bytes of a lone surrogate.
  bool has_only_whole_characters(std::string_view text) {
    for (auto at = text.find('\xED'); at != std::string_view::npos; at = text.find('\xED', at + 1))
      if (utf8_sequence(text, at) == 0)
        return refuse("A surrogate without its other half in a string");
    return true;
  }

  bool number(std::string_view text) {
    const char* const end = text.data() + text.size();
    if (text.find_first_of(".eE") == std::string_view::npos) {
      // A whole number that does not fit in 64 bits becomes a double below.
      if (text.front() == '-') {
        std::int64_t value = 0;
        if (std::from_chars(text.data(), end, value).ec == std::errc{})
          return document_.Int64(value);
      } else {
        std::uint64_t value = 0;
        if (std::from_chars(text.data(), end, value).ec == std::errc{})
          return document_.Uint64(value);
      }
    }
    double value = 0;
    if (std::from_chars(text.data(), end, value).ec != std::errc{})
      return refuse(std::string{out_of_range});
    return document_.Double(value);
  }

  rapidjson::Document& document_;
  const rapidjson::MemoryStream& stream_;
  std::vector<std::size_t> name_ends_;
  std::size_t depth_ = 0;
  std::string refusal_;
};

/// Finds a name that occurs twice in one object, in time n log n however many there are.
class duplicate_search {
public:
  explicit duplicate_search(const std::vector<std::size_t>& name_ends) : name_ends_{name_ends} {}

  /// Byte offset of the end of the first repeated name of the text.
  std::optional<std::size_t> in(const json_value& root) {
    visit(root);
    return found_;
  }

private:
  struct name {
    std::string_view text;
    std::size_t end;
  };

  void visit(const json_value& value) {
    if (value.IsObject()) {
      const auto start = names_.size();
      for (auto member = value.MemberBegin(); member != value.MemberEnd(); ++member) {
        names_.push_back({text_of(member->name), name_ends_[visited_names_++]});
        visit(member->value);
      }
      compare_from(start);
      names_.resize(start);
    } else if (value.IsArray()) {
      for (auto item = value.Begin(); item != value.End(); ++item)
        visit(*item);
    }
  }

  void compare_from(std::size_t start) {
    const auto first = names_.begin() + static_cast<std::ptrdiff_t>(start);
    // Comparing lengths first settles most pairs without looking at the text.
    std::sort(first, names_.end(), [](const name& left, const name& right) {
      if (left.text.size() != right.text.size())
        return left.text.size() < right.text.size();
      const auto order = left.text.compare(right.text);
      return order != 0 ? order < 0 : left.end < right.end;
    });
    for (auto at = first; at != names_.end() && at + 1 != names_.end(); ++at)
      if (at->text == (at + 1)->text)
        found_ = std::min(found_.value_or((at + 1)->end), (at + 1)->end);
  }

  const std::vector<std::size_t>& name_ends_;
  std::size_t visited_names_ = 0;
  std::vector<name> names_; // of the objects from the root down to the one being visited
  std::optional<std::size_t> found_;
};

struct error_at_byte {
  std::size_t offset;
  std::string reason;
};

std::string reason_of(rapidjson::ParseErrorCode code) {
  if (code == rapidjson::kParseErrorNumberTooBig)
    return std::string{out_of_range};
  std::string_view reason = rapidjson::GetParseError_En(code);
  if (reason.ends_with('.'))
    reason.remove_suffix(1);
  return std::string{reason};
}

std::optional<error_at_byte> read_tree(rapidjson::Document& document, std::string_view text) {
  rapidjson::MemoryStream stream{text.data(), text.size()};
  tree_builder builder{document, stream};
  rapidjson::Reader reader;
  rapidjson::ParseResult result;
  auto parse = [&](rapidjson::Document&) {
    result = reader.Parse<parse_flags>(stream, builder);
    return !result.IsError();
  };
  document.Populate(parse);
  if (result.IsError()) {
    if (result.Code() == rapidjson::kParseErrorTermination)
      return error_at_byte{result.Offset(), builder.refusal()};
    // For the reader these are bad escapes. The offset of a real one is that of its backslash.
    if (result.Code() == rapidjson::kParseErrorStringEscapeInvalid && text[result.Offset()] != '\\')
      return error_at_byte{result.Offset(), "Control character in string"};
    return error_at_byte{result.Offset(), reason_of(result.Code())};
  }
  // The reader takes NUL for the end of the text.
  if (stream.Tell() != text.size())
    return error_at_byte{stream.Tell(), reason_of(rapidjson::kParseErrorDocumentRootNotSingular)};
  if (const auto offset = duplicate_search{builder.name_ends()}.in(document))
    return error_at_byte{*offset, "A member occurs twice in an object"};
  return std::nullopt;
}

/// Appends `value` as JSON, giving up once `out` is longer than can be echoed. False when it gave up.
bool append_until_full(std::string& out, const json_value& value) {
  const auto has_room = [&out] { return out.size() <= max_echoed_input; };
  const auto append_text = [&](const json_value& string) {
    append_quoted_start(out, text_of(string));
    return has_room();
  };
  switch (value.GetType()) {
  case rapidjson::kNullType:
    out.append("null");
    break;
  case rapidjson::kFalseType:
  case rapidjson::kTrueType:
    append_boolean(out, value.IsTrue());
    break;
  case rapidjson::kStringType:
    return append_text(value);
  case rapidjson::kNumberType:
    if (value.IsUint64())
      append_number(out, value.GetUint64());
    else if (value.IsInt64())
      append_number(out, value.GetInt64());
    else
      append_number(out, value.GetDouble());
    break;
  case rapidjson::kObjectType: {
    char separator = '{';
    for (auto member = value.MemberBegin(); member != value.MemberEnd(); ++member) {
      out.push_back(std::exchange(separator, ','));
      if (!append_text(member->name))
        return false;
      out.push_back(':');
      if (!append_until_full(out, member->value))
        return false;
    }
    out.append(separator == '{' ? "{}" : "}");
    break;
  }
  case rapidjson::kArrayType: {
    char separator = '[';
    for (auto item = value.Begin(); item != value.End(); ++item) {
      out.push_back(std::exchange(separator, ','));
      if (!append_until_full(out, *item))
        return false;
    }
    out.append(separator == '[' ? "[]" : "]");
    break;
  }
  }
  return has_room();
}

} // namespace

void json_assertion_failed(const char* condition) {
  throw json_assertion{condition};
}

std::optional<json_error> json_document::read(std::string_view text) {
  if (constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF"; text.starts_with(byte_order_mark))
    text.remove_prefix(byte_order_mark.size());
  std::optional<error_at_byte> error;
  try {
    error = read_tree(document_, text);
  } catch (const json_assertion&) {
    // No text is known to get here. If one does, it costs its sender an answer and nobody else the process.
    error = error_at_byte{0, "Not readable"};
  }
  if (!error)
    return std::nullopt;
  return json_error{utf8_length(text.substr(0, error->offset)), std::move(error->reason)};
}

std::string echo(const json_value& value) {
  std::string json;
  append_until_full(json, value);
  return bounded_echo(std::move(json));
}

void write_json(json_writer& out, std::string_view json) {
  // The type only matters to the writer's own check of what may be a root or a name.
  out.RawValue(json.data(), json.size(), rapidjson::kObjectType);
}

} // namespace coordinator::schema
