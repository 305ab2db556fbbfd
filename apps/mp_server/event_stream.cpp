#include "apps/mp_server/event_stream.hpp"

#include <algorithm>
#include <utility>

namespace mp_server {

namespace {

using schema::cache_event_batch;

/// What a batch counts against the bounds.
std::size_t weight(const cache_event_batch& batch) noexcept {
  return std::max<std::size_t>(batch.entries.size(), 1);
}

duration backoff_after(std::size_t failures) noexcept {
  auto wait = first_backoff;
  for (std::size_t i = 1; i < failures && wait < longest_backoff; ++i)
    wait *= 2;
  return std::min(wait, longest_backoff);
}

} // namespace

event_stream::event_stream(std::string instance_id, std::int64_t incarnation)
    : instance_id_(std::move(instance_id)), incarnation_(incarnation) {}

cache_event_batch event_stream::batch_of(schema::cache_event_type type, const compartment& where) const {
  cache_event_batch batch;
  batch.instance_id = instance_id_;
  batch.incarnation = incarnation_;
  batch.event_type = type;
  batch.tier = where.tier;
  batch.backend = where.backend;
  batch.shared = where.shared;
  return batch;
}

void event_stream::record(const changes& happened) {
  for (const auto& each : happened) {
    const bool goes_on = !recorded_.empty() && recorded_.back().event_type == each.type
                         && recorded_.back().tier == each.where.tier && recorded_.back().backend == each.where.backend
                         && recorded_.back().shared == each.where.shared;
    if (!goes_on)
      recorded_.push_back(batch_of(each.type, each.where));
    recorded_.back().entries.push_back(each.what);
  }
}

void event_stream::declare(std::vector<capacity> capacities) {
  declared_ = std::move(capacities);
}

void event_stream::flush(double wall_clock) {
  if (declared_) {
    ++revision_;
    for (const auto& each : *declared_) {
      auto batch = batch_of(schema::cache_event_type::config, each.where);
      batch.capacity_bytes = each.bytes;
      batch.capacity_revision = revision_;
      enqueue(std::move(batch), wall_clock);
    }
    declared_.reset();
  }
  for (auto& batch : std::exchange(recorded_, {}))
    enqueue(std::move(batch), wall_clock);
  if (failures_ > 0)
    trim();
}

void event_stream::enqueue(cache_event_batch batch, double wall_clock) {
  batch.seq = ++last_seq_;
  batch.ts = wall_clock;
  batch.dropped_events = static_cast<std::int64_t>(dropped_);
  spooled_entries_ += weight(batch);
  spool_.push_back(std::move(batch));
}

std::optional<event_stream::post> event_stream::next(time_point now) {
  if (under_way_ > 0 || spool_.empty() || now < not_before_)
    return std::nullopt;
  post made{++post_id_, R"({"batches":[)"};
  std::size_t entries = 0;
  for (const auto& batch : spool_) {
    if (under_way_ > 0 && entries + weight(batch) > max_post_entries)
      break;
    if (under_way_ > 0)
      made.body += ',';
    schema::append_json(made.body, batch);
    entries += weight(batch);
    ++under_way_;
  }
  made.body += "]}";
  return made;
}

void event_stream::on_result(std::uint64_t post_id, delivery outcome, time_point now) {
  if (under_way_ == 0 || post_id != post_id_)
    return;
  const auto posted = std::exchange(under_way_, 0);
  if (outcome == delivery::failed) {
    ++failures_;
    not_before_ = now + backoff_after(failures_);
    trim();
    return;
  }
  failures_ = 0;
  not_before_ = now;
  const auto entries = remove(0, posted);
  if (outcome == delivery::refused)
    dropped_ += entries;
}

std::optional<time_point> event_stream::wake() const noexcept {
  return under_way_ > 0 || spool_.empty() ? std::nullopt : std::optional{not_before_};
}

void event_stream::restart(std::int64_t incarnation) {
  incarnation_ = incarnation;
  last_seq_ = 0;
  revision_ = 0;
  dropped_ = 0;
  recorded_.clear();
  declared_.reset();
  spool_.clear();
  spooled_entries_ = 0;
  under_way_ = 0;
  failures_ = 0;
  not_before_ = {};
}

/// Takes batches out of the spool and returns how many entries they had.
std::size_t event_stream::remove(std::size_t first, std::size_t count) {
  const auto from = spool_.begin() + static_cast<std::ptrdiff_t>(first);
  const auto to = from + static_cast<std::ptrdiff_t>(count);
  std::size_t entries = 0;
  for (auto batch = from; batch != to; ++batch) {
    spooled_entries_ -= weight(*batch);
    entries += batch->entries.size();
  }
  spool_.erase(from, to);
  return entries;
}

/// Drops the oldest batches when there are too many, but neither what is under way nor the newest one.
void event_stream::trim() {
  while (spooled_entries_ > max_spool_entries && spool_.size() > under_way_ + 1)
    dropped_ += remove(under_way_, 1);
}

} // namespace mp_server
