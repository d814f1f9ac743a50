/* SPDX-License-Identifier: BSD-3-Clause */
/* Shows the traffic matrix: the row is the sender, the column the receiver. */
'use strict';

/* a matrix with more rows (groups of ranks) than this has no numbers in its cells, only colours */
const NUMBERS_MOST = 16;

function groupName(group, traffic) {
  const size = Math.ceil(view.picture.ranks / traffic.groups);
  const last = Math.min((group + 1) * size, view.picture.ranks) - 1;
  return size === 1 ? String(group) : `${group * size}–${last}`;
}

/* Formats a size for a small cell: 64, 1K, 2.5M. */
function sizeBrief(bytes) {
  return sizeText(bytes).replace(/ bytes?/, '').replace(/ (.)iB/, '$1');
}

function matrixHead(traffic, every) {
  const row = make('tr', {}, make('td', { class: 'corner' }, 'from \\ to'));
  for (let to = 0; to < traffic.groups; to++) {
    const name = make('span', {}, to % every ? '' : groupName(to, traffic));
    row.append(make('th', { scope: 'col' }, name));
  }
  return make('thead', {}, row);
}

function matrixCell(from, to, traffic) {
  const cell = make('td', { 'data-from': from, 'data-to': to });
  const bytes = traffic.bytes[from][to];
  cell.setAttribute('aria-label', cellText(from, to, traffic));
  if (bytes && traffic.groups <= NUMBERS_MOST) cell.append(sizeBrief(bytes));
  return cell;
}

function cellText(from, to, traffic) {
  const noun = traffic.groups === view.picture.ranks ? 'Rank' : 'Ranks';
  const size = traffic.bytes[from][to];
  return `${noun} ${groupName(from, traffic)} to ${groupName(to, traffic)}: ${size ? sizeText(size) : 'nothing'}`;
}

function colourMatrix(cells, traffic, most) {
  for (const cell of cells) {
    const bytes = traffic.bytes[cell.dataset.from][cell.dataset.to];
    const colour = bytes ? heat(bytes / most) : '';
    cell.style.background = colour;
    cell.style.color = colour && inkOn(colour);
  }
  fillScale(get('traffic-scale'), most, 'Bytes:');
}

function matrixKeys(groups) {
  const moves = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] };
  return (index, key) => {
    if (!moves[key]) return undefined;
    const row = Math.floor(index / groups) + moves[key][0];
    const column = index % groups + moves[key][1];
    return row < 0 || column < 0 || row >= groups || column >= groups ? index : row * groups + column;
  };
}

function startTraffic() {
  const { traffic } = view.picture.data;
  if (!traffic || !traffic.groups) return false;
  get('traffic').hidden = false;
  const { groups } = traffic;
  const most = Math.max(1, d3.max(traffic.bytes.flat()));
  const total = d3.sum(traffic.bytes.flat());
  const every = groups <= 32 ? 1 : 8;
  const table = get('matrix');
  const body = make('tbody');
  for (let from = 0; from < groups; from++) {
    const name = make('span', {}, from % every ? '' : groupName(from, traffic));
    body.append(make('tr', {}, make('th', { scope: 'row' }, name), ...d3.range(groups).map(to => matrixCell(from, to, traffic))));
  }
  table.className = groups <= NUMBERS_MOST ? 'numbers' : groups <= 32 ? 'medium' : 'dense';
  table.classList.toggle('ranges', groups < view.picture.ranks);
  table.append(matrixHead(traffic, every), body);
  get('traffic-about').textContent = `${sizeText(total)} in all; a row gives, a column is given to` +
    (groups < view.picture.ranks ? `; a row or column stands for ${Math.ceil(view.picture.ranks / groups)} ranks.` : '.');
  const cells = [...body.querySelectorAll('td')];
  rove(body, cells, { next: matrixKeys(groups), readout: get('traffic-readout'),
    describe: index => cellText(Math.floor(index / groups), index % groups, traffic) });
  colourMatrix(cells, traffic, most);
  changed.on('theme.traffic', () => colourMatrix(cells, traffic, most));
  return true;
}
