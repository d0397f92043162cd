// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "memory/share_fd.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include <fmt/format.h>

#include "base/error.hpp"
#include "bootstrap/collective.hpp"

namespace shunt::memory {
namespace {

constexpr int kPatience_ms = 30'000;
constexpr const char* kStep = "handing memory to the node peers";

/// An abstract socket: it has no file and goes with its process.
struct SocketName {
  std::uint64_t random[2] = {};
};

socklen_t address_of(const SocketName& name, sockaddr_un* address) {
  *address = {};
  address->sun_family = AF_UNIX;
  const std::string text = fmt::format("shunt-{:016x}{:016x}", name.random[0], name.random[1]);
  std::memcpy(address->sun_path + 1, text.data(), text.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

Status listen_on(const SocketName& name, int peers, UniqueFd* socket) {
  socket->reset(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = address_of(name, &address);
  if (!socket->valid() ||
      ::bind(socket->get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::listen(socket->get(), peers) != 0) {
    return system_error(errno, "cannot listen on a Unix socket");
  }
  return {};
}

/// One message: who sends, and the descriptor beside it.
struct Message {
  explicit Message(std::int32_t* rank) : part{rank, sizeof(*rank)} {
    header.msg_iov = &part;
    header.msg_iovlen = 1;
    header.msg_control = control;
    header.msg_controllen = sizeof(control);
  }
  iovec part;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr header = {};
};

Status send_to(const SocketName& name, std::int32_t rank, int peer, int fd) {
  const UniqueFd socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un address;
  const socklen_t length = address_of(name, &address);
  Message message(&rank);
  cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  control->cmsg_level = SOL_SOCKET;
  control->cmsg_type = SCM_RIGHTS;
  control->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(control), &fd, sizeof(int));
  if (!socket.valid() ||
      ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), length) != 0 ||
      ::sendmsg(socket.get(), &message.header, MSG_NOSIGNAL) < 0) {
    return system_error(errno, "cannot hand memory to rank {} over a Unix socket", peer);
  }
  return {};
}

/// The next message; its sender. `awaited`: a rank that has not sent, for the error.
Result<std::int32_t> receive(const UniqueFd& listener, int awaited, UniqueFd* fd) {
  pollfd ready{listener.get(), POLLIN, 0};
  int polled = -1;
  do {
    polled = ::poll(&ready, 1, kPatience_ms);
  } while (polled < 0 && errno == EINTR);
  if (polled < 0) return system_error(errno, "cannot wait for the memory of rank {}", awaited);
  if (polled == 0) {
    return fail(ErrorCode::kTimeout, ErrorScope::kFatal, "rank {} sent no memory in 30 s", awaited);
  }
  const UniqueFd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  std::int32_t rank = -1;
  Message message(&rank);
  if (!socket.valid() || ::recvmsg(socket.get(), &message.header, MSG_CMSG_CLOEXEC) < 0) {
    return system_error(errno, "cannot take a node peer's memory from a Unix socket");
  }
  const cmsghdr* control = CMSG_FIRSTHDR(&message.header);
  if (control == nullptr || control->cmsg_type != SCM_RIGHTS) {
    return fail(ErrorCode::kProtocol, ErrorScope::kFatal, "rank {} sent no descriptor", rank);
  }
  int received = -1;
  std::memcpy(&received, CMSG_DATA(control), sizeof(int));
  fd->reset(received);
  return rank;
}

Status swap_all(const bootstrap::World& world,
                const cluster::Shape& shape,
                const std::vector<SocketName>& names,
                const UniqueFd& listener,
                int own,
                std::vector<UniqueFd>* fds) {
  const int node = shape.node_of(world.rank());
  for (int local = 0; local < shape.ranks_per_node; ++local) {
    const int peer = shape.rank_of(node, local);
    if (peer == world.rank()) continue;
    SHUNT_TRY(send_to(names[static_cast<std::size_t>(peer)], world.rank(), peer, own));
  }
  for (int others = 1; others < shape.ranks_per_node; ++others) {
    UniqueFd fd;
    int missing = 0;
    while (shape.rank_of(node, missing) == world.rank() ||
           (*fds)[static_cast<std::size_t>(missing)].valid()) {
      ++missing;
    }
    const auto from = receive(listener, shape.rank_of(node, missing), &fd);
    if (!from) return Unexpected(from.error());
    const int local = *from - shape.rank_of(node, 0);
    if (local < 0 || local >= shape.ranks_per_node || *from == world.rank() ||
        (*fds)[static_cast<std::size_t>(local)].valid()) {
      return fail(ErrorCode::kProtocol,
                  ErrorScope::kFatal,
                  "memory of rank {} was not expected on rank {}",
                  *from,
                  world.rank());
    }
    (*fds)[static_cast<std::size_t>(local)] = std::move(fd);
  }
  return {};
}

}  // namespace

Result<std::vector<UniqueFd>> share_fd(bootstrap::World& world,
                                       const cluster::Shape& shape,
                                       int own) {
  std::vector<UniqueFd> fds(static_cast<std::size_t>(shape.ranks_per_node));
  SocketName name;
  UniqueFd listener;
  Status ready;
  if (::fcntl(own, F_GETFD) < 0) ready = system_error(errno, "nothing to hand to the node peers");
  if (ready && ::getrandom(&name, sizeof(name), 0) != sizeof(name)) {
    ready = system_error(errno, "cannot draw a name for a Unix socket");
  }
  if (ready) ready = listen_on(name, shape.ranks_per_node, &listener);
  SHUNT_TRY(bootstrap::agree(world, std::move(ready), kStep));
  const auto names = bootstrap::all_gather_value(world, name);
  if (!names) return Unexpected(names.error());
  SHUNT_TRY(bootstrap::agree(world, swap_all(world, shape, *names, listener, own, &fds), kStep));
  return fds;
}

}  // namespace shunt::memory
