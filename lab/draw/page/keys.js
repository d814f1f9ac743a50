/* SPDX-License-Identifier: BSD-3-Clause */
/* Moves and scales the diagram by mouse, keys and buttons. */
'use strict';

function zoomBy(factor) {
  const x = timeScale()(view.cursor);
  const inView = x >= GUTTER && x <= diagram.width - MARGIN;
  zoom.scaleBy(d3.select('#timeline-frame'), factor, [inView ? x : (GUTTER + diagram.width - MARGIN) / 2, 0]);
}

function zoomAll() {
  zoom.transform(d3.select('#timeline-frame'), d3.zoomIdentity);
}

function moveBy(part) {
  zoom.translateBy(d3.select('#timeline-frame'), -part * (diagram.width - GUTTER) / diagram.transform.k, 0);
}

function moveCursor(part) {
  const [from, to] = timeScale().domain();
  const far = Math.max(1, Math.round(Math.abs(part) * (to - from)));
  setCursor(view.cursor + Math.sign(part) * far, true);
}

function markRank(rank) {
  diagram.marked = Math.min(Math.max(rank, 0), view.picture.ranks - 1);
  const scroller = get('timeline-view');
  const top = diagram.marked * diagram.rowHeight;
  const room = diagram.height - AXIS - diagram.rowHeight;
  scroller.scrollTop = Math.min(Math.max(scroller.scrollTop, top - room), top);
  get('cursor-readout').setAttribute('aria-live', 'polite');
  get('cursor-readout').textContent =
    `Rank ${diagram.marked} ${activity(diagram.marked, view.cursor).text} at ${timeText(view.cursor)}. Enter chooses it.`;
  drawDiagram();
}

function setRowHeight(height) {
  const before = diagram.rowHeight;
  diagram.rowHeight = Math.min(Math.max(height, ROW_LEAST), view.picture.calls ? 3 * ROW_MOST : ROW_MOST);
  const { scrollTop } = get('timeline-view');
  layOut();
  get('timeline-view').scrollTop = scrollTop * diagram.rowHeight / before;
}

const diagramKeys = {
  '+': () => zoomBy(1.5), '=': () => zoomBy(1.5), '-': () => zoomBy(1 / 1.5), '_': () => zoomBy(1 / 1.5), 0: zoomAll,
  ArrowLeft: event => (event.shiftKey ? moveCursor(-0.01) : moveBy(-0.1)),
  ArrowRight: event => (event.shiftKey ? moveCursor(0.01) : moveBy(0.1)),
  ArrowUp: () => markRank(diagram.marked - 1),
  ArrowDown: () => markRank(diagram.marked + 1),
  PageUp: () => markRank(diagram.marked - 16),
  PageDown: () => markRank(diagram.marked + 16),
  Enter: () => chooseRank(diagram.marked),
  ' ': () => chooseRank(diagram.marked),
  Home: () => setCursor(0, true),
  End: () => setCursor(view.picture.end, true),
  n: () => stepCursor(1, diagram.marked),
  p: () => stepCursor(-1, diagram.marked),
  '[': () => setRowHeight(diagram.rowHeight / 1.4),
  ']': () => setRowHeight(diagram.rowHeight * 1.4),
};

/* Returns the height of a row with which all ranks can be seen without scrolling, within a least
 * and a largest height. */
function fittingRowHeight() {
  const { calls } = view.picture;
  if (calls) return Math.min(Math.max((VIEW_HEIGHT - AXIS) / view.picture.ranks, 16), calls.most * 19 + 26);
  return Math.min(Math.max((VIEW_HEIGHT - AXIS) / view.picture.ranks, 6), 30);
}

function layOut() {
  const scroller = get('timeline-view');
  const canvas = get('timeline-canvas');
  const whole = AXIS + Math.ceil(diagram.rowHeight * view.picture.ranks) + 2;
  const ratio = window.devicePixelRatio || 1;
  get('timeline-spacer').style.height = whole + 'px';
  diagram.height = Math.min(whole, VIEW_HEIGHT);
  scroller.style.height = diagram.height + scroller.offsetHeight - scroller.clientHeight + 'px';
  get('timeline-frame').style.height = diagram.height + 'px';
  diagram.width = scroller.clientWidth;
  canvas.width = Math.round(diagram.width * ratio);
  canvas.height = Math.round(diagram.height * ratio);
  canvas.style.width = diagram.width + 'px';
  canvas.style.height = diagram.height + 'px';
  const box = [[GUTTER, 0], [diagram.width - MARGIN, diagram.height]];
  zoom.extent(box).translateExtent(box);
  zoom.translateBy(d3.select('#timeline-frame'), 0, 0);
  drawDiagram();
}

