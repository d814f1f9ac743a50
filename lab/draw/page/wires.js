/* SPDX-License-Identifier: BSD-3-Clause */
/* Computes the places of the vertices and links of a network.
 *
 * The slices of a grid with three and more dimensions are side by side. The two directions of a
 * link are side by side, each on the right-hand side as seen in its direction. A link that closes a
 * row or column of a torus leaves it at one end and comes back at the other. A link to another
 * slice is a stub that leaves its vertex at an angle, forwards or backwards. */
'use strict';

const PAGE_WIDTH = 1080;
const STUB = 0.44; /* the length of a stub, in units of the distance of neighbours */
const TITLE_LETTER = 7; /* the width of a letter of a title, in points */

class Wiring {
  constructor(network) {
    this.network = network;
    this.isGrid = network.kind === 'torus' || network.kind === 'mesh';
    const xs = d3.extent(network.vertices, vertex => vertex[0]);
    const ys = d3.extent(network.vertices, vertex => vertex[1]);
    this.slices = 1 + d3.max(network.vertices, vertex => vertex[2]);
    this.left = xs[0];
    this.top = ys[0];
    this.wide = xs[1] - xs[0];
    this.high = ys[1] - ys[0];
    this.arrange();
  }

  /* Sets the distance of neighbours in points, and the number of slices side by side. */
  arrange() {
    const [wide, high, most] = this.slices > 1 ? [286, 286, 44] : [PAGE_WIDTH - 100, 620, 84];
    this.unit = Math.min(Math.max(Math.min(wide / (this.wide || 1), high / (this.high || 1)), 9), most);
    /* In a tree, the levels are at least 52 points apart, so that the links between levels are
     * steep enough to be told apart. */
    this.unitDown = /tree/.test(this.network.kind) ? Math.max(this.unit, 52) : this.unit;
    this.digits = String(this.network.nodes - 1).length;
    this.radius = Math.max(1.5, Math.min(this.unit * 0.23, 13));
    this.pad = this.isGrid ? this.unit * 0.75 + 4 : this.radius + 8;
    this.head = this.slices > 1 ? 22 : 0;
    const title = this.slices > 1 ? TITLE_LETTER * this.sliceName(this.slices - 1).length : 0;
    this.panelWidth = Math.max(this.wide * this.unit + 2 * this.pad, title + 12);
    this.titleLeft = Math.min(this.pad, this.panelWidth - title);
    this.panelHeight = this.high * this.unitDown + 2 * this.pad + this.head;
    this.columns = Math.max(1, Math.min(this.slices, Math.floor(PAGE_WIDTH / this.panelWidth)));
    this.width = this.columns * this.panelWidth;
    this.height = Math.ceil(this.slices / this.columns) * this.panelHeight;
  }

  panel(slice) {
    return [slice % this.columns * this.panelWidth, Math.floor(slice / this.columns) * this.panelHeight];
  }

  place(number) {
    const [x, y, slice] = this.network.vertices[number];
    const [left, top] = this.panel(slice);
    return [left + this.pad + (x - this.left) * this.unit, top + this.head + this.pad + (y - this.top) * this.unitDown];
  }

  /* Returns the coordinates of a slice in the dimensions beyond the second. */
  slicePlace(slice) {
    return this.network.extent.slice(2).map(extent => {
      const place = slice % extent;
      slice = Math.floor(slice / extent);
      return place;
    });
  }

  /* Returns for example "z = 1" or "z = 1, u = 0"; with more dimensions "z u v = 1 0 0". */
  sliceName(slice) {
    const places = this.slicePlace(slice);
    const names = places.map((_, d) => 'zuvw'[d] || 'd' + (d + 2));
    if (places.length > 2) return `${names.join(' ')} = ${places.join(' ')}`;
    return places.map((place, d) => `${names[d]} = ${place}`).join(', ') || `slice ${slice}`;
  }

  /* Returns the direction, as [x, y], in which a link to another slice leaves its vertex. */
  aslant(from, to) {
    const a = this.slicePlace(from);
    const b = this.slicePlace(to);
    const dimension = Math.max(0, a.findIndex((place, d) => place !== b[d]));
    const step = b[dimension] - a[dimension];
    const forwards = Math.abs(step) > 1 ? step < 0 : step > 0;
    const angle = [45, 20, 70, 32, 58][dimension] / 180 * Math.PI;
    return forwards ? [Math.cos(angle), -Math.sin(angle)] : [-Math.cos(angle), Math.sin(angle)];
  }

  /* Returns 0 if a link closes a row of a torus, 1 if it closes a column, otherwise -1. */
  closes(from, to) {
    if (this.network.kind !== 'torus' || this.network.extent.length < 2) return -1;
    const a = this.network.vertices[from];
    const b = this.network.vertices[to];
    return [0, 1].findIndex(d => a[1 - d] === b[1 - d] && Math.abs(a[d] - b[d]) > 1 &&
      Math.abs(a[d] - b[d]) === this.network.extent[d] - 1);
  }

  line([x0, y0], [dx, dy], begin, end) {
    const side = Math.min(this.unit * 0.07, 3.2);
    const [sx, sy] = [-dy * side, dx * side];
    const at = far => `${(x0 + dx * far + sx).toFixed(1)} ${(y0 + dy * far + sy).toFixed(1)}`;
    return `M${at(begin)}L${at(end)}`;
  }

  /* Returns the path of a link, in SVG syntax. */
  wire(from, to) {
    const a = this.network.vertices[from];
    const b = this.network.vertices[to];
    const stub = this.unit * STUB + this.radius * 0.6;
    if (a[2] !== b[2]) return this.line(this.place(from), this.aslant(a[2], b[2]), this.radius, stub + this.radius * 0.4);
    const closed = this.closes(from, to);
    if (closed >= 0) {
      const out = [0, 0];
      out[closed] = a[closed] > b[closed] ? 1 : -1;
      return this.line(this.place(from), out, this.radius, stub) + this.line(this.place(to), out, -stub, -this.radius);
    }
    const [x0, y0] = this.place(from);
    const [x1, y1] = this.place(to);
    const far = Math.hypot(x1 - x0, y1 - y0) || 1;
    return this.line([x0, y0], [(x1 - x0) / far, (y1 - y0) / far], this.radius, far - this.radius);
  }
}
