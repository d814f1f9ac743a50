/* SPDX-License-Identifier: BSD-3-Clause */
/* What the parts of the page share: what is chosen, elements, colours, the tip at the mouse, and moving by
 * keys among many things that are one stop of the Tab key together. */
'use strict';

const get = id => document.getElementById(id);
const reducedMotion = matchMedia('(prefers-reduced-motion: reduce)').matches;

/* What is looked at. Whoever changes it calls `changed`, and the parts follow. */
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

/* Once a frame, however often it is asked for. */
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

/* A colour of the palette; read once for each theme. */
function ink(name) {
  theme ||= { style: getComputedStyle(document.documentElement), known: new Map() };
  if (!theme.known.has(name)) theme.known.set(name, theme.style.getPropertyValue('--' + name).trim());
  return theme.known.get(name);
}

function isDark() {
  return ink('theme') === 'dark';
}

const LOADS = 8; /* classes of the scale of amounts, with a colour each */

/* The colour of a part of the greatest amount: between those of the palette, which the pictures in SVG use as they are. */
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

/* Black or white, whichever is read better on the colour. */
function inkOn(colour) {
  return luminance(colour) > 0.179 ? '#000000' : '#ffffff';
}

/* A bar of the scale from nothing to `most`, with words for its ends and its middle. */
function fillScale(element, most, label) {
  const stops = d3.range(0, 1.01, 0.1).map(heat).join(',');
  const bar = make('span', { class: 'bar', 'aria-hidden': 'true' });
  bar.style.background = `linear-gradient(90deg, ${stops})`;
  element.replaceChildren(make('span', {}, label), make('span', {}, '0'), bar,
    make('span', {}, sizeText(most)));
}

/* ---- The tip ---- */

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

/* ---- Many things, one stop ---- */

/* The items can be reached one from another by keys, the whole by Tab. next(index, key) is the index to go to,
 * or undefined where the key means nothing; tell(index) the words for an item; choose(index) is optional. The
 * container is HTML: of SVG, whatever listens to the focus would be a stop itself. */
function rove(container, items, { next, tell, readout, choose }) {
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
    readout.textContent = tell(index);
    const box = event.target.getBoundingClientRect();
    if (event.target.matches(':focus-visible')) showTip(tell(index), box.right, box.top);
  });
  container.addEventListener('focusout', hideTip);
  container.addEventListener('mousemove', event => {
    const index = over(event);
    if (index === undefined) return hideTip();
    showTip(tell(index), event.clientX, event.clientY);
  });
  container.addEventListener('mouseleave', hideTip);
  container.addEventListener('click', event => {
    const index = over(event);
    if (index === undefined) return;
    items[index].focus({ preventScroll: true });
    if (choose) choose(index);
  });
}

/* Left and right, up and down, in a list. */
function listKeys(index, key) {
  if (key === 'ArrowRight' || key === 'ArrowDown') return index + 1;
  return key === 'ArrowLeft' || key === 'ArrowUp' ? index - 1 : undefined;
}
