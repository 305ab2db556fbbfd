#include "http/apis/documentation.hpp"
#include "http/conditional.hpp"
#include "http/gateway.hpp"
#include "schema/instance.hpp"
#include "schema/json_text.hpp"
#include "schema/service.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace coordinator::http {

namespace {

using seconds = std::chrono::duration<double>;

/// Below what intermediaries and clients usually allow a request.
constexpr duration longest_wait = std::chrono::minutes{5};
/// An answer to one who has waited may be so old.
constexpr duration longest_sharing = std::chrono::milliseconds{100};
/// Each is looked for in every row.
constexpr std::size_t most_labels = 16;
constexpr std::size_t longest_page = 1'000'000;

/// What a list is to hold.
struct list_query {
  bool heartbeats = false;
  std::vector<std::pair<std::string, std::string>> labels;
  std::optional<std::size_t> limit;
  std::optional<std::string> after;
  std::optional<std::string> since; ///< The version that the client has.
  duration wait{};
  bool has_waited = false; ///< As many others may have, for the same.

  bool whole_fleet() const noexcept { return !heartbeats && labels.empty() && !limit && !after; }

  /// What the answer depends on, besides the fleet.
  std::string selection() const {
    auto result = fmt::format("{} {} ", heartbeats, limit.value_or(0));
    schema::append_quoted(result, after.value_or(""));
    for (const auto& [name, value] : labels) {
      schema::append_quoted(result, name);
      schema::append_quoted(result, value);
    }
    return result;
  }

  bool admits(const schema::instance& entry) const {
    return std::ranges::all_of(
        labels, [&](const auto& wanted) { return std::ranges::find(entry.labels, wanted) != entry.labels.end(); });
  }
};

/// Empty when a parameter is wrong; it has been answered then.
std::optional<list_query> read_list_query(const call& asked) {
  list_query result;
  const auto heartbeats = asked.flag("heartbeats");
  if (!heartbeats)
    return std::nullopt;
  result.heartbeats = *heartbeats;
  const auto labels = asked.queries("label");
  if (labels.size() > most_labels) {
    asked.answer_invalid_query("label", labels.back(), fmt::format("can be given {} times at most", most_labels));
    return std::nullopt;
  }
  for (const auto label : labels) {
    const auto split = label.find('=');
    if (split == std::string_view::npos || split == 0) {
      asked.answer_invalid_query("label", label, "must be name=value, as in label=zone=a");
      return std::nullopt;
    }
    result.labels.emplace_back(label.substr(0, split), label.substr(split + 1));
  }
  const auto limit = asked.whole_number("limit", 1, longest_page);
  if (!limit)
    return std::nullopt;
  result.limit = *limit;
  const auto wait = asked.number("wait", 0, seconds{longest_wait}.count());
  if (!wait)
    return std::nullopt;
  if (*wait)
    result.wait = std::chrono::round<duration>(seconds{**wait});
  result.after = asked.query("after");
  result.since = asked.query("since");
  return result;
}

response list_response(const std::string& tag) {
  response reply;
  reply.headers.emplace_back("ETag", quoted_tag(tag));
  reply.headers.emplace_back("Instances-Version", tag);
  return reply;
}

/// True when the client has this version of the list already; then answers so.
bool answer_not_modified(const call& asked, const std::string& tag) {
  entity_tag_condition known;
  if (!asked.message().has_header("if-none-match")
      || !parse_entity_tags(asked.message().joined_header("if-none-match"), known)
      || !(known.any || known.matches_weakly(tag)))
    return false;
  auto reply = list_response(tag);
  reply.status = Code::Not_Modified;
  asked.answer(std::move(reply));
  return true;
}

/// Rows are written one by one, so that a long list needs no second copy of itself.
class list_body {
public:
  void add(const schema::instance& row) {
    if (body_.back() != '[')
      body_ += ',';
    schema::append_json(body_, row);
  }

