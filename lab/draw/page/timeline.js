/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the space-time diagram: a row for each rank, time from left to right. To be fast, it draws
 * only what is in view, and only the first of several steps that lie within one pixel. */
'use strict';

const GUTTER = 64;        /* points to the left of the rows, for the numbers of the ranks */
const AXIS = 28;          /* points for the axis of times */
const MARGIN = 14;        /* points to the right of the latest time */
const VIEW_HEIGHT = 560;  /* points; the user scrolls to further rows */
const ROW_LEAST = 2;
const ROW_MOST = 64;
const TRIPS_MOST = 20000; /* the most messages that are drawn at once */
const ARROWS_MOST = 600;  /* the most messages that are drawn with arrow heads */
const LISTED_RANKS = 64;

const diagram = { rowHeight: 0, width: 0, height: 0, transform: d3.zoomIdentity, marked: 0, held: false, drawn: {}, words: [], ends: [] };
let zoom;

/* ---- Places ---- */

function timeScale() {
  const whole = d3.scaleLinear([0, view.picture.end], [GUTTER, diagram.width - MARGIN]);
  return diagram.transform.rescaleX(whole);
}

function rowTop(rank) {
  return AXIS + rank * diagram.rowHeight - get('timeline-view').scrollTop;
}

function rankAt(y) {
  const rank = Math.floor((y - AXIS + get('timeline-view').scrollTop) / diagram.rowHeight);
  return y >= AXIS && rank >= 0 && rank < view.picture.ranks ? rank : -1;
}

function ranksInView() {
  const first = Math.floor(get('timeline-view').scrollTop / diagram.rowHeight);
  const last = Math.ceil((get('timeline-view').scrollTop + diagram.height - AXIS) / diagram.rowHeight) - 1;
  return [Math.max(first, 0), Math.min(last, view.picture.ranks - 1)];
}

/* ---- Drawing ---- */

function drawSteps(pen, x, first, last) {
  const [from, to] = x.domain();
  for (let rank = first; rank <= last; rank++) {
    const lanes = view.picture.rows[rank];
    const gap = diagram.rowHeight > 7 ? Math.min(diagram.rowHeight * 0.14, 3) : diagram.rowHeight > 3 ? 1 : 0;
    const above = diagram.rowHeight * callShare();
    const height = (diagram.rowHeight - above - 2 * gap) / (lanes.length || 1);
    if (height < 1 && above) continue;
    lanes.forEach((lane, number) => drawLane(pen, lane, x, from, to, rowTop(rank) + above + gap + number * height, height));
  }
}

function drawLane(pen, lane, x, from, to, top, height) {
  const scale = (x(to) - x(from)) / (to - from);
  const origin = x(from);
  const end = lane.after(to);
  let drawn = -1; /* a step that ends left of this x is not drawn: its pixel has been drawn */
  for (let i = lane.first(from); i < end; i++) {
    const step = lane.list[i];
    const right = origin + (step.end - from) * scale;
    if (right < drawn) continue;
    const left = Math.max(origin + (step.begin - from) * scale, GUTTER);
    const width = Math.max(Math.min(right, diagram.width) - left, 1);
    pen.fillStyle = ink(step.kind);
    const column = Math.max(Math.floor(left), drawn);
    pen.fillRect(width === 1 ? column : left, top, width - (width > 4 ? 1 : 0), height - (height > 6 ? 1 : 0));
    diagram.drawn.steps++;
    if (width === 1) drawn = column + 1;
    else if (width > 24 && height >= 12) diagram.words.push([step, left, top, width, height]);
  }
}

/* Writes the text of a step. It is called after the messages are drawn, so that no message crosses
 * the text. */
function drawWords(pen, step, left, top, width, height) {
  const texts = [stepBrief(step)];
  if (step.bytes && !isWaiting(step.kind)) texts.unshift(texts[0] + ', ' + sizeText(step.bytes));
  const text = texts.find(words => pen.measureText(words).width < width - 8);
  if (!text) return;
  pen.strokeStyle = ink(step.kind);
  pen.lineWidth = 3;
  pen.lineJoin = 'round';
  pen.strokeText(text, left + 4, top + height / 2 + 0.5);
  pen.fillStyle = inkOn(ink(step.kind));
  pen.fillText(text, left + 4, top + height / 2 + 0.5);
}

