/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the calls of a real run: bars above the steps in the diagram, and tables of the ranks that
 * came late. */
'use strict';

/* the most rows of calls that a rank has; each team has a row, and overlapping calls need more
 * rows */
const CALL_ROWS = 4;
const CALLS_A_PAGE = 25;
/* the least height of a row of calls, in points; if the rows would be less high, all calls of a
 * rank are drawn in a single row */
const CALL_ROW_LEAST = 5;
const CALL_INKS = [['allreduce', 'route-0'], ['bcast', 'route-1'], ['barrier', 'route-6'], ['alltoall', 'route-3'],
  ['allgather', 'route-4'], ['reduce_scatter', 'route-7'], ['reduce', 'route-2'], ['', 'route-5']];

const callTable = { list: [], page: 0 };

function callInk(name) {
  return CALL_INKS.find(([begin]) => name.startsWith(begin))[1];
}

/* ---- Texts about calls ---- */

/* Returns the amount of data of a call as a text: the number of elements, or the bytes if the trace
 * does not have that number. */
function callCount(call) {
  if (call.n > 0) return `n=${call.n}`;
  return call.bytes ? sizeText(call.bytes) : '';
}

function callText(call) {
  return [call.coll, callCount(call), call.type, call.op].filter(Boolean).join(' ') +
    (call.root >= 0 ? `, root ${call.root}` : '');
}

function callLabels(call) {
  const counted = [call.coll, callCount(call)].filter(Boolean).join(' ');
  return [`${callText(call)} by ${call.algorithm}, ${call.team.label}`, `${callText(call)} by ${call.algorithm}`, callText(call), counted, call.coll];
}

/* Describes the calls in which a rank is at the given time. If the rank is waiting in a call then,
 * the text also names the rank for which it waits. */
function callsAt(rank, time) {
  const { calls } = view.picture;
  if (!calls) return '';
  return calls.rows[rank].flatMap(row => row.at(time)).map(call => {
    const waits = call.blocked >= 0 && time >= call.blocked && time < call.blocked + call.waited;
    return `in ${callText(call)} of ${call.team.label}` + (waits ? `, waiting for rank ${call.late}` : '');
  }).join('; ');
}

/* ---- In the diagram ---- */

/* Returns the fraction (0 to 1) of the height of a rank's row in which its calls are drawn. Its
 * steps are drawn in the rest. */
function callShare() {
  if (!view.picture.calls || !get('show-calls').checked) return 0;
  return view.picture.steps.length ? 0.56 : 1;
}

function drawCross(pen, at, middle) {
  const half = Math.min(6, diagram.rowHeight / 2 - 1);
  pen.beginPath();
  pen.moveTo(at - half, middle - half);
  pen.lineTo(at + half, middle + half);
  pen.moveTo(at + half, middle - half);
  pen.lineTo(at - half, middle + half);
  pen.stroke();
}

function drawLives(pen, x, first, last) {
  const { calls } = view.picture;
  if (!calls) return;
  for (let rank = first; rank <= last; rank++) {
    const end = calls.ends[rank];
    if (end === undefined) continue;
    const at = Math.max(x(end.time), GUTTER);
    pen.fillStyle = ink('back');
    pen.fillRect(at, rowTop(rank), diagram.width - at, diagram.rowHeight);
    pen.strokeStyle = ink('path');
    pen.lineWidth = 2.5;
    const middle = rowTop(rank) + diagram.rowHeight / 2;
    if (!end.runs) drawCross(pen, at, middle);
    diagram.ends.push([end.text, at, middle]);
  }
}

/* Writes beside each rank without an orderly end how it ended, or that it still runs. These texts
 * are drawn last, above everything else. */
function drawEnds(pen) {
  for (const [text, at, middle] of diagram.ends) {
    if (diagram.rowHeight < 12) continue;
    const width = pen.measureText(text).width;
    const left = at + 12 + width < diagram.width ? at + 12 : at - 12 - width;
    pen.lineWidth = 4;
    pen.strokeStyle = ink('panel');
    pen.strokeText(text, left, middle);
    pen.fillStyle = ink('path');
    pen.fillText(text, left, middle);
  }
}

function drawCalls(pen, x, first, last) {
  const { calls } = view.picture;
  const share = callShare();
  diagram.ends = [];
  drawLives(pen, x, first, last);
  if (!share) return;
  const rows = diagram.rowHeight * share >= calls.most * CALL_ROW_LEAST ? calls.most : 1;
  const height = (diagram.rowHeight * share - 2) / rows;
  for (let rank = first; rank <= last; rank++) {
    calls.rows[rank].forEach((row, number) =>
      drawCallRow(pen, row, x, rowTop(rank) + 1 + Math.min(number, rows - 1) * height, height));
  }
}

