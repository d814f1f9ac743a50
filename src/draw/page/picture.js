/* SPDX-License-Identifier: BSD-3-Clause */
/* The data as the parts of the page want it: checked, and ordered so that what lies in a stretch of time is
 * found by bisection however many steps there are. */
'use strict';

class PictureError extends Error {}

function demand(holds, text) {
  if (!holds) throw new PictureError(text);
}

const isCount = value => Number.isSafeInteger(value) && value >= 0;

/* What begins in order and may overlap. until[i] is the latest end among the first i + 1, so what is still
 * going on at a time lies after the first i whose until[i] passes it. */
class Spans {
  constructor(list) {
    this.list = list.sort((a, b) => a.begin - b.begin || a.end - b.end);
    this.until = new Float64Array(list.length);
    let latest = 0;
    for (let i = 0; i < list.length; i++) {
      latest = Math.max(latest, list[i].end);
      this.until[i] = latest;
    }
  }

  /* The index of the first that can reach `time`, and that of the first which begins after it. */
  first(time) {
    return d3.bisectLeft(this.until, time);
  }

  after(time) {
    let low = 0;
    let high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.list[middle].begin > time) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /* What goes on at a time: from its begin until before its end; what takes no time, at that time. */
  at(time) {
    const found = [];
    const end = this.after(time);
    for (let i = this.first(time); i < end; i++) {
      const span = this.list[i];
      if (time < span.end || span.begin === time) found.push(span);
    }
    return found;
  }
}

function readStep(deed, number, ranks) {
  const fits = Array.isArray(deed) && deed.length === 7 && isCount(deed[0]) && deed[0] < ranks && isCount(deed[1]) &&
    Object.hasOwn(KINDS, deed[2]) && isCount(deed[3]) && isCount(deed[4]) && deed[3] <= deed[4] &&
    Number.isInteger(deed[5]) && deed[5] >= -1 && deed[5] < ranks && isCount(deed[6]);
  demand(fits, `deeds[${number}] is not [rank, lane, kind, begin, end, peer, bytes]: ${JSON.stringify(deed)}`);
  const [rank, lane, kind, begin, end, peer, bytes] = deed;
  return { rank, lane, kind, begin, end, peer, bytes };
}

function readTrip(trip, number, ranks) {
  const fits = Array.isArray(trip) && trip.length === 6 && isCount(trip[0]) && trip[0] < ranks && isCount(trip[1]) &&
    trip[1] < ranks && Object.hasOwn(KINDS, trip[2]) && isCount(trip[3]) && isCount(trip[4]) && trip[3] <= trip[4] &&
    isCount(trip[5]);
  demand(fits, `trips[${number}] is not [from, to, kind, begin, end, bytes]: ${JSON.stringify(trip)}`);
  const [from, to, kind, begin, end, bytes] = trip;
  return { from, to, kind, begin, end, bytes };
}

function checkTraffic(traffic) {
  const fits = isCount(traffic.groups) && Array.isArray(traffic.bytes) && traffic.bytes.length === traffic.groups &&
    traffic.bytes.every(row => Array.isArray(row) && row.length === traffic.groups && row.every(isCount));
  demand(fits, 'traffic.bytes is not a square of groups rows');
}

function checkNetwork(network) {
  const { vertices, links } = network;
  demand(Array.isArray(vertices) && vertices.every(vertex => Array.isArray(vertex) && vertex.length === 4 &&
    vertex.every(Number.isFinite)), 'network.vertices are not [x, y, slice, rank]');
  const isVertex = number => isCount(number) && number < vertices.length;
  demand(Array.isArray(links) && links.every(link => Array.isArray(link) && link.length === 3 && isVertex(link[0]) &&
    isVertex(link[1]) && isCount(link[2])), 'network.links are not [from, to, bytes]');
  demand((network.routes || []).every(route => Array.isArray(route) && route.every(isVertex)),
    'network.routes are not lists of vertices');
}

function checkTree(tree, ranks) {
  demand(Array.isArray(tree.edges) && tree.edges.every(edge => Array.isArray(edge) && edge.length === 2 &&
    edge.every(rank => isCount(rank) && rank < ranks)), 'tree.edges are not [parent, child]');
}

