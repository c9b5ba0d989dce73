#include "src/report/html/style.h"

namespace gradsync {
namespace {

// Text has a contrast of at least 4.5 on its ground in both schemes, shapes of 3 (measured by tests/unit/report/html/check_html.py).
constexpr std::string_view kStyle = R"(
:root{color-scheme:light dark;--ground:#fff;--soft:#f4f6f8;--line:#c4ccd4;--text:#1b1f24;--faint:#57606a;
--good:#1a6e33;--warning:#855300;--bad:#b42318;--link:#0b5cad;--plot:#3c78b4;--other:#a34d0f}
@media(prefers-color-scheme:dark){:root{--ground:#14181d;--soft:#1e242b;--line:#46505a;--text:#e6e9ec;--faint:#a3adb8;
--good:#5fc67e;--warning:#e0ac4a;--bad:#ff8a7d;--link:#7cb7ff;--plot:#6ba6e0;--other:#e08a4a}}
@media print{:root{--ground:#fff;--soft:#fff;--line:#999;--text:#000;--faint:#444;--good:#1a6e33;--warning:#855300;
--bad:#b42318;--link:#000;--plot:#3c78b4;--other:#a34d0f}}
*{box-sizing:border-box}
body{margin:0 auto;max-width:68rem;padding:1rem;background:var(--ground);color:var(--text);
font:1rem/1.5 system-ui,sans-serif;overflow-wrap:anywhere}
h1{font-size:1.25rem;margin:.2rem 0;font-family:ui-monospace,monospace}
h2{font-size:1.25rem;margin:2rem 0 .5rem;border-bottom:1px solid var(--line)}
h3{font-size:1.05rem;margin:1rem 0 .25rem}
h2.small,h3.small{text-transform:lowercase}h2.small::first-letter,h3.small::first-letter{text-transform:uppercase}
p{margin:.25rem 0}a{color:var(--link)}:target{outline:2px solid var(--link);outline-offset:4px}
nav ul{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:.25rem 1.25rem}
.strong{font-weight:600}.faint{color:var(--faint)}.good{color:var(--good)}.warning{color:var(--warning)}
.bad{color:var(--bad);font-weight:600}
.verdict{border-left:.4rem solid var(--warning);padding:.5rem 1rem;background:var(--soft);font-size:1.15rem}
.verdict.costs{border-color:var(--bad)}.verdict.saves,.verdict.neutral{border-color:var(--good)}
article{border:1px solid var(--line);border-radius:.4rem;padding:.25rem 1rem .75rem;margin:1rem 0}
dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1rem;margin:.5rem 0}
dt{color:var(--faint)}dd{margin:0}
@media(max-width:40em){dl{grid-template-columns:1fr;gap:0}dd{margin:0 0 .5rem 1rem}}
ul.lines{list-style:none;padding-left:0}ul.lines li{padding-left:1.25rem;text-indent:-1.25rem}ul.lines li.deep{margin-left:1.5rem}
.scroll{overflow-x:auto;max-width:100%}
table{border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.5rem 0}
caption{text-align:left;font-weight:600;padding:.25rem 0}
th,td{padding:.2rem .75rem .2rem 0;text-align:left;vertical-align:top;border-bottom:1px solid var(--line);overflow-wrap:normal}
td.wide{overflow-wrap:anywhere;min-width:12rem}
th{font-weight:600}tbody th{white-space:nowrap}td.n,th.n{text-align:right}th[aria-sort]{text-decoration:underline}th.sorts{cursor:pointer}
figure{margin:1rem 0}figcaption{font-size:.9rem}.key{display:inline-block;margin-right:1rem}
figure .scroll svg{min-width:40rem;width:100%;height:auto;display:block}
svg text{font:12px system-ui,sans-serif;fill:var(--text)}svg text.mid{text-anchor:middle}svg text.end{text-anchor:end}
svg text.on{fill:#fff;text-anchor:middle;font-weight:600}
.axis{stroke:var(--text);fill:none}.grid{stroke:var(--line);fill:none;stroke-dasharray:2 3}
.line{stroke:var(--plot);fill:none;stroke-width:2}.fit{stroke:var(--other);fill:none;stroke-width:2;stroke-dasharray:6 4}
.span{stroke:var(--plot);stroke-width:1}.range{stroke:var(--plot);stroke-width:4;stroke-linecap:round;fill:none}
.range2{stroke:var(--other);stroke-width:4;stroke-linecap:round;fill:none}
.p0{fill:var(--plot)}.p1{fill:var(--other)}.mark{fill:var(--bad);opacity:.25}.hit{fill:none;stroke:var(--bad);stroke-width:2}
.faintfill{fill:var(--faint)}.alone{fill:none;stroke:var(--faint)}
.k-compute{fill:#3d74ad}.k-forward{fill:#3d74ad}.k-backward{fill:#2b7c97}.k-optimizer{fill:#5c8f9e}
.k-compress{fill:#c2571c}.k-decompress{fill:#a8780f}.k-comm,.k-comm_unsplit,.k-comm_transfer{fill:#7d58a8}
.k-comm_peer_wait{fill:#a56fa8}.k-comm_startup{fill:#6d63b8}.k-memcpy{fill:#2d8a80}.k-host_sync{fill:#b83a4b}
.k-launch{fill:#866546}.k-sched_irq{fill:#c04a8c}.k-data{fill:#65822a}.k-idle,.k-other{fill:#767f8a}
.h1{fill:var(--plot);opacity:.25}.h2{fill:var(--plot);opacity:.5}.h3{fill:var(--plot);opacity:.75}.h4{fill:var(--plot)}
@media print{nav{display:none}article,figure,tr{break-inside:avoid}h2,h3,caption{break-after:avoid}
.scroll{overflow:visible}figure .scroll svg{min-width:0}*{print-color-adjust:exact}
details::details-content{content-visibility:visible;block-size:auto}}
)";

// Sorting tables; closed parts open for paper.
constexpr std::string_view kScript = R"(
for (const table of document.querySelectorAll('table.sort')) {
  const heads = Array.from(table.tHead.rows[0].cells);
  heads.forEach((head, column) => {
    const sort = () => {
      const up = head.getAttribute('aria-sort') !== 'ascending';
      const key = row => { const cell = row.cells[column]; return cell.dataset.v ?? cell.textContent; };
      const order = (a, b) => {
        const x = key(a), y = key(b), d = parseFloat(x) - parseFloat(y);
        return (Number.isNaN(d) ? x.localeCompare(y) : d) * (up ? 1 : -1);
      };
      table.tBodies[0].append(...Array.from(table.tBodies[0].rows).sort(order));
      heads.forEach(other => other.removeAttribute('aria-sort'));
      head.setAttribute('aria-sort', up ? 'ascending' : 'descending');
    };
    head.classList.add('sorts');
    head.tabIndex = 0;
    head.addEventListener('click', sort);
    head.addEventListener('keydown', event => { if (event.key === 'Enter') sort(); });
  });
}
addEventListener('beforeprint', () => document.querySelectorAll('details').forEach(part => { part.open = true; }));
)";

}  // namespace

std::string_view html_style() { return kStyle; }
std::string_view html_style_hash() { return "ZVDc2XLweHHWEAZNgIXdMHMA7DKwgSHJl7YZwDUAhsQ="; }
std::string_view html_script() { return kScript; }
std::string_view html_script_hash() { return "9Z4zraAWNPSWEkhsvXnrqDCQuphOmaZbTZAyOjPo/7E="; }

}  // namespace gradsync
