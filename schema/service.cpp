#include "schema/service.hpp"

#include "schema/codec_impl.hpp"

namespace coordinator::schema {

template <>
struct declaration<health_reply> {
  static constexpr std::string_view name = "health_reply";
  static constexpr std::string_view description = "The process serves requests.";
  static constexpr auto fields = std::make_tuple(required<"status">(&health_reply::status, "Always `healthy`."));
};

template <>
struct declaration<late_activity> {
  static constexpr std::string_view name = "late_activity";
  static constexpr std::string_view description = "An activity of the coordinator that has not made progress in time.";
  static constexpr auto fields = std::make_tuple(
      required<"name">(&late_activity::name, "The actor, worker or job, such as `registry` or `sweep`."),
      required<"seconds_since_progress">(&late_activity::seconds_since_progress, "Since it was last seen to progress."),
      required<"limit_seconds">(&late_activity::limit_seconds, "What it is allowed."));
};

template <>
struct declaration<guard_reply> {
  static constexpr std::string_view name = "guard";
  static constexpr std::string_view description = "The eviction guard is at work: many leases ran out at once.";
  static constexpr auto fields = std::make_tuple(
      required<"held_back">(&guard_reply::held_back, "Instances of which it is not known yet whether they live."),
      required<"alive">(&guard_reply::alive, "Found alive since the guard set in; they keep their leases."),
      required<"evicted">(&guard_reply::evicted, "Found dead since then, and evicted."),
      required<"ends_within_seconds">(&guard_reply::ends_within_seconds, "By then all are decided."),
      required<"how">(&guard_reply::how, "How it is found out."));
};

template <>
struct declaration<readiness_reply> {
  static constexpr std::string_view name = "readiness_reply";
  static constexpr std::string_view description = "Whether the coordinator makes progress.";
  static constexpr auto fields =
      std::make_tuple(required<"status">(&readiness_reply::status, "`ready`, `stopping` or `late`."),
                      required<"late">(&readiness_reply::late, "What is late; empty when nothing is."),
                      optional<"guard">(&readiness_reply::guard, "Only while the eviction guard is at work."));
};

template <>
struct declaration<problem_body> {
  static constexpr std::string_view name = "problem";
  static constexpr std::string_view description = "An error that is not about a field.";
  static constexpr auto fields =
      std::make_tuple(required<"detail">(&problem_body::detail, "What is wrong, for people."));
};

template <>
struct declaration<unknown_instance_body> {
  static constexpr std::string_view name = "unknown_instance";
  static constexpr std::string_view description = "A heartbeat of an instance that has to register first.";
  static constexpr auto fields =
      std::make_tuple(required<"error">(&unknown_instance_body::error, "Which instance, and what to do."));
};

template void append_json(std::string&, const health_reply&);
template void append_json(std::string&, const late_activity&);
template void append_json(std::string&, const readiness_reply&);
template void append_json(std::string&, const problem_body&);
template void append_json(std::string&, const unknown_instance_body&);
template named_schema json_schema<health_reply>();
template named_schema json_schema<late_activity>();
template named_schema json_schema<readiness_reply>();
template named_schema json_schema<problem_body>();
template named_schema json_schema<unknown_instance_body>();

} // namespace coordinator::schema
