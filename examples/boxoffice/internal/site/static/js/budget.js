// The budget of the upstream: a minute of calls as a picture and as a table, with
// the figures of the limiter, the coalescer and the workers.

import { CallPlot } from './callplot.js';
import { $, h, setText, show } from './dom.js';
import { number, t, time } from './i18n.js';

const known = (n) => (n === null || n === undefined ? '–' : number(n));

export class BudgetPanel {
  #plot = new CallPlot($('#calls'));
  #rows = []; // of the table of calls

  constructor() {
    $('#calls-details').addEventListener('toggle', () => this.#table());
  }

  // update shows the budget of a report; there is none in an office without it.
  update(budget) {
    show($('#budget'), Boolean(budget));
    if (!budget) return;
    this.#calls(budget);
    this.#numbers(budget);
    this.#states(budget);
    setText($('#budget-plan'), budget.plan.arithmetic);
  }

  #calls({ calls, callsError, plan }) {
    const last = calls?.at(-1);
    this.seconds = calls ?? [];
    show($('#calls-none'), !last);
    setText($('#calls-none'), last ? '' : t('ops.budget.nocalls', { reason: callsError }));
    $('#calls').classList.toggle('stale', !last);
    setText($('#rate-now'), last ? number(last.high + last.low) : '–');
    $('#rate-now').classList.toggle('over', Boolean(last) && last.high + last.low > plan.hardLimit);
    setText($('#rate-high'), known(last?.high));
    setText($('#rate-low'), known(last?.low));
    if (last) this.#plot.show(calls, plan);
    this.#table();
  }

  // #table is filled while it is open.
  #table() {
    if (!$('#calls-details').open) return;
    const seconds = (this.seconds ?? []).toReversed();
    while (this.#rows.length < seconds.length) {
      const cells = [h('th', { scope: 'row' }), ...[0, 1, 2].map(() => h('td', { class: 'n' }))];
      this.#rows.push(cells);
      $('#calls-rows').append(h('tr', {}, ...cells));
    }
    while (this.#rows.length > seconds.length) this.#rows.pop()[0].parentElement.remove();
    seconds.forEach((s, i) => {
      [time(new Date(1000 * s.at)), number(s.high), number(s.low), number(s.high + s.low)].forEach((text, j) => setText(this.#rows[i][j], text));
    });
  }

  #numbers({ plan, remaining, granted, denied, waiting, lag }) {
    const of = (n, all) => (n === null || n === undefined ? '–' : t('ops.budget.of', { n: number(n), all: number(all) }));
    const sum = (counts) => (counts ? Object.values(counts).reduce((a, b) => a + b, 0) : null);
    const rows = [
      ['#tokens', of(remaining?.high, plan.burst), of(remaining?.low, plan.lowBurst)],
      ['#granted', known(granted?.high), known(granted?.low)],
      ['#denied', known(sum(denied?.high)), known(sum(denied?.low))],
      ['#waiting', known(waiting?.high), known(waiting?.low)],
      ['#behind', known(lag.high), known(lag.low)],
    ];
    for (const [row, high, low] of rows) {
      const [first, second] = $(row).querySelectorAll('td');
      setText(first, high);
      setText(second, low);
    }
    const why = [[t('ops.budget.high'), denied?.high], [t('ops.budget.low'), denied?.low]]
      .map(([name, counts]) => [name, Object.entries(counts ?? {}).filter(([, n]) => n > 0)])
      .filter(([, counts]) => counts.length > 0)
      .map(([name, counts]) => `${name}: ${counts.map(([reason, n]) => `${reasonText(reason)} ${number(n)}`).join(', ')}`);
    setText($('#denied-why'), why.join(' · '));
    show($('#denied-why'), why.length > 0);
  }

  #states({ plan, dayUsed, breakers, coalescer }) {
    setText($('#day'), plan.dayLimit === null ? t('ops.budget.noday')
      : dayUsed === null ? t('ops.budget.of', { n: '–', all: number(plan.dayLimit) })
        : t('ops.budget.dayused', { n: number(dayUsed), all: number(plan.dayLimit), percent: number(Math.round((1000 * dayUsed) / plan.dayLimit) / 10) }));
    for (const name of ['limiter', 'coalescer', 'database']) {
      const chip = $(`#breaker-${name}`);
      const state = breakers[name];
      chip.dataset.state = state ?? 'unknown';
      setText(chip, state === null ? t('ops.budget.elsewhere') : breakerText(state));
    }
    const counts = coalescer ? [
      [t('ops.budget.published'), coalescer.published], [t('ops.budget.coalesced'), coalescer.coalesced], [t('ops.budget.upgraded'), coalescer.upgraded],
      [t('ops.budget.reruns'), coalescer.reruns], [t('ops.budget.obsolete'), coalescer.obsolete], [t('ops.budget.conflicts'), coalescer.conflicts],
      [t('ops.budget.refused'), coalescer.refused],
    ] : [];
    $('#coalescer').replaceChildren(...counts.map(([name, n]) => h('div', {}, h('dt', {}, name), h('dd', {}, number(n)))));
    show($('#coalescer-none'), !coalescer);
  }
}

const reasonText = (reason) => ({
  global: t('ops.budget.why.global'), low_cap: t('ops.budget.why.lowcap'), yield: t('ops.budget.why.yield'),
  day: t('ops.budget.why.day'), unavailable: t('ops.budget.why.unavailable'),
})[reason] ?? reason;

const breakerText = (state) => ({
  closed: t('ops.budget.closed'), 'half-open': t('ops.budget.halfopen'), open: t('ops.budget.open'),
})[state] ?? state;
