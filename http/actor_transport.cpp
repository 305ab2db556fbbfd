#include "http/actor_transport.hpp"

#include "actors/log.hpp"
#include "http/gateway.hpp"

#include <caf/mailbox_element.hpp>
#include <caf/message.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>
#include <pistache/tcp.h>

#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>
#include <system_error>
#include <utility>

namespace coordinator::http {

namespace {

using Pistache::Aio::FdSet;
using Pistache::Polling::Epoll;
using Pistache::Polling::Event;
using Pistache::Polling::Mode;
using Pistache::Polling::NotifyOn;
using Pistache::Polling::Tag;
using Pistache::Tcp::Peer;

/// How often deadlines are looked at.
constexpr long timer_nanoseconds = 250'000'000;
constexpr int accepts_per_turn = 64;

constexpr log::source http_source{"http", 0};

connection::time_point now() {
  return std::chrono::steady_clock::now();
}

Pistache::Flags<NotifyOn> to_read() {
  return Pistache::Flags<NotifyOn>{NotifyOn::Read};
}

Tag tag_of(int descriptor) {
  return Tag{static_cast<std::uint64_t>(descriptor)};
}

} // namespace

/// Pistache tells its handler of new peers once they are registered; input it never gets, since `onReady` is ours.
class actor_transport::adoption : public Pistache::Tcp::Handler {
public:
  PROTOTYPE_OF(Pistache::Tcp::Handler, adoption)

  void onInput(const char*, std::size_t, const std::shared_ptr<Peer>&) override {}
  void onConnection(const std::shared_ptr<Peer>& peer) override {
    static_cast<actor_transport*>(transport())->add(peer);
  }
};

actor_transport::actor_transport(std::size_t index, std::shared_ptr<shared_server> server, caf::actor_system& system)
    : Pistache::Tcp::Transport(std::make_shared<adoption>()), index_(index), server_(std::move(server)), unit_(&system),
      mail_(std::make_shared<outbox>()) {}

actor_transport::~actor_transport() {
  if (timer_ >= 0)
    ::close(timer_);
}

std::shared_ptr<Pistache::Aio::Handler> actor_transport::clone() const {
  return nullptr; // only a reactor with several threads clones its handlers; ours have one each
}

void actor_transport::registerPoller(Epoll& poller) {
  Pistache::Tcp::Transport::registerPoller(poller);
  poller.addFd(mail_->wake_descriptor(), to_read(), tag_of(mail_->wake_descriptor()));
  timer_ = ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
  if (timer_ < 0)
    throw std::system_error(errno, std::generic_category(), "timerfd_create");
  const itimerspec schedule{{0, timer_nanoseconds}, {0, timer_nanoseconds}};
  ::timerfd_settime(timer_, 0, &schedule, nullptr);
  poller.addFd(timer_, to_read(), tag_of(timer_));
}

void actor_transport::onReady(const FdSet& ready) {
  try {
    mail_->adopt_thread();
    handle(ready);
    deliver_posts();
  } catch (const std::exception& error) {
    // An exception that left here would end the process. What it interrupted is picked up by the next round.
    log::write(log::level::error, http_source, "http.round_failed", {{"exception", error.what()}});
  }
}

void actor_transport::handle(const FdSet& ready) {
  const auto moment = now();
  std::vector<Event> others;
  for (const auto& entry : ready) {
    const auto descriptor = static_cast<int>(entry.getTag().value());
    if (auto found = connections_.find(descriptor); found != connections_.end()) {
      auto& which = found->second;
      if (entry.isWritable())
        which.on_writable(moment);
      if (!which.finished() && (entry.isReadable() || entry.isHangup()))
        which.on_readable(moment);
      close_if_finished(which);
    } else if (descriptor == timer_) {
      on_timer();
    } else if (descriptor == listener_) {
      accept_ready();
    } else if (descriptor != mail_->wake_descriptor()) {
      // one of Pistache's own queues
      Event event{entry.getTag()};
      event.flags = to_read();
      others.push_back(std::move(event));
    }
  }
  if (!others.empty())
    Pistache::Tcp::Transport::onReady(FdSet{std::move(others)});
}

void actor_transport::deliver_posts() {
  const auto resumed = std::exchange(resumed_, {});
  for (const auto& [descriptor, serial] : resumed) {
    auto found = connections_.find(descriptor);
    if (found == connections_.end() || found->second.serial() != serial)
      continue;
    found->second.advance(now());
    close_if_finished(found->second);
  }
  // Requests that came in one batch are answered here, and pipelined ones behind them served in turn.
  while (true) {
    const bool ran = unit_.run();
    mail_->take(replies_, commands_);
    if (!ran && replies_.empty() && commands_.empty())
      break;
    const auto moment = now();
    for (auto& reply : replies_) {
      auto found = connections_.find(reply.to->descriptor);
      if (found == connections_.end() || found->second.serial() != reply.to->connection)
        continue; // the client has gone
      auto& which = found->second;
      which.deliver(reply.to, std::move(reply.answer), moment);
      reply.to.reset();
      which.advance(moment);
      close_if_finished(which);
    }
    replies_.clear();
    for (auto& command : std::exchange(commands_, {}))
      command();
  }
  if (!resumed_.empty())
    mail_->post(outbox::command{[] {}}); // makes the loop come back without waiting
}

void actor_transport::attach(caf::strong_actor_ptr gateway) {
  gateway_ = std::move(gateway);
  for (auto& request : std::exchange(waiting_, {}))
    serve(std::move(request));
}

std::string_view actor_transport::date() {
  if (const auto second = std::time(nullptr); second != date_second_) {
    date_second_ = second;
    date_ = fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(second));
  }
  return date_;
}

