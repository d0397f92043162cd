// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
#include "report/matrix.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "logs/reader.hpp"
#include "report/cell.hpp"
#include "report/foreign_report.hpp"
#include "report/html.hpp"
#include "report/json.hpp"
#include "report/markdown.hpp"
#include "report/text.hpp"
#include "support/markup.hpp"

namespace shunt::report {
namespace {

using cluster::Topology;
using ::testing::HasSubstr;
using ::testing::Not;

Topology topology(int gpus, int nics) {
  Topology out;
  out.source = "nvidia-smi topo -m";
  for (int i = 0; i < gpus + nics; ++i) {
    cluster::Device device;
    device.kind = i < gpus ? cluster::DeviceKind::kGpu : cluster::DeviceKind::kNic;
    device.index = i < gpus ? i : i - gpus;
    device.label = fmt::format("{}{}", i < gpus ? "GPU" : "NIC", device.index);
    if (i < gpus) device.cpus = "0-7";
    if (i < gpus) device.numa = "0";
    if (i == gpus) device.name = "mlx5_0";
    if (i == gpus) device.rating_bytes_per_s = 50e9;
    out.add(device);
  }
  for (std::size_t a = 0; a < out.devices.size(); ++a) {
    for (std::size_t b = 0; b < static_cast<std::size_t>(gpus); ++b) {
      if (a == b) continue;
      const bool nic = a >= static_cast<std::size_t>(gpus);
      const bool pair = nic && a - static_cast<std::size_t>(gpus) == b;
      out.cell(a, b) = out.cell(b, a) = *cluster::parse_path(pair ? "PIX" : nic ? "SYS" : "NV18");
    }
  }
  return out;
}

TEST(Matrix, TextIsAlignedMarkedAndExplained) {
  Topology two = topology(2, 1);
  two.gaps.emplace_back("no row for NIC0");
  EXPECT_EQ(matrix_text(make_matrix(two, "t", ""), 100),
            "        GPU0  GPU1  NIC0   NUMA  CPUs\n"
            "  GPU0  X     NV18  PIX*   0     0-7\n"
            "  GPU1  NV18  X     SYS*!  0     0-7\n"
            "  * the NIC to give this GPU   ! a problem\n"
            "  ! GPU1: the nearest NIC is SYS, beyond PCIe bridges\n"
            "  NIC0: mlx5_0, 400 Gb/s = 50.0 GB/s\n"
            "  note: no row for NIC0\n");
}

TEST(Matrix, TooWideATextIsBrokenIntoBlocks) {
  for (const std::size_t width : {60U, 80U, 100U, 140U}) {
    const std::string text = matrix_text(make_matrix(topology(16, 12), "t", ""), width);
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find('\n', at);
      EXPECT_LE(display_width(text.substr(at, end - at)), width) << text.substr(at, end - at);
      at = end + 1;
    }
    for (int i = 0; i < 12; ++i) EXPECT_THAT(text, HasSubstr(fmt::format("NIC{}", i)));
    EXPECT_THAT(text, HasSubstr("NUMA"));
  }
}

constexpr std::string_view kPaste =
    "        GPU0    GPU1    GPU2    NIC0    CPU Affinity    NUMA Affinity\n"
    "GPU0     X      NV18    SYS     PIX     0-7     0\n"
    "GPU1    NV18     X      SYS     PIX     0-7     0\n"
    "GPU2    SYS     SYS      X      PIX     0-7     0\n"
    "NIC0    PIX     PIX     PIX      X\n";

TEST(Matrix, EveryFormOfTheReportDrawsIt) {
  logs::Evidence evidence;
  logs::gather(logs::make_document("topo.txt", kPaste), evidence);
  const Report report = build_foreign_report(evidence);
  ASSERT_EQ(report.matrices.size(), 1U);
  for (const std::string& form : {render_text(report, {}), render_markdown(report)}) {
    EXPECT_THAT(form, HasSubstr("SYS!"));
    EXPECT_THAT(form, HasSubstr("PIX*!"));
    EXPECT_THAT(form, HasSubstr("GPU2: no NVLink"));
  }
  const PagePart part{&report, "", ""};
  const std::string page = render_html({&part, 1}, "test");
  EXPECT_EQ(testing::read_markup(page).error, "");
  EXPECT_THAT(page, HasSubstr("<td class=\"m-far bad\">SYS!</td>"));
  EXPECT_THAT(page, HasSubstr("<td class=\"m-near own bad\">PIX*!</td>"));
  EXPECT_THAT(render_json(report), HasSubstr("\"problem\": true"));
}

TEST(Matrix, AFenceInALabelDoesNotEndTheMarkdownFence) {
  Report report;
  report.matrices.push_back(make_matrix(topology(2, 1), "t", "title"));
  report.matrices[0].gaps.emplace_back("``` <script>");
  const std::string text = render_markdown(report);
  EXPECT_THAT(text, Not(HasSubstr("``` <script>")));
}

}  // namespace
}  // namespace shunt::report