  std::string finish(std::string_view version, const std::optional<std::string>& next) {
    body_ += R"(],"version":)";
    schema::append_quoted(body_, version);
    if (next) {
      body_ += R"(,"next":)";
      schema::append_quoted(body_, *next);
    }
    body_ += '}';
    return std::move(body_);
  }

private:
  std::string body_ = R"({"instances":[)";
};

std::shared_ptr<const std::string> whole_list(const std::vector<member>& rows, const std::string& tag) {
  list_body body;
  for (const auto& row : rows)
    body.add(*row.entry);
  return std::make_shared<const std::string>(body.finish(tag, std::nullopt));
}

/// A place in the list, as `next` names it: `RUN-pPLACE`. The run is that of the version, so that a place of an earlier
/// coordinator is not taken for one of this.
std::string place_token(std::string_view version, std::uint64_t place) {
  return fmt::format("{}-p{}", version.substr(0, version.rfind('-')), place);
}

std::optional<std::uint64_t> place_of(std::string_view token, std::string_view version) {
  const auto split = token.rfind("-p");
  if (split == std::string_view::npos || token.substr(0, split) != version.substr(0, version.rfind('-')))
    return std::nullopt;
  std::uint64_t place = 0;
  const auto* const first = token.data() + split + 2;
  const auto* const last = token.data() + token.size();
  const auto [end, error] = std::from_chars(first, last, place);
  return error == std::errc{} && end == last ? std::optional{place} : std::nullopt;
}

response selection_response(const list_query& query, const std::string& tag, std::shared_ptr<const std::string> body) {
  auto reply = list_response(tag);
  if (query.heartbeats)
    std::erase_if(reply.headers, [](const auto& header) { return header.first == "ETag"; }); // ages always change
  reply.shared_body = std::move(body);
  return reply;
}

/// Keeps it for others who have waited for the same.
void share_selection(const call& asked, const list_query& query, const std::string& tag,
                     const std::shared_ptr<const std::string>& body) {
  auto& shared = asked.state().selections;
  if (shared.tag != tag || shared.bodies.size() >= shared_selections::most)
    shared = {tag, asked.now(), {}};
  shared.bodies.insert_or_assign(query.selection(), body);
}

/// Null when nobody has made it lately.
std::shared_ptr<const std::string> shared_selection(const call& asked, const list_query& query) {
  auto& shared = asked.state().selections;
  if (asked.now() - shared.made > longest_sharing) {
    shared = {};
    return nullptr;
  }
  const auto found = shared.bodies.find(query.selection());
  return found == shared.bodies.end() ? nullptr : found->second;
}

const member& who_of(const member& row) noexcept {
  return row;
}
const member& who_of(const aged_member& row) noexcept {
  return row.who;
}

void append_row(list_body& body, const member& row) {
  body.add(*row.entry);
}
void append_row(list_body& body, const aged_member& row) {
  auto entry = *row.who.entry;
  entry.seconds_since_heartbeat = seconds{row.age}.count();
  body.add(entry);
}

/// The rows that were asked for, out of all. Answers with a 422 when `after` leads nowhere.
template <class Row>
void answer_selection(const call& asked, const list_query& query, const std::vector<Row>& rows,
                      const std::string& tag) {
  std::uint64_t after = 0;
  if (query.after) {
    const auto known =
        std::ranges::find_if(rows, [&](const Row& row) { return who_of(row).entry->instance_id == *query.after; });
    const auto place = known != rows.end() ? std::optional{who_of(*known).place} : place_of(*query.after, tag);
    if (!place)
      return asked.answer_invalid_query(
          "after", *query.after,
          "must be `next` of an earlier page from this coordinator, or the id of an instance that is registered");
    after = *place;
  }
  list_body body;
  std::size_t count = 0;
  std::uint64_t last = 0;
  std::optional<std::string> next;
  const auto first = std::ranges::upper_bound(rows, after, {}, [](const Row& row) { return who_of(row).place; });
  for (auto row = first; row != rows.end(); ++row) {
    if (!query.admits(*who_of(*row).entry))
      continue;
    if (query.limit && count == *query.limit) {
      next = place_token(tag, last);
      break;
    }
    append_row(body, *row);
    last = who_of(*row).place;
    ++count;
  }
  auto made = std::make_shared<const std::string>(body.finish(tag, next));
  if (query.has_waited)
    share_selection(asked, query, tag, made);
  asked.answer(selection_response(query, tag, std::move(made)));
}

void answer_whole_list(const call& asked, const snapshot& current) {
  auto& cached = asked.state().instance_list;
  // Another request may have brought the same rows since the registry was asked.
  if (current.rows && current.tag != cached.tag)
    cached = {current.tag, whole_list(*current.rows, current.tag)};
  if (answer_not_modified(asked, cached.tag))
    return;
  auto reply = list_response(cached.tag);
  reply.shared_body = cached.body;
  asked.answer(std::move(reply));
}

void answer_list(const call& asked, const list_query& query);

/// Whether the request now waits for the next change.
bool waits(const call& asked, const list_query& query, const std::string& tag) {
  if (query.wait <= duration::zero() || (query.since && *query.since != tag))
    return false;
  auto at_last = query;
  at_last.wait = duration::zero();
  at_last.has_waited = true;
  asked.wait_for_change(tag, query.wait, [asked, at_last = std::move(at_last)] { answer_list(asked, at_last); });
  return true;
}

void answer_list(const call& asked, const list_query& query) {
  if (query.has_waited && !query.whole_fleet())
    if (auto body = shared_selection(asked, query))
      return asked.answer(selection_response(query, asked.state().selections.tag, std::move(body)));
  const auto failed = [asked](const caf::error& error) { asked.answer_error(error); };
  if (query.heartbeats) {
    asked.ask(asked.actors().registry, details_atom_v)
        .then(
            [=](const fleet_details& fleet) {
              if (!waits(asked, query, fleet.tag))
                answer_selection(asked, query, fleet.rows, fleet.tag);
            },
            failed);
    return;
  }
  // The rows are needed for a selection; of the whole list, only when they are not those of the cached body.
  const auto known = query.whole_fleet() ? asked.state().instance_list.tag : std::string{};
  asked.ask(asked.actors().registry, list_atom_v, known)
      .then(
          [=](const snapshot& current) {
            if (waits(asked, query, current.tag))
              return;
            if (query.whole_fleet())
              answer_whole_list(asked, current);
            else if (!answer_not_modified(asked, current.tag))
              answer_selection(asked, query, *current.rows, current.tag);
          },
          failed);
}

void list_instances(const call& asked) {
  if (const auto query = read_list_query(asked))
    answer_list(asked, *query);
}

} // namespace