/* Returns where, as a fraction of the height of a rank's row, the lines of messages begin and end:
 * in the middle of the rank's steps. */
function messageLevel() {
  const share = callShare();
  return diagram.rowHeight * (share < 1 ? (1 + share) / 2 : 0.5);
}

/* Draws messages from the middle of one row to the middle of another; those of the selected rank
 * are highlighted. */
function drawMessages(pen, x, first, last) {
  const { messages } = view.picture;
  const [from, to] = x.domain();
  const end = messages.after(to);
  const start = messages.first(from);
  const every = Math.max(1, Math.ceil((end - start) / TRIPS_MOST));
  const seen = { others: [], signals: [], chosen: [] };
  for (let i = start; i < end; i += every) {
    const message = messages.list[i];
    if (message.end < from || Math.max(message.from, message.to) < first || Math.min(message.from, message.to) > last) continue;
    const list = message.from === view.rank || message.to === view.rank ? 'chosen' : message.kind === 'signal' ? 'signals' : 'others';
    seen[list].push(message);
  }
  const heads = seen.others.length + seen.chosen.length <= ARROWS_MOST && diagram.rowHeight >= 8;
  pen.globalAlpha = Math.min(1, Math.max(0.06, 2000 / (end - start)));
  strokeMessages(pen, x, seen.signals, ink('message-signal'), 1, [3, 3], false);
  strokeMessages(pen, x, seen.others, ink('message'), 1, [], heads);
  strokeMessages(pen, x, seen.chosen, ink('message-chosen'), 1.6, [], heads);
  pen.globalAlpha = 1;
  diagram.drawn.messages = seen.others.length + seen.signals.length + seen.chosen.length;
  diagram.drawn.every = every;
}

function strokeMessages(pen, x, messages, colour, width, dash, heads) {
  const middle = messageLevel();
  pen.strokeStyle = pen.fillStyle = colour;
  pen.lineWidth = width;
  pen.setLineDash(dash);
  pen.beginPath();
  for (const message of messages) {
    pen.moveTo(x(message.begin), rowTop(message.from) + middle);
    pen.lineTo(x(message.end), rowTop(message.to) + middle);
  }
  pen.stroke();
  pen.setLineDash([]);
  if (heads) messages.forEach(message => drawHead(pen, x(message.begin), rowTop(message.from) + middle, x(message.end), rowTop(message.to) + middle));
}

function drawHead(pen, x0, y0, x1, y1) {
  const angle = Math.atan2(y1 - y0, x1 - x0);
  pen.beginPath();
  pen.moveTo(x1, y1);
  pen.lineTo(x1 - 7 * Math.cos(angle - 0.4), y1 - 7 * Math.sin(angle - 0.4));
  pen.lineTo(x1 - 7 * Math.cos(angle + 0.4), y1 - 7 * Math.sin(angle + 0.4));
  pen.fill();
}

/* Returns the labels of the ticks, all in the same unit, with just enough digits to distinguish
 * them. */
function tickLabels(ticks) {
  const step = ticks.length > 1 ? ticks[1] - ticks[0] : 1;
  const [name, size] = timeUnit(ticks[ticks.length - 1] || 1);
  const digits = Math.max(0, Math.ceil(Math.log10(size / step) - 1e-9));
  return ticks.map(tick => (tick === 0 ? '0' : `${(tick / size).toFixed(digits)} ${name}`));
}

function drawAxis(pen, x) {
  const longest = tickLabels(d3.ticks(...x.domain(), 8)).reduce((most, text) => Math.max(most, pen.measureText(text).width), 0);
  const most = Math.max(2, Math.min(10, Math.floor((diagram.width - GUTTER) / (longest + 36))));
  const ticks = d3.ticks(...x.domain(), most).filter(Number.isInteger);
  const labels = tickLabels(ticks);
  pen.fillStyle = ink('panel');
  pen.fillRect(0, 0, diagram.width, AXIS);
  pen.textAlign = 'center';
  ticks.forEach((tick, number) => {
    const half = pen.measureText(labels[number]).width / 2;
    const at = Math.min(Math.max(x(tick), GUTTER + half), diagram.width - half - 2);
    pen.fillStyle = ink('quiet');
    pen.fillText(labels[number], at, AXIS / 2);
    pen.fillStyle = ink('line');
    pen.fillRect(Math.round(x(tick)), AXIS - 5, 1, 5);
  });
  pen.textAlign = 'left';
  return ticks;
}

