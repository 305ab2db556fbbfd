// Any bytes that a client may send, framed once in one piece and once in many: nothing may crash or hang, every view
// must lie in the buffer, every bound must hold, and both times the same requests and errors must come out.

#include "http/request_parser.hpp"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace {

namespace http = coordinator::http;
using progress = http::request_parser::progress;

// Small enough for short inputs to get past each.
constexpr http::request_limits limits{.request_line = 64, .header_section = 256, .header_count = 8, .body = 64};
constexpr std::size_t raised_body_limit = 128;

void require(bool condition) {
  if (!condition)
    std::abort();
}

class connection {
public:
  void feed(std::string_view piece) {
    buffer_ += piece;
    while (!failed_) {
      switch (parser_.parse(buffer_)) {
      case progress::need_more:
        return;
      case progress::head_complete:
        require(parser_.in_body());
        account_ += parser_.expects_continue() ? "waiting head " : "head ";
        add_request();
        if (parser_.result().target.starts_with("/raised"))
          parser_.limit_body(raised_body_limit);
        break;
      case progress::complete:
        account_ += "request ";
        add_request();
        require(parser_.result().body.size() <= raised_body_limit);
        require(parser_.consumed() > 0 && parser_.consumed() <= buffer_.size());
        buffer_.erase(0, parser_.consumed());
        parser_.reset();
        break;
      case progress::failed:
        require(parser_.parse(buffer_) == progress::failed);
        require(!parser_.error().detail.empty());
        account_ += "error " + std::to_string(static_cast<int>(parser_.error().status)) + parser_.error().detail;
        failed_ = true;
        break;
      }
    }
  }

  std::string account() const { return account_ + (parser_.started() ? "started" : "idle"); }

private:
  void add(std::string_view view) {
    require(view.empty()
            || (view.data() >= buffer_.data() && view.data() + view.size() <= buffer_.data() + buffer_.size()));
    account_ += view;
    account_ += '\n';
  }

  void add_request() {
    const auto& request = parser_.result();
    require(!request.target.empty());
    require(request.headers.size() <= limits.header_count);
    account_ += request.method ? std::to_string(static_cast<int>(*request.method)) : "unknown";
    account_ += request.version == http::Version::Http10 ? " 1.0" : " 1.1";
    account_ += request.keep_alive ? " keep-alive " : " close ";
    add(request.target);
    for (const auto& [name, value] : request.headers) {
      require(!name.empty());
      add(name);
      add(value);
    }
    add(request.body);
  }

  http::request_parser parser_{limits};
  std::string buffer_;
  std::string account_;
  bool failed_ = false;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input{reinterpret_cast<const char*>(data), size};
  connection whole;
  whole.feed(input);

  // The sizes of the pieces depend on the input alone, so that a failure can be repeated.
  connection pieces;
  std::uint32_t state = static_cast<std::uint32_t>(size) * 2654435761u;
  for (std::size_t at = 0; at < size;) {
    state = state * 1664525u + 1013904223u + data[at];
    const std::size_t length = (state >> 30) == 0 ? (state >> 16) % 64 + 1 : (state >> 16) % 4 + 1;
    pieces.feed(input.substr(at, length));
    at += length;
  }
  require(whole.account() == pieces.account());
  return 0;
}
