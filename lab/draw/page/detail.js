/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows one rank: its totals, and a table of its steps around the cursor. */
'use strict';

const STEPS_BEFORE = 5;
const STEPS_SHOWN = 14;

const detail = { rank: -1, steps: [], begins: [] };

function fillTotals(rank) {
  const totals = rankTotals(view.picture, rank);
  const { end } = view.picture;
  const part = time => ` (${Math.round(100 * time / end)} %)`;
  const entries = [
    ['time', 'Time of the whole', timeText(end)],
    ['busy', 'Working', timeText(totals.busy) + part(totals.busy)],
    ['waiting', 'Waiting', timeText(totals.waiting) + part(totals.waiting)],
    ['steps', 'Steps', totals.steps.toLocaleString('en')],
    ['sent', 'Sent', `${sizeText(totals.sent)} in ${count(totals.sentCount, 'message', 'messages')}`],
    ['received', 'Received', `${sizeText(totals.received)} in ${count(totals.receivedCount, 'message', 'messages')}`],
    ['signals', 'Signals given', totals.signals.toLocaleString('en')],
  ];
  get('rank-totals').replaceChildren(...entries.map(([name, label, text]) =>
    make('div', {}, make('dt', {}, label), make('dd', { id: 'total-' + name }, text))));
}

function stepRow(step, number, current) {
  const lanes = view.picture.rows[step.rank].length;
  const cell = (text, kind) => make('td', kind ? { class: kind } : {}, text);
  const row = make('tr', current ? { 'aria-current': 'step' } : {},
    make('th', { scope: 'row' }, (number + 1).toLocaleString('en')),
    make('td', {}, make('span', { class: 'swatch', style: `background: var(--${step.kind})` }), KINDS[step.kind].name),
    cell(String(step.lane), 'lane'), cell(timeText(step.begin), 'number'), cell(timeText(step.end - step.begin), 'number'),
    cell(step.peer < 0 ? '–' : String(step.peer), 'number'), cell(step.bytes ? sizeText(step.bytes) : '–', 'number'));
  row.classList.toggle('one-lane', lanes < 2);
  return row;
}

/* Fills the table with the steps around the last step that has begun by the time at the cursor, and
 * marks the steps that are under way at that time. */
function fillSteps() {
  const { steps } = detail;
  const begun = d3.bisectRight(detail.begins, view.cursor) - 1;
  const going = new Set(view.picture.rows[detail.rank].flatMap(lane => lane.at(view.cursor)));
  const first = Math.max(0, Math.min(begun - STEPS_BEFORE, steps.length - STEPS_SHOWN));
  const shown = steps.slice(first, first + STEPS_SHOWN);
  get('steps-body').replaceChildren(...shown.map((step, i) => stepRow(step, first + i, going.has(step))));
  get('steps').classList.toggle('one-lane', view.picture.rows[detail.rank].length < 2);
  get('steps-caption').textContent = steps.length ? `Steps ${first + 1} to ${first + shown.length} of ${steps.length
    .toLocaleString('en')} of rank ${detail.rank}, around ${timeText(view.cursor)}` : `Rank ${detail.rank} has no steps here.`;
}

function showRank() {
  detail.rank = view.rank;
  detail.steps = rankSteps(view.picture, view.rank);
  detail.begins = detail.steps.map(step => step.begin);
  get('rank-title').textContent = `Rank ${view.rank} in detail`;
  get('rank-select').value = String(view.rank);
  fillTotals(view.rank);
  fillSteps();
}

function startDetail() {
  const { picture } = view;
  if (!picture.steps.length) return false;
  get('rank-detail').hidden = false;
  show('rank-left', (picture.stepsLeft || picture.messagesLeft) &&
    'Some steps or messages were left out; the sums count only those that were kept.');
  const select = get('rank-select');
  select.setAttribute('max', String(picture.ranks - 1));
  select.addEventListener('change', () => {
    const rank = Number(select.value);
    const known = select.value !== '' && Number.isInteger(rank) && rank >= 0 && rank < picture.ranks;
    select.setAttribute('aria-invalid', String(!known));
    if (known) chooseRank(rank);
  });
  get('step-previous').addEventListener('click', () => stepCursor(-1, view.rank));
  get('step-next').addEventListener('click', () => stepCursor(1, view.rank));
  changed.on('rank.detail', showRank);
  changed.on('cursor.detail', fillSteps);
  showRank();
  return true;
}
