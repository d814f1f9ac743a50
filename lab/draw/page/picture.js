/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks the data and brings them into the form that the parts of the page need: sorted so that a
 * bisection finds the steps in an interval of time, however many steps there are. */
'use strict';

class PictureError extends Error {}

function demand(holds, text) {
  if (!holds) throw new PictureError(text);
}

const isCount = value => Number.isSafeInteger(value) && value >= 0;

/* A list of spans of time, sorted by begin, which may overlap. until[i] is the latest end of the
 * spans 0 to i. If until[i] < time, all spans 0 to i have ended by then, so a search for the spans
 * at that time starts at the first i with until[i] >= time. */
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

  /* first(time) returns the index of the first span that may not have ended before `time`;
   * after(time) returns the index of the first span that begins after `time`. */
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

  /* Returns the spans that contain the time. A span contains its begin but not its end; a span
   * without length contains its begin. */
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

function readStep(event, number, ranks) {
  const fits = Array.isArray(event) && event.length === 7 && isCount(event[0]) && event[0] < ranks && isCount(event[1]) &&
    Object.hasOwn(KINDS, event[2]) && isCount(event[3]) && isCount(event[4]) && event[3] <= event[4] &&
    Number.isInteger(event[5]) && event[5] >= -1 && event[5] < ranks && isCount(event[6]);
  demand(fits, `events[${number}] is not [rank, lane, kind, begin, end, peer, bytes]: ${JSON.stringify(event)}`);
  const [rank, lane, kind, begin, end, peer, bytes] = event;
  return { rank, lane, kind, begin, end, peer, bytes };
}

function readMessage(message, number, ranks) {
  const fits = Array.isArray(message) && message.length === 6 && isCount(message[0]) && message[0] < ranks && isCount(message[1]) &&
    message[1] < ranks && Object.hasOwn(KINDS, message[2]) && isCount(message[3]) && isCount(message[4]) && message[3] <= message[4] &&
    isCount(message[5]);
  demand(fits, `messages[${number}] is not [from, to, kind, begin, end, bytes]: ${JSON.stringify(message)}`);
  const [from, to, kind, begin, end, bytes] = message;
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
  demand(data.tutti === 'picture 2', `it should say "tutti": "picture 2", and says ${JSON.stringify(data.tutti)}`);
  demand(isCount(data.ranks) && data.ranks > 0, `ranks is ${JSON.stringify(data.ranks)}`);
  demand(isCount(data.time_ps), `time_ps is ${JSON.stringify(data.time_ps)}`);
  for (const name of ['events', 'messages']) {
    demand(data[name] === undefined || data[name] === null || Array.isArray(data[name]), `${name} is not a list`);
  }
}

/* Returns the array rows[]: rows[rank] is the list of the lanes of the rank, and each lane is a
 * Spans object with its steps. */
function rowsOf(steps, ranks) {
  const lists = Array.from({ length: ranks }, () => new Map());
  for (const step of steps) {
    if (!lists[step.rank].has(step.lane)) lists[step.rank].set(step.lane, []);
    lists[step.rank].get(step.lane).push(step);
  }
  return lists.map(lanes => [...lanes].sort((a, b) => a[0] - b[0]).map(([, list]) => new Spans(list)));
}

/* Returns the picture in a JSON text, or throws a PictureError that describes the error in the
 * text. */
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
  const steps = (data.events || []).map((event, number) => readStep(event, number, data.ranks));
  const messages = (data.messages || []).map((message, number) => readMessage(message, number, data.ranks));
  const last = steps.concat(messages).reduce((latest, span) => Math.max(latest, span.end), data.time_ps);
  return {
    data, calls: readCalls(data.calls, data.ranks), ranks: data.ranks, end: Math.max(last, 1), steps, rows: rowsOf(steps, data.ranks),
    messages: new Spans(messages), stepsLeft: data.events_left_out || 0, messagesLeft: data.messages_left_out || 0,
  };
}

/* Returns how much time the spans in `list` cover together. Time that several spans cover counts
 * once. `list` is sorted by begin. */
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

/* Returns how much a rank sent and received. If no messages are known, its steps are counted
 * instead. */
function rankTraffic(picture, rank, steps) {
  const sums = { sent: 0, received: 0, sentCount: 0, receivedCount: 0, signals: 0 };
  const add = (sum, span) => {
    sums[sum] += span.bytes;
    sums[sum + 'Count']++;
  };
  if (!picture.messages.list.length) {
    for (const step of steps) {
      if (step.kind === 'send' || step.kind === 'put') add('sent', step);
      if (step.kind === 'recv' || step.kind === 'get') add('received', step);
      if (step.kind === 'signal') sums.signals++;
    }
  }
  for (const message of picture.messages.list) {
    if (message.kind === 'signal') {
      if (message.from === rank) sums.signals++;
      continue;
    }
    if (message.from === rank) add('sent', message);
    if (message.to === rank) add('received', message);
  }
  return sums;
}

/* Returns the totals of a rank. The rank works while any of its lanes works, and waits while some
 * lane waits and none works. */
function rankTotals(picture, rank) {
  const steps = rankSteps(picture, rank);
  const busy = lengthOf(steps.filter(step => !isWaiting(step.kind)));
  return { steps: steps.length, busy, waiting: lengthOf(steps) - busy, ...rankTraffic(picture, rank, steps) };
}