function zoomed(event) {
  diagram.transform = event.transform;
  if (event.sourceEvent && event.sourceEvent.movementY && event.sourceEvent.type === 'mousemove') {
    get('timeline-view').scrollTop -= event.sourceEvent.movementY;
  }
  drawDiagram();
}

function listenToMouse() {
  const frame = get('timeline-frame');
  const scroller = get('timeline-view');
  zoom = d3.zoom().scaleExtent([1, Math.max(1, view.picture.end / 20)]).duration(reducedMotion ? 0 : 200)
    .filter(event => !event.button && !event.shiftKey).on('zoom', zoomed);
  d3.select(frame).call(zoom).on('click', event => {
    const rank = rankAt(d3.pointer(event, frame)[1]);
    scroller.focus({ preventScroll: true });
    diagram.held = true;
    if (rank < 0) return;
    diagram.marked = rank;
    chooseRank(rank);
  });
  frame.addEventListener('mousemove', event => {
    const [x, y] = d3.pointer(event, frame);
    if (x >= GUTTER && !diagram.held) setCursor(timeScale().invert(x), false);
    const rank = rankAt(y);
    if (rank < 0 || event.buttons || x < GUTTER) return hideTip();
    showTip(`Rank ${rank} ${activity(rank, Math.round(timeScale().invert(x))).text}`, event.clientX, event.clientY);
  });
  frame.addEventListener('mouseleave', () => {
    diagram.held = false;
    hideTip();
  });
  frame.addEventListener('wheel', event => {
    if (event.shiftKey) scroller.scrollTop += event.deltaY || event.deltaX;
    if (event.shiftKey) event.preventDefault();
  }, { passive: false });
  scroller.addEventListener('scroll', () => {
    drawDiagram();
    cursorChanged();
  });
}

function listenToKeys() {
  get('timeline-view').addEventListener('keydown', event => {
    const act = diagramKeys[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    if (!act || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    act(event);
  });
  get('cursor-time').addEventListener('change', event => {
    const time = timeRead(event.target.value, timeUnit(view.picture.end)[0]);
    event.target.setAttribute('aria-invalid', String(time === null));
    if (time !== null) setCursor(time, true);
  });
  const buttons = {
    'zoom-in': '+', 'zoom-out': '-', 'zoom-all': '0', 'rows-taller': ']', 'rows-flatter': '[',
  };
  for (const [id, key] of Object.entries(buttons)) get(id).addEventListener('click', () => diagramKeys[key]({}));
  get('show-messages').addEventListener('change', drawDiagram);
  get('show-calls').addEventListener('change', drawDiagram);
}

function fillLegend() {
  const present = new Set(view.picture.steps.map(step => step.kind));
  const entries = Object.keys(KINDS).filter(kind => present.has(kind)).map(kind =>
    make('li', { 'data-kind': kind }, make('span', { class: 'swatch', style: `background: var(--${kind})` }), KINDS[kind].name));
  const { list } = view.picture.messages;
  const line = name => make('span', { class: 'stroke ' + name });
  if (list.some(message => message.kind !== 'signal')) {
    entries.push(make('li', {}, line('message'), 'message, from when it is posted until it has arrived'));
  }
  if (list.some(message => message.kind === 'signal')) entries.push(make('li', {}, line('message-signal'), 'signal'));
  if (list.length) entries.push(make('li', {}, line('message-chosen'), 'to and from the chosen rank'));
  entries.push(make('li', { id: 'legend-messages-note' }));
  get('legend').replaceChildren(...callLegend(), ...entries);
}

function startTimeline() {
  const { picture } = view;
  if (!picture.steps.length && !picture.messages.list.length && !picture.calls) return false;
  get('timeline').hidden = false;
  get('show-calls-label').hidden = !picture.calls;
  /* in a real run, messages are shown only on request */
  get('show-messages').checked = !picture.calls;
  const left = [picture.stepsLeft && count(picture.stepsLeft, 'step', 'steps'),
    picture.messagesLeft && count(picture.messagesLeft, 'message', 'messages')].filter(Boolean);
  show('timeline-left', left.length && `Left out, as they are too many to keep: ${left.join(' and ')}.`);
  diagram.rowHeight = fittingRowHeight();
  fillLegend();
  listenToMouse();
  listenToKeys();
  layOut();
  setCursor(0, false);
  changed.on('rank.timeline', () => {
    markRank(view.rank);
    cursorChanged();
  });
  changed.on('theme.timeline', drawDiagram);
  changed.on('size.timeline', layOut);
  return true;
}