function drawGutter(pen, first, last) {
  pen.fillStyle = ink('panel');
  pen.fillRect(0, AXIS, GUTTER, diagram.height - AXIS);
  const every = [1, 2, 5, 10, 20, 50].find(ranks => ranks * diagram.rowHeight >= (ranks === 1 ? 13 : 17));
  pen.textAlign = 'right';
  for (let rank = first; rank <= last; rank++) {
    const here = rank === diagram.marked || rank === view.rank;
    const hidden = rank % every || Math.abs(rank - view.rank) * diagram.rowHeight < 13;
    if (hidden && !here) continue;
    const middle = Math.max(rowTop(rank) + diagram.rowHeight / 2, AXIS + 8);
    if (here) {
      pen.fillStyle = rank === view.rank ? ink('accent') : ink('row-marked');
      pen.fillRect(2, middle - 8, GUTTER - 8, 16);
    }
    pen.fillStyle = rank === view.rank ? ink('on-accent') : ink('text');
    pen.fillText(String(rank), GUTTER - 11, middle + 0.5);
  }
  pen.textAlign = 'left';
  pen.fillStyle = ink('panel');
  pen.fillRect(0, 0, GUTTER, AXIS);
  pen.fillStyle = ink('quiet');
  pen.fillText('rank', 8, AXIS / 2);
}

function drawRows(pen, first, last) {
  pen.fillStyle = ink('panel');
  pen.fillRect(0, 0, diagram.width, diagram.height);
  for (let rank = first; rank <= last; rank++) {
    if (rank !== diagram.marked && (rank % 2 === 0 || diagram.rowHeight < 6)) continue;
    pen.fillStyle = rank === diagram.marked ? ink('row-marked') : ink('row');
    pen.fillRect(0, rowTop(rank), diagram.width, diagram.rowHeight);
  }
}

const drawDiagram = eachFrame(() => {
  const canvas = get('timeline-canvas');
  const pen = canvas.getContext('2d');
  const ratio = window.devicePixelRatio || 1;
  const x = timeScale();
  const [first, last] = ranksInView();
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.font = '12px ' + getComputedStyle(document.body).fontFamily;
  pen.textBaseline = 'middle';
  diagram.drawn = { steps: 0, messages: 0, every: 1 };
  diagram.words = [];
  drawRows(pen, first, last);
  const ticks = drawAxis(pen, x);
  pen.fillStyle = ink('grid');
  for (const tick of ticks) pen.fillRect(Math.round(x(tick)), AXIS, 1, diagram.height);
  drawCalls(pen, x, first, last);
  drawSteps(pen, x, first, last);
  if (get('show-messages').checked) drawMessages(pen, x, first, last);
  for (const words of diagram.words) drawWords(pen, ...words);
  drawEnds(pen);
  drawAxis(pen, x);
  drawGutter(pen, first, last);
  placeCursor();
  get('legend-messages-note').textContent = diagram.drawn.every > 1 ? ` (1 of ${diagram.drawn.every} drawn; zoom in for all)` : '';
});

/* ---- The cursor ---- */

function placeCursor() {
  const x = timeScale()(view.cursor);
  const line = get('cursor-line');
  line.hidden = x < GUTTER - 1 || x > diagram.width;
  line.style.transform = `translateX(${Math.round(x)}px)`;
  line.classList.toggle('left', x > diagram.width - 110);
  get('cursor-flag').textContent = timeText(view.cursor);
}

/* Returns whether a rank with these steps under way works or waits. A step that takes no time, such
 * as the post of a message, does not count as work while another step waits. */
function stateOf(steps) {
  const lasting = steps.filter(step => step.end > step.begin);
  return (lasting.length ? lasting : steps).every(step => isWaiting(step.kind)) ? 'waits' : 'works';
}

