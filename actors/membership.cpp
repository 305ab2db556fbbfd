#include "actors/membership.hpp"

#include "schema/address.hpp"

#include <boost/multi_index/hashed_index.hpp>
#include <boost/multi_index/key_extractors.hpp>
#include <boost/multi_index/sequenced_index.hpp>
#include <boost/multi_index_container.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace coordinator {

namespace {

namespace index = boost::multi_index;

enum class suspicion : std::uint8_t {
  none,
  held_back, ///< Stale, but not to be removed before somebody has looked.
  vouched,   ///< Its lease was renewed because somebody found it alive; no heartbeat has come since.
};

struct row {
  member who;
  /// Hash of canonical address and port: only a candidate for being the same, and 8 bytes instead of a string.
  std::size_t address_hash = 0;
  // These are not keys of any index (the order of heartbeats is kept by moving rows), so they may change in place.
  mutable time_point last_heartbeat{}; ///< On the lease clock.
  mutable suspicion suspected = suspicion::none;

  std::string_view id() const noexcept { return who.entry->instance_id; }
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

  std::size_t held_back = 0;

  void hold_back(const row& which) {
    if (which.suspected != suspicion::held_back)
      ++held_back;
    which.suspected = suspicion::held_back;
  }

  void settle(const row& which) {
    if (which.suspected == suspicion::held_back)
      --held_back;
    which.suspected = suspicion::none;
  }

  /// Who registered last at each address that was asked for. Looks at an address once, however many are registered
  /// there.
  class newest_at_address {
  public:
    explicit newest_at_address(container& rows) : rows_(rows.get<by_address>()) {}

    /// Whether another id registered later at the address of `which`: what answers there is that one.
    bool is_another_than(const row& which) {
      const auto [known, is_new] = newest_.try_emplace(which.address_hash);
      auto& newest = known->second;
      if (is_new)
        for (auto [first, last] = rows_.equal_range(which.address_hash); first != last; ++first)
          if (first->who.registration > newest.registration)
            newest = first->who;
      return newest.registration > which.who.registration && same_address(*newest.entry, *which.who.entry);
    }

  private:
    container::index<by_address>::type& rows_;
    std::unordered_map<std::size_t, member> newest_; ///< By hash of the address.
  };

  template <class Iterator>
  void beat(Iterator position, time_point lease_now) {
    position->last_heartbeat = lease_now;
    auto& order = heartbeats();
    order.relocate(order.end(), rows.project<by_heartbeat>(position));
  }
};

membership::membership(duration timeout, std::string run, std::function<std::string()> generate_id,
                       std::shared_ptr<membership_memory> memory)
    : timeout_(timeout), run_(std::move(run)), generate_id_(std::move(generate_id)), table_(std::make_unique<table>()),
      memory_(std::move(memory)), journal_(memory_->version) {
  if (memory_->version == 0)
    return;
  // The rows of the table before are gone, which whoever knows its version has to be told.
  journal_ = membership_journal{++memory_->version};
  memory_->drained_and_gone.assign(memory_->drained.begin(), memory_->drained.end());
  trim_drained();
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
  if (memory_->drained.contains(entry->instance_id)) {
    entry->state = schema::instance_state::draining;
    std::erase(memory_->drained_and_gone, entry->instance_id);
  }

  row added{{std::move(entry), ++memory_->registrations, 0}, 0, lease_time(now)};
  added.address_hash = address_hash(*added.who.entry);

  registration result;
  result.tag = registration_tag(added.who.registration);
  auto [first, last] = table_->rows.get<by_address>().equal_range(added.address_hash);
  for (; first != last && !result.same_address; ++first)
    if (first->id() != added.id() && same_address(*first->who.entry, *added.who.entry))
      result.same_address = first->who.entry->instance_id;

  auto& ids = table_->ids();
  if (auto found = ids.find(added.id()); found != ids.end()) {
    result.re_registered = true;
    added.who.place = found->who.place;
    result.joined = added.who;
    table_->settle(*found);
    record({change_kind::replaced, departure_cause::superseded, found->who, added.who});
    const auto lease_now = added.last_heartbeat;
    ids.replace(found, std::move(added));
    table_->beat(found, lease_now);
  } else {
    added.who.place = ++memory_->places;
    result.joined = added.who;
    record({change_kind::joined, departure_cause::none, std::nullopt, added.who});
    ids.insert(std::move(added));
  }
  return result;
}

outcome membership::heartbeat(std::string_view id, const registration_condition& condition, time_point now) {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end())
    return outcome::unknown;
  if (!admits(condition, found->who.registration))
    return outcome::superseded;
  table_->settle(*found);
  table_->beat(found, lease_time(now));
  return outcome::done;
}

departure membership::leave(std::string_view id, const registration_condition& condition, time_point now) {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end())
    return {};
  if (!admits(condition, found->who.registration))
    return {outcome::superseded, {}, {}};
  departure result{outcome::done, found->who, lease_time(now) - found->last_heartbeat};
  table_->settle(*found);
  ids.erase(found);
  gone(result.who, departure_cause::deregistered);
  return result;
}

