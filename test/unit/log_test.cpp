#include "actors/log.hpp"
#include "actors/log_sink.hpp"
#include "actors/system.hpp"

#include <boost/test/unit_test.hpp>
#include <caf/actor_system.hpp>
#include <fmt/format.h>

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <regex>
#include <thread>

using namespace coordinator;
using namespace std::chrono_literals;

namespace {

std::string fields_of(std::initializer_list<log::field> fields) {
  const auto line = log::render(log::level::info, {"test", 7}, "event", std::span{fields.begin(), fields.size()});
  return line.substr(line.find(" event") + 6);
}

struct pipe_ends {
  int read_end = -1;
  int write_end = -1;
  pipe_ends() {
    std::array<int, 2> ends{};
    BOOST_REQUIRE(::pipe2(ends.data(), O_CLOEXEC) == 0);
    read_end = ends[0];
    write_end = ends[1];
  }
  ~pipe_ends() {
    ::close(read_end);
    ::close(write_end);
  }

  std::string read_available() const {
    ::fcntl(read_end, F_SETFL, O_NONBLOCK);
    std::string result;
    std::array<char, 4096> buffer{};
    ssize_t n = 0;
    while ((n = ::read(read_end, buffer.data(), buffer.size())) > 0)
      result.append(buffer.data(), static_cast<std::size_t>(n));
    return result;
  }
};

/// A running logger over a sink, as in the service.
class logging {
public:
  explicit logging(log_sink& sink, log::options chosen = {log::level::info, {}})
      : sink_(sink), clog_before_(std::clog.rdbuf(&sink)), system_(std::make_unique<caf::actor_system>(config_)) {
    log::open(*system_, sink, std::move(chosen));
  }
  ~logging() {
    log::close();
    sink_.stop_waiting();
    system_.reset();
    std::clog.rdbuf(clog_before_);
  }

private:
  log_sink& sink_;
  std::streambuf* clog_before_;
  system_config config_{1};
  std::unique_ptr<caf::actor_system> system_;
};

std::size_t count(std::string_view text, std::string_view word) {
  std::size_t result = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size()))
    ++result;
  return result;
}

/// The sum of what the lines about lost lines say.
std::size_t lost_lines(std::string_view text) {
  constexpr std::string_view told = "log.lost lines=";
  std::size_t result = 0;
  for (auto at = text.find(told); at != std::string_view::npos; at = text.find(told, at)) {
    at += told.size();
    result += std::stoul(std::string{text.substr(at, 20)} + " ");
  }
  return result;
}

} // namespace

BOOST_AUTO_TEST_SUITE(log_test)

BOOST_AUTO_TEST_CASE(a_line_has_time_level_actor_id_event_and_fields) {
  const std::array fields{log::field{"instance_id", "a"}, log::field{"port", 8080}};
  const auto line = log::render(log::level::warning, {"registry", 12}, "registry.join", fields);
  const std::regex expected{
      R"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z warning registry#12 registry\.join instance_id=a port=8080)"};
  BOOST_TEST(std::regex_match(line, expected), line);
}

BOOST_AUTO_TEST_CASE(values_are_quoted_when_they_could_be_taken_for_something_else) {
  BOOST_TEST(fields_of({{"k", "plain-value_1"}}) == " k=plain-value_1");
  BOOST_TEST(fields_of({{"k", "two words"}}) == R"( k="two words")");
  BOOST_TEST(fields_of({{"k", ""}}) == R"( k="")");
  BOOST_TEST(fields_of({{"k", "a=b"}}) == R"( k="a=b")");
  BOOST_TEST(fields_of({{"k", "say \"x\" \\ y"}}) == R"( k="say \"x\" \\ y")");
  BOOST_TEST(fields_of({{"k", "forged\n2026 error line"}}) == R"( k="forged\n2026 error line")");
  BOOST_TEST(fields_of({{"k", std::string_view{"\x01\x7f", 2}}}) == "\x20k=\"\\u0001\\u007f\"");
  BOOST_TEST(fields_of({{"n", -5}, {"b", true}, {"t", std::chrono::nanoseconds{1500ms}}}) == " n=-5 b=true t=1.500s");
}