void register_instance_lists_api(router& routes) {
  using namespace schema;
  const auto list = json_schema<instance_list>();
  for (const auto& one : {list, json_schema<problem_body>(), json_schema<violations_body>()})
    routes.describe(one);

  operation doc;
  doc.tag = "instances";
  doc.id = "listInstances";
  doc.summary = "The fleet, in the order in which its members first registered";
  doc.description =
      "An unchanged fleet is the same bytes, and 304 for a client that sends the `ETag` it knows. With `wait` the "
      "answer "
      "comes when membership is no longer at the version `since` (or changes at all, without it), or when the time is "
      "over.";
  doc.parameters = {
      {"heartbeats", "query", "Adds `seconds_since_heartbeat` to every row.", "boolean", false},
      {"label", "query", "Only instances with that metadata, as `zone=a`. May be given several times: all must match.",
       "string", false},
      {"limit", "query", "At most so many rows; `next` tells where to go on.", "integer", false},
      {"after", "query", "Only rows behind that place: `next` of the page before, or an id.", "string", false},
      {"wait", "query", "Seconds to wait for a change, 300 at most.", "number", false},
      {"since", "query", "The `version` that the client has.", "string", false},
      {"If-None-Match", "header", "The `ETag` of a list that the client has.", "string", false}};
  const parameter version{"Instances-Version", "", "The `version` of the body.", "string", true};
  doc.responses = {{200, "The list. No `ETag` when `heartbeats` are asked for.", list.name, {etag, version}},
                   {304, "The list has not changed.", "", {etag, version}},
                   problem_response(503, "Too many requests wait already."),
                   invalid("A query parameter is wrong; it is named.")};
  doc.responses[0].headers[0].required = false;
  routes.add({Method::Get, "/instances", small_body, doc, list_instances});
}

} // namespace coordinator::http