function drawCallRow(pen, row, x, top, height) {
  const [from, to] = x.domain();
  const end = row.after(to);
  let drawn = -1;
  for (let i = row.first(from); i < end; i++) {
    const call = row.list[i];
    const right = Math.min(x(call.end), diagram.width);
    const left = Math.max(x(call.begin), GUTTER);
    if (right < drawn) continue;
    const width = Math.max(right - left, 1);
    drawCall(pen, call, x, left, top, width, height - 1);
    if (width === 1) drawn = Math.floor(left) + 1;
  }
}

function drawCall(pen, call, x, left, top, width, height) {
  const colour = ink(callInk(call.coll));
  pen.fillStyle = colour;
  pen.globalAlpha = width > 2 ? 0.32 : 1;
  pen.fillRect(left, top, width, height);
  pen.globalAlpha = 1;
  if (call.waited > 0 && call.blocked >= 0) {
    const begin = Math.max(x(call.blocked), GUTTER);
    const end = Math.min(x(call.blocked + call.waited), diagram.width);
    pen.fillStyle = ink('wait');
    if (end - begin > 1) pen.fillRect(begin, top, end - begin, height);
  }
  if (width > 3) {
    pen.strokeStyle = colour;
    pen.lineWidth = 1;
    pen.setLineDash(call.open ? [4, 2] : []);
    pen.strokeRect(left + 0.5, top + 0.5, width - 1, height - 1);
    pen.setLineDash([]);
  }
  if (call.last && height > 4) drawLate(pen, left, top);
  if (height < 11 || width < 30) return;
  const text = callLabels(call).find(words => pen.measureText(words).width < width - 8);
  if (!text) return;
  pen.fillStyle = ink('text');
  pen.fillText(text, left + 4, top + height / 2 + 0.5);
}

/* Marks where the rank for which other ranks waited entered the call. */
function drawLate(pen, left, top) {
  pen.fillStyle = ink('path');
  pen.beginPath();
  pen.moveTo(left, top + 5);
  pen.lineTo(left - 4, top - 1);
  pen.lineTo(left + 4, top - 1);
  pen.fill();
}

function callLegend() {
  const { calls } = view.picture;
  if (!calls) return [];
  const names = [...new Set(calls.list.map(call => call.coll))];
  const swatch = (colour, name) => make('li', {}, make('span', { class: 'swatch', style: `background: var(--${colour})` }), name);
  return [...names.map(name => swatch(callInk(name), name)), swatch('wait', 'waits for others to come'),
    make('li', {}, make('span', { class: 'late-sign', 'aria-hidden': 'true' }), 'came late')];
}

/* ---- Tables ---- */

function cellOf(text, kind) {
  return make('td', kind ? { class: kind } : {}, text);
}

function lateText(group) {
  const runs = view.picture.calls.ends[group.late]?.runs;
  if (group.missing) return `rank ${group.late} ${runs ? 'has not come' : 'never came'}`;
  return group.calls.length < 2 ? '–' : `rank ${group.late}, by ${timeText(group.lateBy, 4)}`;
}

/* Returns how long the callers waited for other ranks in the executions `groups`, or 'nonblocking'
 * if no caller was ever blocked. */
function waitedText(groups) {
  const blocked = groups.some(group => group.calls.some(call => call.blocked >= 0));
  return blocked ? timeText(d3.sum(groups, group => group.waited), 4) : 'nonblocking';
}

function callName(call) {
  return make('td', {}, make('span', { class: 'swatch', style: `background: var(--${callInk(call.coll)})` }), callText(call));
}

function groupRow(group) {
  const [call] = group.calls;
  const row = make('tr', {}, make('th', { scope: 'row' }), callName(call), cellOf(call.algorithm), cellOf(call.team.label),
    cellOf(String(call.execution), 'number'), cellOf(timeText(group.shortest, 4), 'number'),
    cellOf(timeText(group.median, 4), 'number'), cellOf(timeText(group.longest, 4), 'number'),
    cellOf(lateText(group), group.missing ? 'bad' : ''), cellOf(waitedText([group]), 'number'));
  const button = make('button', { type: 'button', class: 'at', title: 'Show this in the diagram' }, timeText(group.begin, 6));
  button.addEventListener('click', () => showGroup(group));
  row.firstChild.append(button);
  return row;
}

/* Moves and scales the diagram so that the execution fills half of it. */
function showGroup(group) {
  const end = d3.max(group.calls, call => call.end);
  const span = Math.max(end - group.begin, 1);
  const scale = Math.max(1, view.picture.end / (2 * span));
  zoom.scaleTo(d3.select('#timeline-frame'), Math.min(scale, zoom.scaleExtent()[1]));
  zoom.translateTo(d3.select('#timeline-frame'), GUTTER + (diagram.width - MARGIN - GUTTER) *
    (group.begin + span / 2) / view.picture.end, 0);
  setCursor(group.begin, false);
  get('timeline').scrollIntoView();
}