BOOST_AUTO_TEST_CASE(nothing_is_enabled_while_the_log_is_closed) {
  BOOST_TEST(!log::enabled(log::level::error, "registry"));
  log::write(log::level::error, {"test"}, "lost"); // goes nowhere, harmlessly
}

BOOST_AUTO_TEST_CASE(lines_below_the_threshold_or_of_other_components_are_left_out) {
  pipe_ends pipe;
  log_sink sink{pipe.write_end};
  {
    logging open{sink, {log::level::debug, {"registry"}}};
    BOOST_TEST(log::enabled(log::level::debug, "registry"));
    BOOST_TEST(!log::enabled(log::level::trace, "registry"));
    BOOST_TEST(!log::enabled(log::level::info, "health"));
    BOOST_TEST(log::enabled(log::level::warning, "health"));
    log::write(log::level::debug, {"registry"}, "shown");
    log::write(log::level::trace, {"registry"}, "hidden");
    log::write(log::level::info, {"health"}, "hidden");
  }
  const auto text = pipe.read_available();
  BOOST_TEST(count(text, "shown") == 1u);
  BOOST_TEST(count(text, "hidden") == 0u);
  BOOST_TEST(count(text, "\n") == 1u); // CAF's own lines are left out
}

BOOST_AUTO_TEST_CASE(a_reader_that_stalls_costs_lines_but_no_time_and_is_told_how_many) {
  pipe_ends pipe;
  log_sink sink{pipe.write_end};
  constexpr std::size_t written = 40'000;
  std::string text;
  {
    logging open{sink};
    const std::string filler(1000, 'x');
    for (std::size_t i = 0; i < written; ++i) // far more than the pipe and the queues hold
      log::write(log::level::info, {"test"}, "line", {{"filler", filler}});
    // The reader comes back. What had been queued gets through, and so do the counts of what was lost: together they
    // account for every line.
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (count(text, " line ") + lost_lines(text) < written && std::chrono::steady_clock::now() < deadline) {
      text += pipe.read_available();
      log::write(log::level::info, {"test"}, "again");
      std::this_thread::yield();
    }
  }
  BOOST_TEST(lost_lines(text) > 0u);
  BOOST_TEST(count(text, " line ") + lost_lines(text) >= written);
}

BOOST_AUTO_TEST_CASE(a_burst_is_written_whole_and_in_order) {
  std::FILE* file = std::tmpfile();
  BOOST_REQUIRE(file != nullptr);
  constexpr int written = 20'000;
  log_sink sink{::fileno(file)};
  {
    logging open{sink};
    for (int i = 0; i < written; ++i)
      log::write(log::level::info, {"test"}, "line", {{"number", i}});
    log::flush(30s);
  }
  std::rewind(file);
  int next = 0;
  std::array<char, 256> line{};
  while (std::fgets(line.data(), line.size(), file) != nullptr)
    if (std::string_view{line.data()}.ends_with(fmt::format(" number={}\n", next)))
      ++next;
  std::fclose(file);
  BOOST_TEST(next == written);
}

BOOST_AUTO_TEST_CASE(a_full_disk_costs_lines_only) {
  const int full = ::open("/dev/full", O_WRONLY | O_CLOEXEC);
  BOOST_REQUIRE(full >= 0);
  {
    log_sink sink{full};
    logging open{sink};
    for (int i = 0; i < 1000; ++i)
      log::write(log::level::info, {"test"}, "line");
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (sink.lines() == 0 && std::chrono::steady_clock::now() < deadline)
      std::this_thread::yield();
    BOOST_TEST(sink.lines() > 0u);
  }
  ::close(full);
}

BOOST_AUTO_TEST_SUITE_END()
