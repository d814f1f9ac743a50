/* SPDX-License-Identifier: BSD-3-Clause */
/* Makes the texts for times, sizes, ranks and steps. Times are whole picoseconds in the data. They
 * are rounded here only if a number of digits is asked for. */
'use strict';

const TIME_UNITS = [['ps', 1], ['ns', 1e3], ['µs', 1e6], ['ms', 1e9], ['s', 1e12]];
const SIZE_UNITS = ['bytes', 'KiB', 'MiB', 'GiB', 'TiB'];

/* Returns the unit in which a time has one to three digits before the decimal point. */
function timeUnit(ps) {
  let unit = TIME_UNITS[0];
  for (const next of TIME_UNITS) {
    if (Math.abs(ps) >= next[1]) unit = next;
  }
  return unit;
}

function timeText(ps, digits) {
  if (ps === 0) return '0';
  const [name, size] = timeUnit(ps);
  const value = ps / size;
  return (digits ? String(Number(value.toPrecision(digits))) : String(Number(value.toFixed(12)))) + ' ' + name;
}

/* Converts what a reader types, such as "1.5 us" or, in the given unit, "1.5", to picoseconds;
 * returns null if the text is not a time. */
function timeRead(text, unit) {
  const found = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*(ps|ns|us|µs|μs|ms|s)?\s*$/.exec(text);
  if (!found) return null;
  const name = (found[2] || unit).replace(/^[uμ]s/, 'µs');
  return Math.round(Number(found[1]) * TIME_UNITS.find(([known]) => known === name)[1]);
}

function sizeText(bytes) {
  let unit = 0;
  let value = bytes;
  while (value >= 1024 && unit < SIZE_UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  if (unit === 0) return bytes === 1 ? '1 byte' : bytes + ' bytes';
  const text = value >= 100 ? value.toFixed(0) : String(Number(value.toPrecision(3)));
  return text + ' ' + SIZE_UNITS[unit];
}

function count(number, one, many) {
  return number.toLocaleString('en') + ' ' + (number === 1 ? one : many);
}

/* The name of each kind of step and the sentence that describes it. The colours are in
 * ../palette.h. */
const KINDS = {
  send: { name: 'send', says: 'sends {size} to rank {peer}' },
  put: { name: 'put', says: 'puts {size} at rank {peer}' },
  recv: { name: 'receive', says: 'receives {size} from rank {peer}' },
  get: { name: 'get', says: 'gets {size} from rank {peer}' },
  signal: { name: 'signal', says: 'signals rank {peer}', alone: 'signals' },
  copy: { name: 'copy', says: 'copies {size}' },
  reduce: { name: 'reduce', says: 'reduces {size}' },
  read: { name: 'read', says: 'reads {size} of rank {peer}', alone: 'reads {size}' },
  write: { name: 'write', says: 'writes {size} at rank {peer}', alone: 'writes {size}' },
  wait: { name: 'wait for a message', says: 'waits for rank {peer}', alone: 'waits' },
  await: { name: 'wait for a signal', says: 'awaits rank {peer}', alone: 'awaits a signal' },
};

function isWaiting(kind) {
  return kind === 'wait' || kind === 'await';
}

function stepText(step) {
  const kind = KINDS[step.kind];
  const says = step.peer < 0 && kind.alone ? kind.alone : kind.says;
  return says.replace('{size}', sizeText(step.bytes)).replace('{peer}', step.peer < 0 ? '?' : step.peer);
}

/* Returns the text inside the box of a step in the diagram. */
function stepBrief(step) {
  const arrow = { send: '→', put: '→', signal: '→', recv: '←', get: '←', await: '←', wait: '←', read: '←', write: '→' };
  return KINDS[step.kind].name.replace(/ for .*/, '') +
    (step.peer >= 0 && arrow[step.kind] ? ' ' + arrow[step.kind] + step.peer : '');
}
