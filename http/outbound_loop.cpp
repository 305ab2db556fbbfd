#include "http/outbound_loop.hpp"

#include <curl/curl.h>

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <climits>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

namespace coordinator::http {

namespace {

using clock = std::chrono::steady_clock;

constexpr auto longest_timeout = std::chrono::hours{24 * 365};
/// Handles without a call that are kept for the next ones.
constexpr std::size_t max_idle_handles = 256;
/// Of all header lines of a reply together.
constexpr std::size_t max_header_bytes = 64 * 1024;

struct handle_deleter {
  void operator()(CURL* handle) const noexcept { curl_easy_cleanup(handle); }
};
using handle_ptr = std::unique_ptr<CURL, handle_deleter>;

struct multi_deleter {
  void operator()(CURLM* multi) const noexcept { curl_multi_cleanup(multi); }
};
using multi_ptr = std::unique_ptr<CURLM, multi_deleter>;

struct list_deleter {
  void operator()(curl_slist* list) const noexcept { curl_slist_free_all(list); }
};
using list_ptr = std::unique_ptr<curl_slist, list_deleter>;

/// For curl, which counts in whole milliseconds and takes 0 for its default. Rounded up, so as not to give up early.
long whole_milliseconds(std::chrono::nanoseconds time) noexcept {
  const auto count = std::chrono::ceil<std::chrono::milliseconds>(time).count();
  return static_cast<long>(std::clamp<std::chrono::milliseconds::rep>(count, 1, INT_MAX));
}

bool equals_ignoring_case(std::string_view left, std::string_view right) noexcept {
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [lower](char a, char b) { return lower(a) == lower(b); });
}

std::string_view trimmed(std::string_view text) noexcept {
  const auto first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos)
    return {};
  return text.substr(first, text.find_last_not_of(" \t\r\n") - first + 1);
}

/// Curl writes what it is given: a line end in a header would be the start of another one.
bool has_line_end(std::string_view text) noexcept {
  return text.find_first_of(std::string_view{"\r\n\0", 3}) != std::string_view::npos;
}

bool add(list_ptr& list, const std::string& line) {
  auto* const longer = curl_slist_append(list.get(), line.c_str());
  if (!longer)
    return false;
  static_cast<void>(list.release());
  list.reset(longer);
  return true;
}

/// One call, from `start` to its completion.
struct call {
  outbound_client::call_id id = 0;
  outbound_request request;
  outbound_client::completion done;
  clock::time_point started;
  clock::time_point deadline;
  handle_ptr handle; ///< Empty while the call waits for a connection to be free.
  list_ptr headers;
  std::array<char, CURL_ERROR_SIZE> error{};
  outbound_reply reply;
  std::size_t header_bytes = 0;
  std::string cut_off; ///< Why the reply was not read to its end.
};

// The callbacks below return the number of bytes that they took: fewer end the call.

std::size_t take_body(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& call = *static_cast<struct call*>(user);
  const auto length = size * count;
  try {
    if (length > call.request.max_reply_bytes - call.reply.body.size()) {
      call.cut_off = "the reply is longer than " + std::to_string(call.request.max_reply_bytes) + " bytes";
      return length + 1;
    }
    call.reply.body.append(data, length);
    return length;
  } catch (...) {
    return length + 1;
  }
}

std::size_t take_header(char* data, std::size_t size, std::size_t count, void* user) noexcept {
  auto& call = *static_cast<struct call*>(user);
  const auto length = size * count;
  try {
    const std::string_view line{data, length};
    call.header_bytes += length;
    if (call.header_bytes > max_header_bytes) {
      call.cut_off = "the headers of the reply are longer than " + std::to_string(max_header_bytes) + " bytes";
      return length + 1;
    }
    if (line.starts_with("HTTP/")) { // a final answer follows on an interim one
      call.reply.headers.clear();
      return length;
    }
    const auto colon = line.find(':');
    if (colon == std::string_view::npos)
      return length;
    std::string name{trimmed(line.substr(0, colon))};
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    call.reply.headers.emplace_back(std::move(name), trimmed(line.substr(colon + 1)));
    return length;
  } catch (...) {
    return length + 1;
  }
}

