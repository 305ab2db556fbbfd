#include "actors/progress.hpp"

#include <utility>

namespace coordinator {

std::shared_ptr<progress_mark> progress_board::watch(std::string name, progress_mark::duration limit,
                                                     progress_mark::time_point now) {
  auto mark = std::make_shared<progress_mark>(std::move(name), limit, now);
  std::lock_guard guard{mutex_};
  marks_.push_back(mark);
  return mark;
}

std::vector<std::shared_ptr<const progress_mark>> progress_board::late(progress_mark::time_point now) const {
  std::vector<std::shared_ptr<const progress_mark>> result;
  std::lock_guard guard{mutex_};
  for (const auto& mark : marks_)
    if (mark->late(now))
      result.push_back(mark);
  return result;
}

} // namespace coordinator
