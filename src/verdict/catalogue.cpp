// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "verdict/judge.hpp"

namespace shunt::verdict {

const std::vector<CatalogueEntry>& own_run_catalogue() {
  static const std::vector<CatalogueEntry> kCatalogue{
      {"saturated",
       "records fill at least 85 % of a link's rating during its wire window",
       "the link is full; only fewer bytes make it faster"},
      {"underused",
       "records fill less than 80 % of the rating, in a batch that could fill it",
       "by how much; the findings beside it give the cause"},
      {"posting-time",
       "bytes over the send phase exceed the rating",
       "the send span is posting time, and the wire window is the measure"},
      {"receiver-waits",
       "the receive phase lasts twice the send phase, mostly waits, and the window is well above "
       "bytes / rating",
       "whether senders or fabric limit, and which pair is last"},
      {"receiver-idle",
       "the receive phase lasts less than half of the send phase, with few chunks a node",
       "the batch is too small to load the link, and the batch that would"},
      {"combine-stall",
       "combine_inter_node lasts twice its bytes / rating or more, and the link is not full",
       "a stall of the poll or contention, from the split of wait and copy"},
      {"barrier-bound",
       "half of the operation goes into synchronising that no late rank explains",
       "overhead of barriers or launch, not bandwidth"},
      {"few-qps",
       "fewer puts in flight than the link needs, at most one a queue pair",
       "the number of queue pairs that would fill it"},
      {"few-blocks",
       "fewer puts in flight than the link needs, and the sending blocks are busy to the end",
       "more blocks for sending"},
      {"small-messages",
       "the batch, or its puts, are too small for the link's latency or the burst of its bucket",
       "the batch or the chunk that would fill it"},
      {"slow-rank",
       "one rank's own time is 1.5 times the others' median, and the operation feels it",
       "which rank, by how much, in which phase"},
      {"skew",
       "ranks enter an operation further apart than a tenth of its duration",
       "which rank is last, by how much"},
      {"cold-start",
       "the first measured iteration takes 1.5 times the median of the later ones",
       "how many iterations to warm up"},
      {"counters-disagree",
       "a counter differs from the bytes of the records by more than 5 %, headers included",
       "other traffic, retransmission, lost records or the wrong port"},
  };
  return kCatalogue;
}

}  // namespace shunt::verdict
