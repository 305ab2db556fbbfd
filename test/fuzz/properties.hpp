#pragma once

// What the fuzz targets demand of what they call.

#include <rapidjson/memorystream.h>
#include <rapidjson/reader.h>

#include <cstdlib>
#include <string_view>

namespace coordinator::fuzz {

inline void require(bool condition) {
  if (!condition)
    std::abort();
}

inline bool is_json(std::string_view text) {
  // No json_document: a refused value may be nested as deep as that allows, and here it lies within others.
  rapidjson::MemoryStream stream{text.data(), text.size()};
  rapidjson::BaseReaderHandler<> ignored;
  rapidjson::Reader reader;
  constexpr unsigned flags =
      rapidjson::kParseIterativeFlag | rapidjson::kParseValidateEncodingFlag | rapidjson::kParseNumbersAsStringsFlag;
  return !reader.Parse<flags>(stream, ignored).IsError();
}

} // namespace coordinator::fuzz
