/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the network: vertices, links coloured by their load, missing nodes, chosen routes. */
'use strict';

/* the most links that are drawn: of a larger network, the links with the largest loads */
const LINKS_MOST = 12000;
const BUSIEST = 10;

function vertexName(network, number) {
  const rank = network.vertices[number][3];
  const kind = rank >= 0 ? `rank ${rank}` : rank === -1 ? `missing node ${number}` : `switch ${number}`;
  if ((network.kind !== 'torus' && network.kind !== 'mesh') || network.extent.length < 2) return kind;
  let rest = number;
  const place = network.extent.map(extent => {
    const at = rest % extent;
    rest = Math.floor(rest / extent);
    return at;
  });
  return `${kind} at (${place.join(', ')})`;
}

function ofMean(network, bytes) {
  const times = Number((bytes / network.mean_link_bytes).toPrecision(3));
  return times === 1 ? 'as much as the mean' : times + ' times the mean';
}

function linkText(network, [from, to, bytes]) {
  const ends = `Link from ${vertexName(network, from)} to ${vertexName(network, to)}`;
  return bytes ? `${ends}: ${sizeText(bytes)}, ${ofMean(network, bytes)}` : `${ends}: nothing`;
}

/* Returns the links, largest load first. */
function linksByLoad(network) {
  return network.links.slice().sort((a, b) => b[2] - a[2] || a[0] - b[0] || a[1] - b[1]);
}

function drawLink(wiring, link) {
  const path = wiring.wire(link[0], link[1]);
  return draw('g', { class: 'link', role: 'img', 'aria-label': linkText(wiring.network, link) },
    draw('path', { class: 'reach', d: path }), draw('path', { class: 'load', d: path }));
}

function colourLinks(elements, links, network, wiring) {
  const most = network.max_link_bytes || 1;
  const thick = Math.min(3.4, Math.max(wiring.unit * 0.08, 0.6));
  elements.forEach((element, i) => {
    const part = links[i][2] / most;
    element.lastChild.setAttribute('stroke', links[i][2] ? heat(part) : ink('line'));
    element.lastChild.setAttribute('stroke-width', (links[i][2] ? 1 + part * thick : 0.8).toFixed(2));
  });
  fillScale(get('network-scale'), network.max_link_bytes, 'Load of a link:');
}