void membership::extend_leases(duration by, time_point now) {
  stood_still_ += by;
  // Heartbeats handled between waking up and this call were dated by the old lease clock and now lie in its future.
  // They are the last in the order; dating them to now keeps the order that `sweep` relies on.
  const auto lease_now = lease_time(now);
  auto& order = table_->heartbeats();
  for (auto position = order.rbegin(); position != order.rend() && position->last_heartbeat > lease_now; ++position)
    position->last_heartbeat = lease_now;
}

sweep_result membership::sweep(time_point now, const eviction_guard& guard) {
  sweep_result result;
  const auto lease_now = lease_time(now);
  auto& order = table_->heartbeats();
  auto end_of_stale = order.begin();
  std::size_t stale = 0;
  for (; end_of_stale != order.end() && lease_now - end_of_stale->last_heartbeat > timeout_; ++end_of_stale)
    ++stale;
  if (stale > 0 && guard.ratio > 0) {
    // Those who fell silent together lapse one after the other, as their last heartbeats came: the first of them must
    // not slip through before they are many. Servers send at least two heartbeats a lease, so half of one tells.
    auto silent = stale;
    for (auto each = end_of_stale; each != order.end() && lease_now - each->last_heartbeat > timeout_ / 2; ++each)
      ++silent;
    if (guard.trips(silent, order.size()))
      guarded_until_ = lease_now + timeout_;
  }
  const bool hold_all = table_->held_back > 0 || lease_now < guarded_until_;
  table::newest_at_address newest{table_->rows};
  for (auto position = order.begin(); position != end_of_stale;) {
    const auto& each = *position;
    if ((hold_all || each.suspected == suspicion::vouched) && !newest.is_another_than(each)) {
      table_->hold_back(each);
      result.held_back.push_back(each.who);
      ++position;
      continue;
    }
    table_->settle(each);
    result.lapsed.push_back({each.who, lease_now - each.last_heartbeat});
    position = order.erase(position);
    gone(result.lapsed.back().who, departure_cause::lapsed);
  }
  return result;
}

std::optional<aged_member> membership::judge(std::string_view id, std::uint64_t registration, bool alive,
                                             time_point now) {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end() || found->who.registration != registration || found->suspected != suspicion::held_back)
    return std::nullopt;
  table_->settle(*found);
  if (alive) {
    found->suspected = suspicion::vouched;
    table_->beat(found, lease_time(now));
    return std::nullopt;
  }
  aged_member result{found->who, lease_time(now) - found->last_heartbeat};
  ids.erase(found);
  gone(result.who, departure_cause::lapsed);
  return result;
}

outcome membership::drain(std::string_view id, bool wanted) {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  auto& drained = memory_->drained;
  const auto remembered = drained.find(id);
  if (found == ids.end() && (wanted || remembered == drained.end()))
    return outcome::unknown;
  if (wanted == (remembered != drained.end()))
    return outcome::done;
  if (wanted)
    drained.emplace(id);
  else
    drained.erase(remembered);
  if (found == ids.end()) {
    std::erase(memory_->drained_and_gone, id);
    return outcome::done;
  }
  auto entry = std::make_shared<schema::instance>(*found->who.entry);
  entry->state = wanted ? schema::instance_state::draining : schema::instance_state::active;
  auto changed = *found;
  changed.who.entry = std::move(entry);
  record({wanted ? change_kind::drained : change_kind::resumed, departure_cause::none, found->who, changed.who});
  ids.replace(found, std::move(changed));
  return outcome::done;
}

snapshot membership::list(std::string_view known_tag) {
  snapshot result{version_tag(), nullptr};
  if (result.tag != known_tag)
    result.rows = rows();
  return result;
}

std::string membership::version_tag() const {
  return fmt::format("{}-v{}", run_, journal_.version());
}

std::shared_ptr<const std::vector<member>> membership::rows() {
  if (!rows_) {
    auto rows = std::make_shared<std::vector<member>>();
    rows->reserve(size());
    for (const auto& row : table_->registrations())
      rows->push_back(row.who);
    rows_ = std::move(rows);
  }
  return rows_;
}

std::optional<instance_details> membership::find(std::string_view id, time_point now) const {
  auto& ids = table_->ids();
  auto found = ids.find(id);
  if (found == ids.end())
    return std::nullopt;
  return instance_details{found->who, registration_tag(found->who.registration),
                          lease_time(now) - found->last_heartbeat};
}

fleet_details membership::details(time_point now) const {
  fleet_details result{version_tag(), {}};
  result.rows.reserve(size());
  for (const auto& row : table_->registrations())
    result.rows.push_back({row.who, lease_time(now) - row.last_heartbeat});
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

void membership::record(membership_change change) {
  journal_.add(std::move(change));
  memory_->version = journal_.version();
  rows_.reset();
}

void membership::gone(const member& who, departure_cause cause) {
  record({change_kind::left, cause, who, std::nullopt});
  if (!who.draining())
    return;
  memory_->drained_and_gone.push_back(who.entry->instance_id);
  trim_drained();
}

void membership::trim_drained() {
  auto& names = memory_->drained_and_gone;
  while (names.size() > max_drained_and_gone) {
    memory_->drained.erase(names.front());
    names.pop_front();
  }
}

} // namespace coordinator
