// SPDX-FileCopyrightText: 2026 The shunt authors
// SPDX-License-Identifier: Apache-2.0
//
// Private to report/: the page's style sheet. Colours by name, once for light and once for dark.
#pragma once

namespace shunt::report {

inline constexpr const char* kPageStyle = R"css(
:root{--paper:#f6f7f8;--card:#fff;--ink:#1b1f24;--muted:#5c6670;--line:#dfe3e8;--soft:#eef1f4;
--critical:#b3261e;--warning:#9a5b00;--notice:#0b62a3;--info:#5c6670;--good:#18794e;
--critical-bg:#fdecea;--warning-bg:#fdf3e1;--notice-bg:#e8f2fb;--info-bg:#eef1f4;--good-bg:#e6f5ed;
--orange:#e69f00;--vermilion:#d55e00;--blue:#0072b2;--green:#009e73;--purple:#cc79a7;--sky:#56b4e9;
--yellow:#d9c91f;--grey:#555;--heat:#00529b;--on-heat:#fff;}
@media (prefers-color-scheme:dark){:root{--paper:#111418;--card:#191d22;--ink:#e6e9ed;--muted:#9aa4af;
--line:#2d333b;--soft:#232930;--critical:#ff8f87;--warning:#f0b45a;--notice:#79bdf2;--info:#9aa4af;
--good:#6fcf9d;--critical-bg:#3a1d1c;--warning-bg:#372a14;--notice-bg:#15293a;--info-bg:#232930;
--good-bg:#16301f;--vermilion:#f0843c;--blue:#3d9bd8;--green:#2fbf95;--grey:#8b949e;
--heat:#7cc4ff;--on-heat:#0b1117;}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"DejaVu Sans",sans-serif}
main{max-width:1120px;margin:0 auto;padding:28px 24px 48px}
h1{font-size:30px;line-height:1.22;margin:6px 0 0;letter-spacing:-.012em}
h1.long{font-size:22px}
h2{font-size:17px;margin:0 0 12px}
h3{font-size:15px;margin:0 0 6px;font-weight:600}
p{margin:0 0 8px}
code,.mono{font-family:ui-monospace,"SF Mono",Menlo,"DejaVu Sans Mono",monospace;font-size:.92em;
overflow-wrap:anywhere}
section{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:18px 20px;
margin:16px 0}
.verdict{border-left:6px solid var(--accent);padding:4px 0 4px 20px;margin:0 0 22px}
.eyebrow{color:var(--muted);font-size:13px;margin:0;overflow-wrap:anywhere}
.lead{font-size:17px;color:var(--muted);margin:8px 0 0;max-width:62em}
.chips{margin:14px 0 0;display:flex;flex-wrap:wrap;gap:8px}
.chip,.sev{display:inline-block;border-radius:999px;padding:1px 10px;font-size:13px;font-weight:600;
color:var(--accent);background:var(--accent-bg);white-space:nowrap}
.s-critical{--accent:var(--critical);--accent-bg:var(--critical-bg)}
.s-warning{--accent:var(--warning);--accent-bg:var(--warning-bg)}
.s-notice{--accent:var(--notice);--accent-bg:var(--notice-bg)}
.s-info{--accent:var(--info);--accent-bg:var(--info-bg)}
.s-good{--accent:var(--good);--accent-bg:var(--good-bg)}
.finding{border-left:4px solid var(--accent);padding:2px 0 2px 14px;margin:0 0 18px}
.finding:last-child{margin-bottom:0}
.finding h3{display:flex;flex-wrap:wrap;gap:6px 10px;align-items:baseline}
.finding .where{font-weight:400;color:var(--muted)}
.do{padding-left:1.4em;text-indent:-1.4em}
.do::before{content:"\2192\00a0\00a0";color:var(--accent);font-weight:700}
details{margin:6px 0 0}
summary{cursor:pointer;color:var(--muted);font-size:14px}
details>*:not(summary){margin-top:8px}
.reason{display:grid;grid-template-columns:max-content 1fr;gap:4px 14px;font-size:14px;margin:0}
.reason dt{color:var(--muted)}
.reason dd{margin:0;overflow-wrap:anywhere}
.scroll{overflow-x:auto;margin:0 0 6px}
table{border-collapse:collapse;font-size:14px;font-variant-numeric:tabular-nums}
.scroll>table{min-width:100%}
th,td{padding:5px 10px;text-align:left;border-bottom:1px solid var(--line);vertical-align:top}
thead th{color:var(--muted);font-weight:600;white-space:nowrap;vertical-align:bottom}
thead th small{display:block;font-weight:400}
tbody tr:last-child td{border-bottom:0}
td.n,th.n{text-align:right;white-space:nowrap}
td.t{overflow-wrap:break-word;min-width:6em}
td.from,td.src{color:var(--muted);overflow-wrap:anywhere}
.note{color:var(--muted);font-size:13px;margin:4px 0 0}
.block+.block{margin-top:22px}
.bars{display:grid;grid-template-columns:minmax(9em,max-content) minmax(200px,1fr) max-content;
gap:9px 16px;align-items:center;font-size:14px;grid-auto-flow:dense}
.bars .label{grid-column:1}.bars .fig{grid-column:3}.bars svg{grid-column:2}
.bars .plain{grid-column:2/4;color:var(--muted)}
.bars svg{width:100%;height:20px;display:block}
.bars .fig{font-variant-numeric:tabular-nums}
.bars .fig b{margin-left:.5em}
.axis{position:relative;height:34px;font-size:12px;color:var(--muted);grid-column:2}
.axis span{position:absolute;top:0;transform:translateX(-50%);white-space:nowrap;text-align:center;
line-height:1.25}
.axis span.end{transform:translateX(-100%);text-align:right}
.picture{width:100%;min-width:900px;display:block}
.matrix{border-collapse:separate;border-spacing:2px;font-size:12.5px}
.matrix th,.matrix td{border:0;padding:3px 6px;text-align:center;white-space:nowrap}
.matrix tbody th{text-align:right;font-weight:600}
.matrix td{border-radius:4px;min-width:3.4em;background:var(--soft)}
.dense{font-size:11px;border-spacing:1px}.dense th,.dense td{padding:3px 2px}
.dense td{min-width:3.3em}
.matrix td.gap{background:none;min-width:10px;padding:0}
.matrix td.numa{background:none;color:var(--muted)}
.m-self{color:var(--muted)}
.m-link{--c:var(--blue)}.m-near{--c:var(--green)}.m-host{--c:var(--orange)}.m-far{--c:var(--vermilion)}
.matrix td.m-link,.matrix td.m-near,.matrix td.m-host,.matrix td.m-far,.key i{
background:color-mix(in srgb,var(--c) 22%,var(--card))}
.matrix td.own{box-shadow:inset 0 0 0 2px var(--ink);font-weight:700}
.matrix td.trap{box-shadow:inset 0 0 0 2px var(--notice)}
.matrix td.bad{background:var(--critical);color:var(--card);font-weight:700}
.scroll>table.heat{min-width:0}.heat td{min-width:4.4em;font-variant-numeric:tabular-nums}
.heat .h0{--p:4%}.heat .h1{--p:9%}.heat .h2{--p:15%}.heat .h3{--p:22%}.heat .h4{--p:29%}
.heat .h5{--p:37%}.heat .h6{--p:46%}.heat .h7{--p:56%}.heat .h8{--p:66%}.heat .h9{--p:78%}
.heat td[class^=h],.heat i[class^=h]{background:color-mix(in srgb,var(--heat) var(--p),var(--card))}
.heat td.h7,.heat td.h8,.heat td.h9{color:var(--on-heat)}
.heat td.none{background:none;color:var(--muted)}
.heat td.bad{background:var(--critical);color:var(--card)}
.heat.small{font-size:9px;border-spacing:1px}.heat.small th,.heat.small td{padding:0 1px}
.heat.small td{min-width:11px;width:11px;height:13px;border-radius:2px}
.heat.small th{font-weight:400}
.key.heat{align-items:center}.key .scale{display:inline-flex}
.key .scale i{margin:0;border-radius:0;width:18px}
.key{display:flex;flex-wrap:wrap;gap:4px 16px;font-size:13px;color:var(--muted);margin:8px 0 0}
.key i{display:inline-block;width:14px;height:14px;border-radius:3px;margin-right:6px;
vertical-align:-2px;background:var(--soft)}
.key i.m-link,.key i.m-near,.key i.m-host,.key i.m-far{
background:color-mix(in srgb,var(--c) 22%,var(--card))}
.key i.own{box-shadow:inset 0 0 0 2px var(--ink)}.key i.bad{background:var(--critical)}
.key i.trap{box-shadow:inset 0 0 0 2px var(--notice)}
.problems{margin:12px 0 0;color:var(--critical);font-weight:600}
.devices{margin:8px 0 0;color:var(--muted);font-size:13px}
ul{margin:0;padding-left:1.2em}
li{overflow-wrap:anywhere}
li.line{list-style:none;margin-left:0}
footer{color:var(--muted);font-size:13px;margin-top:24px}
@media (max-width:760px){.evidence,.evidence tbody,.evidence tr,.evidence td{display:block}
.evidence td{border:0;padding:0}.evidence td.src{font-size:13px}
.evidence tr{border-bottom:1px solid var(--line);padding:5px 0}main{padding:18px 12px 32px}section{padding:14px 14px}h1{font-size:25px}
.bars{grid-template-columns:1fr max-content;gap:2px 12px}
.bars .label{grid-column:1}.bars .fig{grid-column:2}
.bars svg,.bars .axis,.bars .plain{grid-column:1/3}.bars svg{margin-bottom:10px}}
@media print{body{background:#fff}section{break-inside:avoid;border-color:#ccc}}
)css";

}  // namespace shunt::report
