#include "http/router.hpp"

#include "version.hpp"

#include <algorithm>
#include <set>
#include <stdexcept>
#include <utility>

namespace coordinator::http {

namespace {

std::string_view name_of(Method method) noexcept {
  switch (method) {
#define METHOD(name, text)                                                                                             \
  case Method::name:                                                                                                   \
    return text;
    HTTP_METHODS
#undef METHOD
  }
  return "";
}

bool is_parameter(std::string_view segment) noexcept {
  return segment.starts_with(':');
}

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> result;
  while (!path.empty()) {
    path.remove_prefix(1); // the slash
    const auto end = std::min(path.find('/'), path.size());
    if (end > 0)
      result.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return result;
}

/// `/instances/:id` as OpenAPI writes it: `/instances/{id}`.
std::string templated(const std::vector<std::string>& segments) {
  std::string result;
  for (const auto& segment : segments) {
    result += '/';
    result += is_parameter(segment) ? '{' + segment.substr(1) + '}' : segment;
  }
  return result.empty() ? "/" : result;
}

std::string lower_case(std::string_view text) {
  std::string result{text};
  std::ranges::transform(result, result.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; });
  return result;
}

/// What `Allow` says of a path: its methods, and HEAD with GET.
std::string allowed_methods(const std::vector<const route*>& routes) {
  std::set<std::string_view> names;
  for (const auto* served : routes) {
    names.insert(name_of(served->method));
    if (served->method == Method::Get)
      names.insert(name_of(Method::Head));
  }
  std::string result;
  for (const auto name : names) {
    if (!result.empty())
      result += ", ";
    result += name;
  }
  return result;
}

} // namespace

void router::add(route added) {
  auto segments = split(added.path);
  added.documentation.method = lower_case(name_of(added.method));
  added.documentation.path = templated(segments);
  auto& parameters = added.documentation.parameters;
  for (const auto& segment : segments)
    if (is_parameter(segment) && std::ranges::none_of(parameters, [&](const auto& p) {
          return p.in == "path" && p.name == segment.substr(1);
        }))
      parameters.insert(parameters.begin(), {segment.substr(1), "path", "", "string", true});

  auto place = std::ranges::find_if(paths_, [&](const path& known) { return known.segments == segments; });
  if (place == paths_.end())
    place = paths_.insert(paths_.end(), path{std::move(segments), {}});
  if (std::ranges::any_of(place->by_method, [&](const route* known) { return known->method == added.method; }))
    throw std::logic_error("two routes for " + std::string{name_of(added.method)} + ' ' + added.path);
  routes_.push_back(std::make_unique<route>(std::move(added)));
  place->by_method.push_back(routes_.back().get());
  // A fixed segment beats a parameter: `/instances/usage` is found before `/instances/:instance_id`.
  std::ranges::stable_sort(paths_, {},
                           [](const path& one) { return std::ranges::count_if(one.segments, is_parameter); });
}

void router::describe(schema::named_schema described) {
  if (std::ranges::none_of(schemas_, [&](const auto& known) { return known.name == described.name; }))
    schemas_.push_back(std::move(described));
}

router::match router::find(std::optional<Method> method, const std::vector<std::string>& segments) const {
  match result;
  if (method == Method::Head)
    method = Method::Get;
  const path* known = nullptr;
  for (const auto& candidate : paths_) {
    if (!matches(candidate, segments))
      continue;
    known = &candidate;
    const auto served =
        std::ranges::find_if(candidate.by_method, [&](const route* one) { return one->method == method; });
    if (served == candidate.by_method.end())
      continue; // another path may have the method: `/x/:id` and `/x/fixed`
    result.found = *served;
    for (std::size_t i = 0; i < segments.size(); ++i)
      if (is_parameter(candidate.segments[i]))
        result.parameters.push_back(segments[i]);
    break;
  }
  result.path_known = known != nullptr;
  if (known && !result.found)
    result.allow = allowed_methods(known->by_method);
  return result;
}

bool router::matches(const path& candidate, const std::vector<std::string>& segments) noexcept {
  return std::ranges::equal(candidate.segments, segments, [](const std::string& expected, const std::string& actual) {
    return is_parameter(expected) || expected == actual;
  });
}

std::string router::openapi_document() const {
  std::vector<schema::operation> operations;
  for (const auto& served : routes_)
    operations.push_back(served->documentation);
  return schema::openapi_document(operations, schemas_, version);
}

} // namespace coordinator::http
