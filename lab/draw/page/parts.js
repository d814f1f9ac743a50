/* SPDX-License-Identifier: BSD-3-Clause */
/* Functions that the parts of the page share: the selection, elements, colours, the tooltip, and
 * keyboard navigation within a group of items that is a single Tab stop. */
'use strict';

const get = id => document.getElementById(id);
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;

/* The selection: the picture, the selected rank, and the time at the cursor. Code that changes it
 * calls `changed`, and the parts of the page then update what they show. */
const view = { picture: null, rank: 0, cursor: 0 };
const changed = d3.dispatch('rank', 'cursor', 'theme', 'size');

function chooseRank(rank) {
  view.rank = Math.min(Math.max(rank, 0), view.picture.ranks - 1);
  changed.call('rank');
}

function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function draw(tag, attributes, ...children) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

function show(id, text) {
  get(id).hidden = !text;
  if (text) get(id).textContent = text;
}

/* Returns a function that runs `work` at most once per frame, however often it is called. */
function eachFrame(work) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      work();
    });
  };
}

/* ---- Colours ---- */

let theme = null;

/* Returns a colour of the palette, which is read once for each theme. */
function ink(name) {
  theme ||= { style: getComputedStyle(document.documentElement), known: new Map() };
  if (!theme.known.has(name)) theme.known.set(name, theme.style.getPropertyValue('--' + name).trim());
  return theme.known.get(name);
}

function isDark() {
  return ink('theme') === 'dark';
}

/* the number of colours of the scale that shows amounts, such as the bytes of a link */
const LOADS = 8;

/* Returns the colour for an amount, given as a fraction of the largest amount. The colour is
 * interpolated between the colours of the palette. (The SVG pictures use the colours of the palette
 * only.) */
function heat(part) {
  theme?.heat || ink('load-0');
  theme.heat ||= d3.piecewise(d3.interpolateRgb, d3.range(LOADS + 1).map(load => ink('load-' + load)));
  return theme.heat(part);
}

function luminance(colour) {
  const { r, g, b } = d3.rgb(colour);
  const [red, green, blue] = [r, g, b].map(v => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

/* Returns black or white, whichever has the better contrast to the colour. */
function inkOn(colour) {
  return luminance(colour) > 0.179 ? '#000000' : '#ffffff';
}

/* Draws a bar with the scale of colours for amounts from 0 to `most`, with labels for its ends and
 * its middle. */
function fillScale(element, most, label) {
  const stops = d3.range(0, 1.01, 0.1).map(heat).join(',');
  const bar = make('span', { class: 'bar', 'aria-hidden': 'true' });
  bar.style.background = `linear-gradient(90deg, ${stops})`;
  element.replaceChildren(make('span', {}, label), make('span', {}, '0'), bar,
    make('span', {}, sizeText(most)));
}

/* ---- The tooltip ---- */

function showTip(text, x, y) {
  const tip = get('tip');
  tip.textContent = text;
  tip.hidden = false;
  const { width, height } = tip.getBoundingClientRect();
  const room = document.documentElement.clientWidth;
  tip.style.left = Math.max(4, Math.min(x + 14, room - width - 4)) + 'px';
  tip.style.top = (y + 18 + height > innerHeight ? y - height - 10 : y + 18) + 'px';
}

function hideTip() {
  get('tip').hidden = true;
}

/* ---- Groups of items that are one Tab stop ---- */

/* Makes the items reachable from each other by keys, and the whole group by Tab. next(index, key)
 * returns the index to go to, or undefined if the key has no meaning. describe(index) returns the
 * text for an item. choose(index), which is optional, is called when the user picks an item. The
 * container is HTML, because in SVG an element that listens to the focus would itself be a Tab
 * stop. */
function rove(container, items, { next, describe, readout, choose }) {
  const number = new Map(items.map((item, index) => [item, index]));
  let current = 0;
  const goTo = index => {
    items[current].setAttribute('tabindex', '-1');
    current = index;
    items[current].setAttribute('tabindex', '0');
  };
  const over = event => number.get(event.target.closest('[data-item]'));
  items.forEach(item => {
    item.setAttribute('tabindex', '-1');
    item.setAttribute('data-item', '');
  });
  if (items.length) goTo(0);
  container.addEventListener('keydown', event => {
    const index = event.key === 'Home' ? 0 : event.key === 'End' ? items.length - 1 : next(current, event.key);
    if (choose && (event.key === 'Enter' || event.key === ' ')) choose(current);
    else if (index === undefined || index < 0 || index >= items.length) return;
    else {
      goTo(index);
      items[index].focus();
    }
    event.preventDefault();
  });
  container.addEventListener('focusin', event => {
    const index = over(event);
    if (index === undefined) return;
    goTo(index);
    readout.textContent = describe(index);
    const box = event.target.getBoundingClientRect();
    if (event.target.matches(':focus-visible')) showTip(describe(index), box.right, box.top);
  });
  container.addEventListener('focusout', hideTip);
  container.addEventListener('mousemove', event => {
    const index = over(event);
    if (index === undefined) return hideTip();
    showTip(describe(index), event.clientX, event.clientY);
  });
  container.addEventListener('mouseleave', hideTip);
  container.addEventListener('click', event => {
    const index = over(event);
    if (index === undefined) return;
    items[index].focus({ preventScroll: true });
    if (choose) choose(index);
  });
}

/* The argument `next` of rove for a list: the keys right and down go forwards, left and up go
 * backwards. */
function listKeys(index, key) {
  if (key === 'ArrowRight' || key === 'ArrowDown') return index + 1;
  return key === 'ArrowLeft' || key === 'ArrowUp' ? index - 1 : undefined;
}