void actor_transport::serve(exchange_ptr request) {
  if (!gateway_) {
    waiting_.push_back(std::move(request));
    return;
  }
  gateway_->enqueue(nullptr, caf::make_message_id(), caf::make_message(serve_atom::value, std::move(request)), &unit_);
}

void actor_transport::watch_writable(connection& which, bool wanted) {
  auto interest = to_read() | NotifyOn::Shutdown;
  if (wanted)
    interest |= NotifyOn::Write;
  reactor()->modifyFd(key(), which.descriptor(), interest, tag_of(which.descriptor()), Mode::Edge);
}

void actor_transport::resume_later(connection& which) {
  resumed_.emplace_back(which.descriptor(), which.serial());
}

void actor_transport::start_accepting(int listener) {
  listener_ = listener;
  accept_paused_ = false;
  reactor()->registerFd(key(), listener, NotifyOn::Read, tag_of(listener));
}

void actor_transport::stop_accepting() {
  if (listener_ < 0)
    return;
  if (!accept_paused_)
    reactor()->removeFd(key(), listener_);
  listener_ = -1;
}

void actor_transport::accept_ready() {
  for (int n = 0; n < accepts_per_turn; ++n) {
    const int descriptor = ::accept4(listener_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (descriptor >= 0) {
      accept_failed_ = false;
      server_->dispatch(descriptor);
      continue;
    }
    switch (errno) {
    case EAGAIN:
      return;
    case EINTR:
    case ECONNABORTED:
    case EPROTO:
      continue;
    default:
      // Out of descriptors or memory. The socket stays readable, so without a pause this would spin.
      if (!std::exchange(accept_failed_, true)) // once, and not with each try
        log::write(log::level::error, http_source, "http.accept_failed", {{"error", std::strerror(errno)}});
      reactor()->removeFd(key(), listener_);
      accept_paused_ = true;
      return;
    }
  }
}

void actor_transport::adopt(int descriptor) {
  sockaddr_storage name{};
  socklen_t size = sizeof name;
  ::getpeername(descriptor, reinterpret_cast<sockaddr*>(&name), &size);
  try {
    handleNewPeer(Peer::Create(descriptor, Pistache::Address::fromUnix(reinterpret_cast<sockaddr*>(&name))));
  } catch (const std::exception& error) {
    // The client left before it was looked at: it has no address any more.
    log::write(log::level::debug, http_source, "http.client_gone", {{"exception", error.what()}});
    connections_.erase(descriptor);
    peers.erase(descriptor);
    ::close(descriptor);
    server_->connections.fetch_sub(1, std::memory_order_relaxed);
  }
}

void actor_transport::add(const std::shared_ptr<Peer>& peer) {
  const auto serial = server_->next_serial.fetch_add(1, std::memory_order_relaxed);
  connections_.try_emplace(peer->fd(), peer->fd(), serial, static_cast<connection_host&>(*this), now());
}

void actor_transport::close_if_finished(connection& which) {
  if (!which.finished())
    return;
  const int descriptor = which.descriptor();
  const auto peer = peers.at(descriptor);
  connections_.erase(descriptor);
  removePeer(peer); // closes the descriptor
  server_->connections.fetch_sub(1, std::memory_order_relaxed);
}

void actor_transport::on_timer() {
  std::uint64_t expirations = 0;
  (void)!::read(timer_, &expirations, sizeof expirations);
  server_->alive(index_);
  if (std::exchange(accept_paused_, false) && listener_ >= 0)
    reactor()->registerFd(key(), listener_, NotifyOn::Read, tag_of(listener_));
  const auto moment = now();
  std::vector<connection*> finished;
  for (auto& [descriptor, which] : connections_) {
    which.on_timer(moment);
    if (which.finished())
      finished.push_back(&which);
  }
  for (auto* which : finished)
    close_if_finished(*which);
}

void actor_transport::begin_drain() {
  const auto moment = now();
  if (gateway_) // those who wait for something to happen are answered with what there is
    gateway_->enqueue(nullptr, caf::make_message_id(), caf::make_message(wake_atom::value), &unit_);
  std::vector<connection*> finished;
  for (auto& [descriptor, which] : connections_) {
    which.begin_drain(moment);
    if (which.finished())
      finished.push_back(&which);
  }
  for (auto* which : finished)
    close_if_finished(*which);
}

void actor_transport::abandon() {
  while (!connections_.empty()) {
    auto& which = connections_.begin()->second;
    which.abandon();
    close_if_finished(which);
  }
}

} // namespace coordinator::http