function checkHead(data) {
  demand(data !== null && typeof data === 'object' && !Array.isArray(data), 'it is not an object');
  demand(data.tutti === 'picture 1', `it should say "tutti": "picture 1", and says ${JSON.stringify(data.tutti)}`);
  demand(isCount(data.ranks) && data.ranks > 0, `ranks is ${JSON.stringify(data.ranks)}`);
  demand(isCount(data.time_ps), `time_ps is ${JSON.stringify(data.time_ps)}`);
  for (const name of ['deeds', 'trips']) {
    demand(data[name] === undefined || data[name] === null || Array.isArray(data[name]), `${name} is not a list`);
  }
}

/* rows[rank] is the rank's lanes, each a Spans of its steps. */
function rowsOf(steps, ranks) {
  const lists = Array.from({ length: ranks }, () => new Map());
  for (const step of steps) {
    if (!lists[step.rank].has(step.lane)) lists[step.rank].set(step.lane, []);
    lists[step.rank].get(step.lane).push(step);
  }
  return lists.map(lanes => [...lanes].sort((a, b) => a[0] - b[0]).map(([, list]) => new Spans(list)));
}

/* The picture that a JSON text tells, or a PictureError that says what is wrong with it. */
function readPicture(text) {
  demand(text.trim() !== '', 'there is none');
  let data;
  try {
    data = JSON.parse(text);
  } catch (error) {
    throw new PictureError('it is not JSON: ' + error.message);
  }
  checkHead(data);
  if (data.traffic) checkTraffic(data.traffic);
  if (data.network) checkNetwork(data.network);
  if (data.tree) checkTree(data.tree, data.ranks);
  const steps = (data.deeds || []).map((deed, number) => readStep(deed, number, data.ranks));
  const trips = (data.trips || []).map((trip, number) => readTrip(trip, number, data.ranks));
  const last = steps.concat(trips).reduce((latest, span) => Math.max(latest, span.end), data.time_ps);
  return {
    data, calls: readCalls(data.calls, data.ranks), ranks: data.ranks, end: Math.max(last, 1), steps, rows: rowsOf(steps, data.ranks),
    trips: new Spans(trips), stepsLeft: data.deeds_left_out || 0, tripsLeft: data.trips_left_out || 0,
  };
}

/* How long the spans last together, what overlaps counted once; `list` is in order of begin. */
function lengthOf(list) {
  let length = 0;
  let reached = -1;
  for (const span of list) {
    const begin = Math.max(span.begin, reached);
    if (span.end > begin) length += span.end - begin;
    reached = Math.max(reached, span.end);
  }
  return length;
}

function rankSteps(picture, rank) {
  return picture.rows[rank].flatMap(lane => lane.list).sort((a, b) => a.begin - b.begin || a.end - b.end);
}

/* What a rank gave and was given. Where no messages are known, what its steps say. */
function rankTraffic(picture, rank, steps) {
  const sums = { sent: 0, received: 0, sentCount: 0, receivedCount: 0, signals: 0 };
  const add = (sum, span) => {
    sums[sum] += span.bytes;
    sums[sum + 'Count']++;
  };
  if (!picture.trips.list.length) {
    for (const step of steps) {
      if (step.kind === 'send' || step.kind === 'put') add('sent', step);
      if (step.kind === 'recv' || step.kind === 'get') add('received', step);
      if (step.kind === 'signal') sums.signals++;
    }
  }
  for (const trip of picture.trips.list) {
    if (trip.kind === 'signal') {
      if (trip.from === rank) sums.signals++;
      continue;
    }
    if (trip.from === rank) add('sent', trip);
    if (trip.to === rank) add('received', trip);
  }
  return sums;
}

/* A rank works while any of its lanes does, and waits while some lane waits and none works. */
function rankTotals(picture, rank) {
  const steps = rankSteps(picture, rank);
  const busy = lengthOf(steps.filter(step => !isWaiting(step.kind)));
  return { steps: steps.length, busy, waiting: lengthOf(steps) - busy, ...rankTraffic(picture, rank, steps) };
}