outbound_outcome outcome_of(CURLcode code, CURL* handle) noexcept {
  switch (code) {
  case CURLE_OK:
    return outbound_outcome::answered;
  case CURLE_COULDNT_CONNECT: {
    // Only these errors are the word of the other machine; all others may be for want of a route or a descriptor here.
    long error = 0;
    curl_easy_getinfo(handle, CURLINFO_OS_ERRNO, &error);
    return error == ECONNREFUSED || error == ECONNRESET ? outbound_outcome::refused : outbound_outcome::unreachable;
  }
  case CURLE_COULDNT_RESOLVE_HOST:
    return outbound_outcome::unreachable;
  case CURLE_OPERATION_TIMEDOUT:
    return outbound_outcome::timed_out;
  default:
    return outbound_outcome::failed;
  }
}

/// Everything of a request but its timeout, which is the loop's. False when memory is short or a header malformed.
bool prepare(call& call) {
  auto* const handle = call.handle.get();
  const auto& request = call.request;
  const auto set = [handle](CURLoption option, auto value) { curl_easy_setopt(handle, option, value); };
  curl_easy_reset(handle);
  set(CURLOPT_PRIVATE, &call);
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_PROXY, "");
  set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  set(CURLOPT_PATH_AS_IS, 1L); // a dot may be an id
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_QUICK_EXIT, 1L); // do not wait for a resolver that is stuck
  set(CURLOPT_CONNECTTIMEOUT_MS, whole_milliseconds(request.connect_timeout));
  set(CURLOPT_ERRORBUFFER, call.error.data());
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_WRITEDATA, static_cast<void*>(&call));
  set(CURLOPT_HEADERFUNCTION, &take_header);
  set(CURLOPT_HEADERDATA, static_cast<void*>(&call));

  bool good = add(call.headers, "Expect:");
  bool has_content_type = false;
  for (const auto& [name, value] : request.headers) {
    if (name.empty() || has_line_end(name) || has_line_end(value) || name.find_first_of(":; ") != std::string::npos) {
      call.reply.detail = "a header of the request is malformed";
      return false;
    }
    has_content_type = has_content_type || equals_ignoring_case(name, "content-type");
    good = good && add(call.headers, value.empty() ? name + ";" : name + ": " + value);
  }

  const bool has_body = !request.body.empty();
  if (request.method == "HEAD") {
    set(CURLOPT_NOBODY, 1L);
  } else if (has_body || request.method == "POST" || request.method == "PUT") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_POSTFIELDS, request.body.data());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    if (!has_content_type)
      good = good && add(call.headers, has_body ? "Content-Type: application/json" : "Content-Type:");
  }
  if (request.method != "HEAD")
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
  set(CURLOPT_HTTPHEADER, call.headers.get());
  return good;
}

/// Blocks signals for as long as it lives, so that a thread that is started meanwhile never takes one. Those that a
/// fault raises stay with the thread that is at fault.
class signals_blocked {
public:
  signals_blocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP})
      sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~signals_blocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  signals_blocked(const signals_blocked&) = delete;
  signals_blocked& operator=(const signals_blocked&) = delete;

private:
  sigset_t before_{};
};

void initialise_curl() {
  // Never undone: others in the process may use curl as well.
  [[maybe_unused]] static const auto once = curl_global_init(CURL_GLOBAL_DEFAULT);
}

} // namespace

struct outbound_loop::state {
  explicit state(outbound_loop_options wanted) : options{wanted} {
    initialise_curl();
    multi.reset(curl_multi_init());
    if (!multi)
      throw std::bad_alloc{};
    curl_multi_setopt(multi.get(), CURLMOPT_MAXCONNECTS, static_cast<long>(options.max_idle_connections));
    curl_multi_setopt(multi.get(), CURLMOPT_MAX_TOTAL_CONNECTIONS, static_cast<long>(options.max_connections));
    const signals_blocked guard;
    thread = std::thread{[this] { run(); }};
    pthread_setname_np(thread.native_handle(), "outbound");
  }

  ~state() {
    {
      const std::lock_guard guard{lock};
      stopping = true;
      curl_multi_wakeup(multi.get()); // now, since the thread drops it once it has seen the mark
    }
    thread.join();
  }

