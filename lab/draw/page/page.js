/* SPDX-License-Identifier: BSD-3-Clause */
/* Starts the page: reads the data and shows the sections for which there are data. If the data are
 * wrong, shows the error instead. */
'use strict';

const PARTS = [
  ['timeline', 'Over time', startTimeline], ['calls', 'Calls', startCalls], ['rank-detail', 'One rank', startDetail], ['traffic', 'Traffic', startTraffic],
  ['network', 'Network', startNetwork], ['tree', 'Tree', startTree],
];

function fillHead({ data }) {
  const name = data.problem || (data.source === 'run' ? 'A real run' : 'Tutti picture');
  get('problem').textContent = name;
  document.title = `${name} – Tutti`;
  const how = data.source === 'run' ? 'as it was run' : `simulated${data.model ? `, model ${data.model}` : ''}`;
  get('summary').textContent = [data.algorithm && `Algorithm ${data.algorithm}`, how, count(data.ranks, 'rank', 'ranks'),
    timeText(data.time_ps, data.source === 'run' ? 4 : 0)].filter(Boolean).join(' · ');
}

function nameTheme() {
  const dark = document.documentElement.dataset.theme === 'dark';
  get('theme').setAttribute('aria-pressed', String(dark));
}

function setTheme(name) {
  document.documentElement.dataset.theme = name;
  theme = null; /* the colours will be read again from the style */
  nameTheme();
  changed.call('theme');
}

function listenToTheme() {
  nameTheme();
  get('theme').addEventListener('click', () => setTheme(isDark() ? 'light' : 'dark'));
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', event => setTheme(event.matches ? 'dark' : 'light'));
}

function fail(error) {
  PARTS.forEach(([id]) => get(id)?.remove());
  get('contents').replaceChildren();
  get('problem').textContent = 'Tutti picture';
  get('summary').textContent = '';
  show('error', error instanceof PictureError ? `This page's data cannot be shown: ${error.message}.` :
    `This page failed to draw its data: ${error.message}.`);
}

function start() {
  view.picture = readPicture(get('data').textContent);
  fillHead(view.picture);
  let shown = 0;
  for (const [id, name, begin] of PARTS) {
    if (begin()) {
      get('contents').append(make('a', { href: '#' + id }, name));
      shown++;
    } else get(id).remove();
  }
  if (!shown) show('error', 'This picture has nothing in it: no steps, no messages, no traffic, no network, no tree.');
  addEventListener('resize', eachFrame(() => changed.call('size')));
}

listenToTheme();
try {
  start();
} catch (error) {
  fail(error);
}
