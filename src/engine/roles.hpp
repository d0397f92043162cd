// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// The three roles of a block in an operation. in: executor of the block, arguments → out: the
// phases of dispatch/ and combine/ run, the same on every executor.
#pragma once

#include "combine/all.hpp"
#include "combine/inter.hpp"
#include "combine/intra.hpp"
#include "dispatch/intra.hpp"
#include "dispatch/receive.hpp"
#include "dispatch/send.hpp"

namespace shunt::engine {

/// What a block does in an operation: send to other nodes, receive from them, work in the node.
enum class Role : int { kSend = 0, kReceive = 1, kIntra = 2 };

/// One block's part of an operation. Whole block. True on the one block whose return ends the
/// operation on this rank.
template <exec::Executor Exec>
SHUNT_DEVICE bool run_role(Exec& exec, Role role, const dispatch::DispatchArgs& args) {
  switch (role) {
    case Role::kSend:
      dispatch::dispatch_send(exec, args);
      return false;
    case Role::kReceive:
      dispatch::dispatch_receive(exec, args);
      return false;
    case Role::kIntra:
      break;
  }
  return dispatch::dispatch_intra(exec, args);
}

template <exec::Executor Exec>
SHUNT_DEVICE bool run_role(Exec& exec, Role role, const combine::CombineArgs& args) {
  switch (role) {
    case Role::kSend:
      combine::combine_inter(exec, args);
      return false;
    case Role::kReceive:
      combine::combine_all(exec, args);
      return false;
    case Role::kIntra:
      break;
  }
  return combine::combine_intra(exec, args);
}

}  // namespace shunt::engine