  void post(task what) {
    bool was_empty = false;
    {
      const std::lock_guard guard{lock};
      if (stopping) // from the destructor of something that is given up
        return;
      was_empty = posted.empty();
      posted.push_back(std::move(what));
    }
    if (was_empty)
      curl_multi_wakeup(multi.get());
  }

  void run();
  void drop_everything();
  bool run_posted();
  void run_timers();
  void expire_calls();
  void collect_results();
  void fill_connections();
  int poll_timeout() const;

  void begin(std::shared_ptr<call> started);
  void give_up(call_id id);
  void finish(call& ended, outbound_outcome outcome, std::string detail);
  void take_off(call& ended);

  const outbound_loop_options options;
  std::atomic<call_id> last_id{0};
  multi_ptr multi;

  std::mutex lock;
  std::vector<task> posted; ///< Calls and cancellations are tasks too, so that they stay in order.
  bool stopping = false;

  // The rest belongs to the loop's thread.
  std::multimap<clock::time_point, task> timers; ///< Equal times in the order of arrival.
  std::unordered_map<call_id, std::shared_ptr<call>> calls;
  std::set<call_id> waiting; ///< Without a connection.
  std::set<std::pair<clock::time_point, call_id>> deadlines;
  std::vector<handle_ptr> idle_handles;

  std::thread thread;
};

namespace {

/// What is run belongs to others. It must not throw, and if it does so, it does not end their process.
template <class Function, class... Arguments>
void run_guarded(Function& function, Arguments&&... arguments) noexcept {
  try {
    function(std::forward<Arguments>(arguments)...);
  } catch (...) { // NOLINT(bugprone-empty-catch)
  }
}

} // namespace

void outbound_loop::state::run() {
  while (run_posted()) {
    run_timers();
    fill_connections();
    int running = 0;
    curl_multi_perform(multi.get(), &running);
    collect_results();
    expire_calls(); // only now: after a pause of the process, replies in time may still lie unread in the sockets
    fill_connections();
    curl_multi_poll(multi.get(), nullptr, 0, poll_timeout(), nullptr);
  }
  drop_everything();
}

/// On the loop's thread too, because closing a connection may write to it.
void outbound_loop::state::drop_everything() {
  std::vector<task> dropped;
  {
    const std::lock_guard guard{lock};
    dropped.swap(posted);
  }
  timers.clear();
  for (const auto& [id, call] : calls)
    if (call->handle)
      curl_multi_remove_handle(multi.get(), call->handle.get());
  calls.clear();
  idle_handles.clear();
  multi.reset();
}

/// False when it is time to end.
bool outbound_loop::state::run_posted() {
  std::vector<task> due;
  {
    const std::lock_guard guard{lock};
    if (stopping)
      return false;
    due.swap(posted);
  }
  for (auto& what : due)
    run_guarded(what);
  return true;
}

void outbound_loop::state::run_timers() {
  const auto now = clock::now();
  // What a timer's task sets for right now is left to the next round, so that sockets get their turn.
  for (auto left = timers.size(); left > 0 && !timers.empty() && timers.begin()->first <= now; --left) {
    auto due = timers.extract(timers.begin());
    run_guarded(due.mapped());
  }
}

void outbound_loop::state::expire_calls() {
  const auto now = clock::now();
  while (!deadlines.empty() && deadlines.begin()->first <= now) {
    auto& late = *calls.at(deadlines.begin()->second);
    finish(late, outbound_outcome::timed_out,
           (late.handle ? "no whole reply within " : "no connection was free within ")
               + std::to_string(whole_milliseconds(late.request.timeout)) + " ms");
  }
}

void outbound_loop::state::collect_results() {
  int left = 0;
  while (const auto* message = curl_multi_info_read(multi.get(), &left)) {
    if (message->msg != CURLMSG_DONE)
      continue;
    const auto code = message->data.result; // the message is gone with the handle
    char* found = nullptr;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &found);
    auto& ended = *reinterpret_cast<call*>(found);
    std::string detail;
    if (code == CURLE_OK) {
      long status = 0;
      curl_easy_getinfo(ended.handle.get(), CURLINFO_RESPONSE_CODE, &status);
      ended.reply.status = static_cast<int>(status);
    } else if (!ended.cut_off.empty()) {
      detail = ended.cut_off;
    } else {
      detail = ended.error[0] != '\0' ? ended.error.data() : curl_easy_strerror(code);
    }
    finish(ended, outcome_of(code, ended.handle.get()), std::move(detail));
  }
}