function fillCallPage() {
  const { list } = callTable;
  const pages = Math.max(1, Math.ceil(list.length / CALLS_A_PAGE));
  callTable.page = Math.min(Math.max(callTable.page, 0), pages - 1);
  const first = callTable.page * CALLS_A_PAGE;
  get('calls-body').replaceChildren(...list.slice(first, first + CALLS_A_PAGE).map(groupRow));
  get('calls-caption').textContent = list.length ? `Calls ${first + 1} to ${Math.min(first + CALLS_A_PAGE, list.length)} of ` +
    `${list.length.toLocaleString('en')}` : 'No such call';
  get('calls-previous').disabled = callTable.page === 0;
  get('calls-next').disabled = callTable.page === pages - 1;
}

function listCalls() {
  const team = get('calls-team').value;
  const order = get('calls-order').value;
  callTable.list = view.picture.calls.groups.filter(group => team === '' || group.calls[0].team.number === Number(team));
  if (order === 'waited') callTable.list.sort((a, b) => b.waited - a.waited || a.begin - b.begin);
  if (order === 'longest') callTable.list.sort((a, b) => b.longest - a.longest || a.begin - b.begin);
  callTable.page = 0;
  fillCallPage();
}

/* Groups the executions whose calls are equal, to show which rank came late to such calls most
 * often. */
function alikeCalls(groups) {
  return d3.groups ? d3.groups(groups, keyOf) : [...groups.reduce((map, group) =>
    map.set(keyOf(group), [...(map.get(keyOf(group)) || []), group]), new Map())];
}

function keyOf(group) {
  const [call] = group.calls;
  return [call.coll, call.bytes, call.type, call.op, call.root, call.algorithm, call.team.number].join('/');
}

function oftenLate(groups) {
  const times = new Map();
  for (const group of groups) {
    if (group.calls.length > 1 || group.missing) times.set(group.late, (times.get(group.late) || 0) + 1);
  }
  const [rank, most] = [...times].sort((a, b) => b[1] - a[1])[0] || [];
  return most ? `rank ${rank}, ${most} of ${groups.length}` : '–';
}

function alikeRow([, groups]) {
  const [call] = groups[0].calls;
  const longest = groups.map(group => group.longest);
  return make('tr', {}, callName(call), cellOf(call.algorithm), cellOf(call.team.label),
    cellOf(groups.length.toLocaleString('en'), 'number'), cellOf(timeText(d3.min(longest), 4), 'number'),
    cellOf(timeText(d3.sum(longest) / groups.length, 4), 'number'), cellOf(timeText(d3.max(longest), 4), 'number'),
    cellOf(oftenLate(groups)), cellOf(waitedText(groups), 'number'));
}

function lifeOf(rank) {
  return rank.end && rank.last ? rank.last : view.picture.end;
}

function rankRow(rank) {
  const name = `${rank.rank}` + (rank.client ? `, client ${rank.client}` : '');
  return make('tr', {}, make('th', { scope: 'row' }, name), cellOf(`${rank.host}, pid ${rank.pid}`),
    cellOf(rank.calls.toLocaleString('en'), 'number'), cellOf(timeText(rank.in, 4), 'number'),
    cellOf(timeText(Math.max(0, lifeOf(rank) - rank.in), 4), 'number'), cellOf(timeText(rank.waited, 4), 'number'),
    cellOf(String(rank.came_late), 'number'), cellOf(timeText(rank.caused, 4), 'number'), cellOf(rank.end || '', 'bad'));
}

function aboutCalls(calls) {
  const waited = d3.sum(calls.data.ranks, rank => rank.waited);
  const worst = calls.data.ranks.reduce((a, b) => (b.caused > a.caused ? b : a), calls.data.ranks[0]);
  return `${count(calls.groups.length, 'collective', 'collectives')} of ${count(calls.teams.length, 'team', 'teams')}; ` +
    `times by ${calls.data.clocks}. Ranks waited ${timeText(waited, 4)} in all for others to come` +
    (worst && worst.caused ? `, most of it for rank ${worst.rank}: ${timeText(worst.caused, 4)}.` : '.');
}

function startCalls() {
  const { calls } = view.picture;
  if (!calls) return false;
  get('calls').hidden = false;
  get('calls-about').textContent = aboutCalls(calls);
  show('calls-left', calls.data.lost && `Not all is here: ${calls.data.lost}.`);
  get('call-ranks').tBodies[0].append(...calls.data.ranks.map(rankRow));
  const alike = alikeCalls(calls.groups).sort((a, b) =>
    d3.sum(b[1], group => group.waited) - d3.sum(a[1], group => group.waited));
  get('alike').tBodies[0].append(...alike.slice(0, 200).map(alikeRow));
  get('calls-team').append(...calls.teams.map(team => make('option', { value: team.number }, team.label)));
  for (const id of ['calls-team', 'calls-order']) get(id).addEventListener('change', listCalls);
  get('calls-previous').addEventListener('click', () => { callTable.page--; fillCallPage(); });
  get('calls-next').addEventListener('click', () => { callTable.page++; fillCallPage(); });
  listCalls();
  return true;
}
