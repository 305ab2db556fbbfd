#pragma once

// The only file that includes RapidJSON, whose settings have to be the same everywhere. It is internal to `schema/` and
// to tests of types that are declared there.

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace coordinator::schema {

/// Throws; takes the place of RapidJSON's `abort`.
[[noreturn]] void json_assertion_failed(const char* condition);

} // namespace coordinator::schema

#ifdef RAPIDJSON_RAPIDJSON_H_
#error "Include schema/json.hpp instead of RapidJSON's own headers."
#endif

#define RAPIDJSON_ASSERT(condition)                                                                                    \
  ((condition) ? static_cast<void>(0) : ::coordinator::schema::json_assertion_failed(#condition))

// A namespace of our own: were another library in the process built with RapidJSON's default settings, the linker would
// keep one copy of each of its inline functions, and it could be the one that aborts.
#define RAPIDJSON_NAMESPACE coordinator::schema::rapidjson
#define RAPIDJSON_NAMESPACE_BEGIN namespace coordinator::schema::rapidjson {
#define RAPIDJSON_NAMESPACE_END }

#include <rapidjson/document.h>
#include <rapidjson/error/en.h>
#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>
#include <rapidjson/stringbuffer.h>
#include <rapidjson/writer.h>

namespace coordinator::schema {

/// A value of a document. A typed getter may only be called once the matching `Is…` has said yes.
using json_value = rapidjson::Value;

/// Writes to memory; only for what is made rarely (schemas, the OpenAPI document). Replies go through `json_text.hpp`.
using json_writer = rapidjson::Writer<rapidjson::StringBuffer>;

/// Objects and arrays may be nested this deep; the outermost one counts.
inline constexpr std::size_t max_json_depth = 64;

/// Why a text is refused.
struct json_error {
  std::size_t offset; ///< In characters (code points), not counting a byte-order mark.
  std::string reason;
};

/// A JSON text (RFC 8259) as a tree. Stricter than the standard demands: no member twice in an object, nothing nested
/// deeper than `max_json_depth`, no number out of the range of a double, no surrogate without its other half.
///
/// Integers of up to 64 bits are exact, other numbers are the nearest double. Because of the bound on the depth,
/// functions that walk the tree may recurse.
class json_document {
public:
  json_document() = default;
  json_document(const json_document&) = delete;
  json_document& operator=(const json_document&) = delete;

  /// To be called once. Neither reads past the end of `text` nor keeps a reference to it; takes time n log n in its
  /// length at worst and never throws but for want of memory.
  std::optional<json_error> read(std::string_view text);

  const json_value& root() const noexcept { return document_; }

private:
  // Most bodies need no memory beyond this.
  alignas(std::max_align_t) std::array<char, 4096> buffer_;
  rapidjson::MemoryPoolAllocator<> pool_{buffer_.data(), buffer_.size()};
  rapidjson::Document document_{&pool_};
};

inline std::string_view text_of(const json_value& string) {
  return {string.GetString(), string.GetStringLength()};
}

/// The `input` of a violation (violation.hpp): the value as JSON text, cut down to `max_echoed_input`. The work is
/// bounded likewise, however large the value.
std::string echo(const json_value& value);

inline void write_key(json_writer& out, std::string_view name) {
  out.Key(name.data(), static_cast<rapidjson::SizeType>(name.size()));
}

inline void write_string(json_writer& out, std::string_view text) {
  out.String(text.data(), static_cast<rapidjson::SizeType>(text.size()));
}

/// Inserts a value that is JSON text already.
void write_json(json_writer& out, std::string_view json);

} // namespace coordinator::schema
