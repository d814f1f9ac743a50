/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the calls of a real run in the data and assigns them to rows: each rank has a row for each
 * team, and further rows where calls overlap. */
'use strict';

function checkCalls(calls, ranks) {
  const { names, teams } = calls;
  demand(Array.isArray(names) && names.every(name => typeof name === 'string'), 'calls.names are not texts');
  demand(Array.isArray(teams) && teams.every(team => typeof team.label === 'string'), 'calls.teams have no labels');
  demand(Array.isArray(calls.ranks) && calls.ranks.every(rank => isCount(rank.rank) && rank.rank < ranks),
    'calls.ranks are not ranks');
  demand(Array.isArray(calls.bars) && Array.isArray(calls.groups), 'calls.bars or calls.groups is not a list');
}

function readCall(bar, number, { ranks, names, teams }) {
  const fits = Array.isArray(bar) && bar.length === 16 && bar.every(Number.isSafeInteger) && isCount(bar[0]) && bar[0] < ranks &&
    teams[bar[1]] && [3, 4, 5, 6].every(at => names[bar[at]] !== undefined) && isCount(bar[8]) && bar[8] <= bar[9];
  demand(fits, `calls.bars[${number}] is not a call: ${JSON.stringify(bar)}`);
  const [rank, team, execution, coll, algorithm, type, op, bytes, begin, end, root, blocked, waited, late, n, flags] = bar;
  return { rank, team: teams[team], execution, coll: names[coll], algorithm: names[algorithm], type: names[type],
    op: names[op], bytes, begin, end, root, blocked, waited, late, n, open: Boolean(flags & 1), failed: Boolean(flags & 2) };
}

function readGroup(group, number, list) {
  const fits = Array.isArray(group) && group.length === 10 && group.every(isCount) && group[1] > 0 && group[0] + group[1] <= list.length;
  demand(fits, `calls.groups[${number}] is not one: ${JSON.stringify(group)}`);
  const [first, n, begin, shortest, median, longest, waited, lateBy, late, flags] = group;
  return { calls: list.slice(first, first + n), begin, shortest, median, longest, waited, lateBy, late,
    missing: Boolean(flags & 1), open: Boolean(flags & 2) };
}

/* Returns a row for the call: a row of the call's team that is free when the call begins; otherwise
 * a new row, if the rank has fewer than CALL_ROWS; otherwise the row that becomes free first. */
function rowFor(rows, call) {
  const own = rows.find(row => row.team === call.team && row.end <= call.begin);
  if (own) return own;
  if (rows.length < CALL_ROWS) {
    rows.push({ team: call.team, end: 0, list: [] });
    return rows[rows.length - 1];
  }
  return rows.reduce((a, b) => (b.end < a.end ? b : a));
}

function callRows(list, ranks) {
  const rows = Array.from({ length: ranks }, () => []);
  for (const call of [...list].sort((a, b) => a.begin - b.begin)) {
    const row = rowFor(rows[call.rank], call);
    row.end = Math.max(row.end, call.end);
    row.list.push(call);
  }
  return rows.map(one => one.map(row => new Spans(row.list)));
}

/* Returns, for each rank without an orderly end, when it was last seen, how it ended, and whether
 * it still runs. */
function callEnds(ranks) {
  const ends = {};
  for (const rank of ranks) {
    if (rank.end) ends[rank.rank] = { time: rank.last, text: rank.end, runs: rank.end === 'runs' };
  }
  return ends;
}

function readCalls(data, ranks) {
  if (!data) return null;
  checkCalls(data, ranks);
  const teams = data.teams.map((team, number) => ({ ...team, number }));
  const list = data.bars.map((bar, number) => readCall(bar, number, { ranks, names: data.names, teams }));
  const groups = data.groups.map((group, number) => readGroup(group, number, list));
  for (const group of groups) {
    for (const call of group.calls) call.last = call.rank === group.late && group.waited > 0 && !group.missing;
  }
  const rows = callRows(list, ranks);
  return { data, list, groups, teams, rows, most: Math.max(1, ...rows.map(one => one.length)), ends: callEnds(data.ranks) };
}
