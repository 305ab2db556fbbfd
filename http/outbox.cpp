#include "http/outbox.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <cstdint>
#include <iterator>
#include <system_error>
#include <utility>

namespace coordinator::http {

namespace {

/// The outbox of the worker that this thread is, if it is one.
thread_local const outbox* of_this_thread = nullptr;

template <class T>
void move_all(std::vector<T>& from, std::vector<T>& to) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from.clear();
}

} // namespace

outbox::outbox() : wake_descriptor_(::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {
  if (wake_descriptor_ < 0)
    throw std::system_error(errno, std::generic_category(), "eventfd");
}

outbox::~outbox() {
  ::close(wake_descriptor_);
}

void outbox::adopt_thread() noexcept {
  of_this_thread = this;
}

void outbox::post(reply item) {
  if (of_this_thread == this) {
    own_.push_back(std::move(item));
    return;
  }
  std::lock_guard guard{mutex_};
  replies_.push_back(std::move(item));
  wake();
}

void outbox::post(command task) {
  std::lock_guard guard{mutex_};
  commands_.push_back(std::move(task));
  wake();
}

void outbox::take(std::vector<reply>& replies, std::vector<command>& commands) {
  move_all(own_, replies);
  std::lock_guard guard{mutex_};
  if (!armed_)
    return;
  armed_ = false;
  std::uint64_t count = 0;
  (void)!::read(wake_descriptor_, &count, sizeof count);
  move_all(replies_, replies);
  move_all(commands_, commands);
}

void outbox::wake() noexcept {
  if (std::exchange(armed_, true))
    return;
  const std::uint64_t one = 1;
  (void)!::write(wake_descriptor_, &one, sizeof one);
}

void answer(const exchange_ptr& to, response reply) {
  if (!to->answered.exchange(true, std::memory_order_relaxed))
    to->home->post(outbox::reply{to, std::move(reply)});
}

} // namespace coordinator::http
