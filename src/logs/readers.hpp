// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Every reader, one function a format family; registry.cpp fixes their order.
#pragma once

#include "logs/reader.hpp"

namespace shunt::logs {

void read_deepep(const Document& document, Sink& sink);
void read_topology(const Document& document, Sink& sink);
void read_rate_matrix(const Document& document, Sink& sink);
void read_counters(const Document& document, Sink& sink);
void read_port_tools(const Document& document, Sink& sink);
void read_links(const Document& document, Sink& sink);
void read_trace(const Document& document, Sink& sink);
void read_deepep_v2(const Document& document, Sink& sink);
void read_low_latency(const Document& document, Sink& sink);
void read_hybridep(const Document& document, Sink& sink);
void read_mori(const Document& document, Sink& sink);
void read_ep_bench(const Document& document, Sink& sink);
void read_pplx(const Document& document, Sink& sink);
void read_nvshmem(const Document& document, Sink& sink);
void read_nccl(const Document& document, Sink& sink);
void read_nccl_info(const Document& document, Sink& sink);
void read_rank_times(const Document& document, Sink& sink);
void read_perftest(const Document& document, Sink& sink);
void read_tables(const Document& document, Sink& sink);
void read_failures(const Document& document, Sink& sink);
void read_result_json(const Document& document, Sink& sink);
void read_config(const Document& document, Sink& sink);
void read_prose(const Document& document, Sink& sink);

}  // namespace shunt::logs
