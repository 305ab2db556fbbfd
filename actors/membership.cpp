#include "actors/membership.hpp"

#include "schema/address.hpp"

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/key_extractors.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace coordinator {

namespace {

namespace index = boost::multi_index;

struct row {
  instance_ptr entry;
  /// Hash of canonical address and port: only a candidate for being the same, and 8 bytes instead of a string.
  std::size_t address_hash = 0;
  std::uint64_t number = 0;
  /// On the lease clock. Not a key of any index (the order of heartbeats is kept by moving rows), so it may change in
  /// place.
  mutable time_point last_heartbeat{};

  std::string_view id() const noexcept { return entry->instance_id; }
};

struct by_id {};
struct by_registration {};
struct by_heartbeat {};
struct by_address {};

std::size_t address_hash(const schema::instance& entry) {
  return std::hash<std::string>{}(schema::canonical_address(entry.ip)) * 31 + entry.http_port;
}

bool same_address(const schema::instance& left, const schema::instance& right) {
  return left.http_port == right.http_port && schema::canonical_address(left.ip) == schema::canonical_address(right.ip);
}

} // namespace

struct membership::table {
  using container = index::multi_index_container<
      row, index::indexed_by<
               index::hashed_unique<index::tag<by_id>, index::const_mem_fun<row, std::string_view, &row::id>,
                                    std::hash<std::string_view>>,
               index::sequenced<index::tag<by_registration>>,
               index::sequenced<index::tag<by_heartbeat>>, // longest silent first
               index::hashed_non_unique<index::tag<by_address>, index::member<row, std::size_t, &row::address_hash>>>>;
  container rows;

  auto& ids() noexcept { return rows.get<by_id>(); }
  auto& registrations() noexcept { return rows.get<by_registration>(); }
  auto& heartbeats() noexcept { return rows.get<by_heartbeat>(); }

  template <class Iterator>
  void beat(Iterator position, time_point lease_now) {
    position->last_heartbeat = lease_now;
    auto& order = heartbeats();
    order.relocate(order.end(), rows.project<by_heartbeat>(position));
  }
};

membership::membership(duration timeout, std::string run, std::function<std::string()> generate_id)
    : timeout_(timeout), run_(std::move(run)), generate_id_(std::move(generate_id)), table_(std::make_unique<table>()) {
}

membership::~membership() = default;

registration membership::join(schema::register_request request, time_point now, double wall_time) {
  auto entry = std::make_shared<schema::instance>();
  entry->instance_id = std::move(request.instance_id);
  if (entry->instance_id.empty())
    entry->instance_id = generate_id_();
  entry->ip = std::move(request.ip);
  entry->http_port = request.http_port;
  entry->registration_time = wall_time;
  entry->labels = std::move(request.labels);
  entry->p2p_advertised_url = std::move(request.p2p_advertised_url);
  entry->mq_port = request.mq_port;

  row added{std::move(entry), 0, ++registrations_, lease_time(now)};
  added.address_hash = address_hash(*added.entry);

  registration result;
  result.entry = added.entry;
  result.tag = registration_tag(added.number);
  auto [first, last] = table_->rows.get<by_address>().equal_range(added.address_hash);
  for (; first != last && result.same_address.size() < max_reported_neighbours; ++first)
    if (first->id() != added.id() && same_address(*first->entry, *added.entry))
      result.same_address.push_back(first->entry->instance_id);

  auto& ids = table_->ids();
  if (auto found = ids.find(added.id()); found != ids.end()) {
    result.re_registered = true;
    const auto lease_now = added.last_heartbeat;
    ids.replace(found, std::move(added));
    table_->beat(found, lease_now);
  } else {
    ids.insert(std::move(added));
  }
  changed();
  return result;
}

outcome membership::heartbeat(std::string_view id, const registration_condition& condition, time_point now) {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end())
    return outcome::unknown;
  if (!admits(condition, found->number))
    return outcome::superseded;
  table_->beat(found, lease_time(now));
  return outcome::done;
}

departure membership::leave(std::string_view id, const registration_condition& condition, time_point now) {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end())
    return {};
  if (!admits(condition, found->number))
    return {outcome::superseded, nullptr, {}};
  departure result{outcome::done, found->entry, lease_time(now) - found->last_heartbeat};
  ids.erase(found);
  changed();
  return result;
}

void membership::extend_leases(duration by, time_point now) {
  stood_still_ += by;
  // Heartbeats handled between waking up and this call were dated by the old lease clock and now lie in its future.
  // They are the last in the order; dating them to now keeps the order that `expire` relies on.
  const auto lease_now = lease_time(now);
  auto& order = table_->heartbeats();
  for (auto position = order.rbegin(); position != order.rend() && position->last_heartbeat > lease_now; ++position)
    position->last_heartbeat = lease_now;
}

std::vector<lapse> membership::expire(time_point now) {
  std::vector<lapse> result;
  const auto lease_now = lease_time(now);
  auto& order = table_->heartbeats();
  while (!order.empty() && lease_now - order.front().last_heartbeat > timeout_) {
    result.push_back({order.front().entry, lease_now - order.front().last_heartbeat});
    order.pop_front();
  }
  if (!result.empty())
    changed();
  return result;
}

snapshot membership::list(std::string_view known_tag) {
  snapshot result{fmt::format("{}-v{}", run_, version_), nullptr};
  if (result.tag == known_tag)
    return result;
  if (!rows_) {
    auto rows = std::make_shared<std::vector<instance_ptr>>();
    rows->reserve(size());
    for (const auto& row : table_->registrations())
      rows->push_back(row.entry);
    rows_ = std::move(rows);
  }
  result.rows = rows_;
  return result;
}

std::optional<instance_details> membership::find(std::string_view id, time_point now) const {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end())
    return std::nullopt;
  return instance_details{found->entry, registration_tag(found->number), lease_time(now) - found->last_heartbeat};
}

std::vector<instance_details> membership::details(time_point now) const {
  std::vector<instance_details> result;
  result.reserve(size());
  for (const auto& row : table_->registrations())
    result.push_back({row.entry, registration_tag(row.number), lease_time(now) - row.last_heartbeat});
  return result;
}

std::size_t membership::size() const noexcept {
  return table_->rows.size();
}

std::string membership::registration_tag(std::uint64_t number) const {
  return fmt::format("{}-{}", run_, number);
}

bool membership::admits(const registration_condition& condition, std::uint64_t number) const {
  return !condition || std::ranges::find(*condition, registration_tag(number)) != condition->end();
}

void membership::changed() noexcept {
  ++version_;
  rows_.reset();
}

} // namespace coordinator