/* Describes what a rank does, and whether it works or waits; in a real run, the text also names the
 * calls. */
function activity(rank, time) {
  const { calls } = view.picture;
  if (!calls) return stepActivity(rank, time);
  const end = calls.ends[rank];
  if (end && time > end.time) return { text: `${end.text} (rank seen last at ${timeText(end.time, 6)})`, state: 'rests' };
  const within = callsAt(rank, time);
  if (!within) return { text: 'is in the application', state: 'rests' };
  const step = stepActivity(rank, time);
  return { text: step.state === 'rests' ? `is ${within}` : `is ${within}: ${step.text}`, state: step.state };
}

function stepActivity(rank, time) {
  const lanes = view.picture.rows[rank];
  const steps = lanes.flatMap(lane => lane.at(time));
  if (steps.length) return { text: steps.map(stepText).join('; '), state: stateOf(steps) };
  if (!lanes.length) return { text: 'has no steps here', state: 'rests' };
  if (view.picture.stepsLeft) return { text: 'does what is not recorded', state: 'rests' };
  if (lanes.every(lane => time < lane.list[0].begin)) return { text: 'has not begun', state: 'rests' };
  if (lanes.every(lane => time >= lane.until[lane.until.length - 1])) return { text: 'has ended', state: 'rests' };
  return { text: 'is between steps', state: 'rests' };
}

function writeCursor() {
  const { ranks } = view.picture;
  let words = `At time ${timeText(view.cursor)}: rank ${view.rank} ${activity(view.rank, view.cursor).text}.`;
  if (ranks <= 4096) {
    const states = d3.range(ranks).map(rank => activity(rank, view.cursor).state);
    const are = state => states.filter(one => one === state).length;
    words += ` Of ${ranks} ranks ${are('works')} work, ${are('waits')} wait.`;
  }
  get('cursor-readout').textContent = words;
  const [first] = ranksInView();
  const begin = Math.max(0, Math.min(first, ranks - LISTED_RANKS));
  const listed = d3.range(begin, Math.min(begin + LISTED_RANKS, ranks));
  get('cursor-ranks').replaceChildren(...listed.map(rank => {
    const { text, state } = activity(rank, view.cursor);
    return make('li', { class: state, 'data-rank': rank }, make('b', {}, String(rank)), ' ' + text);
  }));
  show('cursor-ranks-note', listed.length < ranks &&
    `Ranks ${begin} to ${begin + listed.length - 1} of ${ranks}: those in view. Scroll the diagram for others.`);
}

const cursorChanged = eachFrame(() => {
  placeCursor();
  writeCursor();
  if (document.activeElement !== get('cursor-time')) {
    const [name, size] = timeUnit(view.picture.end);
    get('cursor-time').value = String(Number((view.cursor / size).toFixed(12)));
    get('cursor-time-help').textContent = name;
  }
  changed.call('cursor');
});

/* Moves the cursor to a time. byKey: the user has pressed a key, so a screen reader should read the
 * time aloud, which it should not do for each movement of the mouse. */
function setCursor(time, byKey) {
  view.cursor = Math.round(Math.min(Math.max(time, 0), view.picture.end));
  get('cursor-readout').setAttribute('aria-live', byKey ? 'polite' : 'off');
  if (byKey) showTime(view.cursor);
  cursorChanged();
}

/* Scrolls the diagram just far enough that the time is in view. */
function showTime(time) {
  const x = timeScale()(time);
  const [left, right] = [GUTTER, diagram.width - MARGIN];
  const shift = x < left ? left - x + 40 : x > right ? right - x - 40 : 0;
  if (shift) zoom.translateBy(d3.select('#timeline-frame'), shift / diagram.transform.k, 0);
}

/* Moves the cursor to the time at which the next or previous step of the rank begins. */
function stepCursor(direction, rank) {
  const begins = view.picture.rows[rank].flatMap(lane => lane.list.map(step => step.begin)).sort((a, b) => a - b);
  const at = direction > 0 ? d3.bisectRight(begins, view.cursor) : d3.bisectLeft(begins, view.cursor) - 1;
  if (at >= 0 && at < begins.length) setCursor(begins[at], true);
}