/// Gives connections to those that wait. Curl has a queue of its own for that, but looks at all of it in each round.
void outbound_loop::state::fill_connections() {
  while (!waiting.empty() && calls.size() - waiting.size() < options.max_connections) {
    auto& next = *calls.at(*waiting.begin());
    waiting.erase(waiting.begin());
    if (idle_handles.empty()) {
      next.handle.reset(curl_easy_init());
    } else {
      next.handle = std::move(idle_handles.back());
      idle_handles.pop_back();
    }
    if (!next.handle || !prepare(next) || curl_multi_add_handle(multi.get(), next.handle.get()) != CURLM_OK)
      finish(next, outbound_outcome::failed, next.reply.detail.empty() ? "out of memory" : next.reply.detail);
  }
}

int outbound_loop::state::poll_timeout() const {
  auto until = clock::time_point::max();
  if (!timers.empty())
    until = std::min(until, timers.begin()->first);
  if (!deadlines.empty())
    until = std::min(until, deadlines.begin()->first);
  const auto now = clock::now();
  if (until <= now)
    return 0;
  constexpr auto longest = std::chrono::milliseconds{std::chrono::hours{1}};
  return static_cast<int>(std::min(std::chrono::ceil<std::chrono::milliseconds>(until - now), longest).count());
}

void outbound_loop::state::begin(std::shared_ptr<call> started) {
  waiting.insert(started->id);
  deadlines.emplace(started->deadline, started->id);
  calls.emplace(started->id, std::move(started));
}

void outbound_loop::state::give_up(call_id id) {
  if (const auto found = calls.find(id); found != calls.end())
    take_off(*found->second);
}

void outbound_loop::state::finish(call& ended, outbound_outcome outcome, std::string detail) {
  auto done = std::move(ended.done);
  auto reply = std::move(ended.reply);
  reply.outcome = outcome;
  reply.detail = std::move(detail);
  reply.took = clock::now() - ended.started;
  reply.tried_for = ended.handle ? reply.took : std::chrono::nanoseconds::zero();
  if (outcome != outbound_outcome::answered) {
    reply.headers.clear();
    reply.body.clear();
  }
  take_off(ended);
  run_guarded(done, std::move(reply));
}

/// Forgets a call. Its connection is kept if the reply has been read to its end, and closed otherwise.
void outbound_loop::state::take_off(call& ended) {
  waiting.erase(ended.id);
  deadlines.erase({ended.deadline, ended.id});
  if (ended.handle) {
    curl_multi_remove_handle(multi.get(), ended.handle.get());
    if (idle_handles.size() < max_idle_handles) {
      curl_easy_reset(ended.handle.get()); // it must not point to what is about to go
      idle_handles.push_back(std::move(ended.handle));
    }
  }
  calls.erase(ended.id);
}

outbound_loop::outbound_loop(outbound_loop_options options) : state_{std::make_unique<state>(options)} {}

outbound_loop::~outbound_loop() = default;

outbound_loop::call_id outbound_loop::start(outbound_request request, completion done) {
  const auto fresh = std::make_shared<call>();
  const auto id = ++state_->last_id;
  fresh->id = id;
  fresh->started = clock::now();
  fresh->deadline = fresh->started + std::min<std::chrono::nanoseconds>(request.timeout, longest_timeout);
  fresh->request = std::move(request);
  fresh->done = std::move(done);
  state_->post([owner = state_.get(), fresh] { owner->begin(fresh); });
  return id;
}

void outbound_loop::cancel(call_id call) {
  state_->post([owner = state_.get(), call] { owner->give_up(call); });
}

void outbound_loop::post(task what) {
  state_->post(std::move(what));
}

void outbound_loop::post_at(time_point when, task what) {
  state_->post(
      [owner = state_.get(), when, what = std::move(what)]() mutable { owner->timers.emplace(when, std::move(what)); });
}

} // namespace coordinator::http