function drawVertex(wiring, number) {
  const [x, y] = wiring.place(number);
  const rank = wiring.network.vertices[number][3];
  const r = wiring.radius;
  const group = draw('g', { class: rank >= 0 ? 'node' : rank === -1 ? 'missing' : 'switch', transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})` },
    draw('title', {}, vertexName(wiring.network, number)));
  if (rank === -2) group.append(draw('rect', { x: -r, y: -r, width: 2 * r, height: 2 * r, rx: r / 4 }));
  else group.append(draw('circle', { r }));
  if (rank === -1) group.append(draw('path', { d: `M${-r / 2} ${-r / 2}L${r / 2} ${r / 2}M${r / 2} ${-r / 2}L${-r / 2} ${r / 2}` }));
  const size = Math.min(12, r * 2.9 / Math.max(wiring.digits, 2.4));
  if (rank >= 0 && size >= 7) group.append(draw('text', { 'font-size': size.toFixed(1) }, String(rank)));
  return group;
}

function sliceTitle(wiring, slice) {
  const [left, top] = wiring.panel(slice);
  return draw('text', { class: 'slice', x: left + wiring.titleLeft, y: top + 16 }, wiring.sliceName(slice));
}

/* ---- Routes ---- */

function routeText(network, route) {
  return `Rank ${network.vertices[route[0]][3]} to rank ${network.vertices[route[route.length - 1]][3]}, ` +
    count(route.length - 1, 'link', 'links');
}

function drawRoute(wiring, route) {
  const path = route.slice(1).map((to, i) => wiring.wire(route[i], to)).join('');
  const [begin, end] = [route[0], route[route.length - 1]].map(number => wiring.place(number));
  const ring = ([cx, cy], name) => draw('circle', { class: name, cx, cy, r: wiring.radius + 2.5 });
  return draw('g', {}, draw('path', { class: 'halo', d: path }), draw('path', { class: 'path', d: path }),
    ring(begin, 'path-begin'), ring(end, 'path-end'));
}

function startRoutes(network, wiring, layer) {
  const routes = (network.routes || []).filter(route => route.length > 1);
  if (!routes.length) return;
  const select = get('route-select');
  get('route-label').hidden = false;
  select.append(...routes.map((route, i) => make('option', { value: i }, routeText(network, route))),
    make('option', { value: 'all' }, `All ${routes.length}`), make('option', { value: 'none' }, 'None'));
  const choose = aloud => {
    const chosen = select.value === 'all' ? routes : select.value === 'none' ? [] : [routes[select.value]];
    layer.replaceChildren(...chosen.map(route => drawRoute(wiring, route)));
    if (!aloud) return;
    get('network-readout').textContent = chosen.map(route => route.map(number => vertexName(network, number)).join(' → ')).join('. ');
  };
  select.addEventListener('change', () => choose(true));
  choose(false);
}

/* ---- The section ---- */

function fillNetworkWords(network) {
  const missing = (network.missing || []).length;
  const parts = [`${network.text}:`, count(network.nodes, 'node,', 'nodes,'), missing && `${missing} of them missing,`,
    count(network.links.length, 'directed link.', 'directed links.'), `The fullest carries ${sizeText(network.max_link_bytes)},`,
    network.mean_link_bytes > 0 && `${ofMean(network, network.max_link_bytes)} of ${sizeText(Math.round(network.mean_link_bytes))}.`];
  get('network-about').textContent = parts.filter(Boolean).join(' ').replace(/,$/, '.');
  const left = network.links.length - LINKS_MOST;
  show('network-left', left > 0 && `The ${LINKS_MOST.toLocaleString('en')} fullest links are drawn; ${left.toLocaleString('en')} others are not.`);
}

function fillNetworkLegend(network) {
  const kinds = new Set(network.vertices.map(vertex => Math.min(vertex[3], 0)));
  const sign = (name, shape, text) => make('li', {}, draw('svg', { width: 16, height: 16, viewBox: '-8 -8 16 16', class: 'sign', 'aria-hidden': 'true' },
    draw('g', { class: name }, ...shape)), text);
  const cross = draw('path', { d: 'M-3 -3L3 3M3 -3L-3 3' });
  const entries = [sign('node', [draw('circle', { r: 6 })], 'rank')];
  if (kinds.has(-2)) entries.push(sign('switch', [draw('rect', { x: -6, y: -6, width: 12, height: 12, rx: 1.5 })], 'switch'));
  if (kinds.has(-1)) entries.push(sign('missing', [draw('circle', { r: 6 }), cross], 'missing node'));
  if ((network.routes || []).length) entries.push(make('li', {}, make('span', { class: 'stroke path' }), 'chosen route'));
  if (network.kind === 'torus' && network.extent.length > 1) entries.push(make('li', {}, 'Links that end beside a row or column come back on its other side.'));
  if (network.slices > 1) entries.push(make('li', {}, 'Slanting stubs lead to the next slice (up) and the one before (down).'));
  get('network-legend').replaceChildren(...entries);
}

function fillBusiest(network, links) {
  get('busiest').tBodies[0].replaceChildren(...links.slice(0, BUSIEST).map(([from, to, bytes]) => make('tr', {},
    make('td', {}, vertexName(network, from)), make('td', {}, vertexName(network, to)),
    make('td', { class: 'number' }, sizeText(bytes)), make('td', { class: 'number' }, bytes ? (bytes / network.mean_link_bytes).toFixed(2) + '×' : '–'))));
}

function startNetwork() {
  const { network } = view.picture.data;
  if (!network || !network.vertices.length) return false;
  get('network').hidden = false;
  const wiring = new Wiring(network);
  const links = linksByLoad(network).slice(0, LINKS_MOST);
  const elements = links.map(link => drawLink(wiring, link));
  const wires = draw('g', { class: 'links' }, ...elements.slice().reverse());
  const routes = draw('g', { class: 'routes' });
  const vertices = draw('g', { class: 'vertices' }, ...network.vertices.map((_, number) => drawVertex(wiring, number)));
  const titles = wiring.slices > 1 ? d3.range(wiring.slices).map(slice => sliceTitle(wiring, slice)) : [];
  const svg = draw('svg', { width: Math.ceil(wiring.width), height: Math.ceil(wiring.height), role: 'group', id: 'network-drawing',
    'aria-label': `Links of ${network.text}, from the fullest on` }, ...titles, wires, routes, vertices);
  get('network-view').append(svg);
  fillNetworkWords(network);
  fillNetworkLegend(network);
  fillBusiest(network, links);
  startRoutes(network, wiring, routes);
  rove(get('network-view'), elements, { next: listKeys, readout: get('network-readout'), describe: index => linkText(network, links[index]) });
  colourLinks(elements, links, network, wiring);
  changed.on('theme.network', () => colourLinks(elements, links, network, wiring));
  return true;
}
