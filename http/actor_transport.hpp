#pragma once

#include "http/connection.hpp"
#include "http/limits.hpp"
#include "http/outbox.hpp"
#include "http/router.hpp"
#include "http/worker_unit.hpp"

#include <caf/actor_control_block.hpp>
#include <pistache/peer.h>
#include <pistache/transport.h>

#include <atomic>
#include <cstddef>
#include <ctime>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace coordinator::http {

/// What all workers of a server share.
struct shared_server {
  std::shared_ptr<const router> routes;
  server_limits limits;
  std::atomic<std::size_t> connections = 0;
  std::atomic<bool> draining = false;
  std::atomic<std::uint64_t> next_serial = 0;
  /// Called with a socket that a worker has accepted, to give it to the worker that shall own it.
  std::function<void(int descriptor)> dispatch;
  /// Called on each round of a worker's timer, whatever else happens: proof that its loop turns.
  std::function<void(std::size_t worker)> alive;
};

/// One HTTP worker: a Pistache transport that reads requests, runs actors and writes answers on its own thread
/// (docs/architecture.md, "The HTTP worker").
///
/// Pistache supplies the event loop and keeps the peers; framing, routing and writing are ours, because the packaged
/// version crashes, hangs or mixes up clients there. Everything but the constructor runs on the worker's thread.
class actor_transport : public Pistache::Tcp::Transport, private connection_host {
public:
  actor_transport(std::size_t index, std::shared_ptr<shared_server> server, caf::actor_system& system);
  ~actor_transport() override;

  void registerPoller(Pistache::Polling::Epoll& poller) override;
  void onReady(const Pistache::Aio::FdSet& ready) override;
  std::shared_ptr<Pistache::Aio::Handler> clone() const override;

  /// For commands from other threads. Any thread.
  const std::shared_ptr<outbox>& mail() const noexcept override { return mail_; }

  /// The actor that requests go to. By command.
  void attach(caf::strong_actor_ptr gateway);
  /// Accepts on that listening socket from now on. By command.
  void start_accepting(int listener);
  void stop_accepting();
  /// Takes over a connected, non-blocking socket. By command.
  void adopt(int descriptor);
  void begin_drain();
  /// Closes every connection, whatever it is doing. By command.
  void abandon();

private:
  class adoption;

  const router& routes() const noexcept override { return *server_->routes; }
  const server_limits& limits() const noexcept override { return server_->limits; }
  std::string_view date() override;
  bool draining() const noexcept override { return server_->draining.load(std::memory_order_relaxed); }
  void serve(exchange_ptr request) override;
  void watch_writable(connection& which, bool wanted) override;
  void resume_later(connection& which) override;

  void handle(const Pistache::Aio::FdSet& ready);
  void accept_ready();
  void deliver_posts();
  void on_timer();
  void add(const std::shared_ptr<Pistache::Tcp::Peer>& peer);
  void close_if_finished(connection& which);

  std::size_t index_;
  std::shared_ptr<shared_server> server_;
  worker_unit unit_;
  std::shared_ptr<outbox> mail_;
  caf::strong_actor_ptr gateway_;
  std::vector<exchange_ptr> waiting_; ///< Requests that came before there was a gateway.

  std::string date_;
  std::time_t date_second_ = 0;

  std::unordered_map<int, connection> connections_;
  std::vector<std::pair<int, std::uint64_t>> resumed_; ///< Descriptor and serial.

  int timer_ = -1;
  int listener_ = -1;
  bool accept_paused_ = false; ///< Until the next timer round: out of descriptors or memory.
  bool accept_failed_ = false; ///< And nothing was accepted since.

  std::vector<outbox::reply> replies_;
  std::vector<outbox::command> commands_;
};

} // namespace coordinator::http
