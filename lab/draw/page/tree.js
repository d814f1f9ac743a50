/* SPDX-License-Identifier: BSD-3-Clause */
/* Draws the tree along which the data flow. A small tree grows downwards on the page, a large one
 * from left to right. */
'use strict';

const LEAVES_ABREAST = 32;
/* the distance in points of the bend in an edge from the child: more than the radius of a rank,
 * less than the distance of two levels */
const BEND = 26;

function growTree(edges) {
  const parents = new Map(edges.map(([parent, child]) => [child, parent]));
  const ranks = [...new Set(edges.flat())];
  try {
    return d3.stratify().id(rank => String(rank)).parentId(rank => (parents.has(rank) ? String(parents.get(rank)) : ''))(ranks);
  } catch (error) {
    throw new PictureError(`tree.edges are no tree (${error.message})`);
  }
}

function layTree(root) {
  const down = root.leaves().length <= LEAVES_ABREAST;
  d3.tree().nodeSize(down ? [34, 58] : [24, 84])(root);
  const across = d3.extent(root.descendants(), node => node.x);
  root.along = down ? 1 : 0; /* the index of the coordinate in which the levels differ: 1 is y */
  root.each(node => {
    node.root = root;
    const [side, depth] = [node.x - across[0] + 20, node.y + 20];
    node.at = down ? [side, depth] : [depth, side];
  });
  const extent = [across[1] - across[0] + 40, root.height * (down ? 58 : 84) + 40];
  return down ? extent : extent.reverse();
}

function treeText(node) {
  const children = (node.children || []).map(child => child.id);
  return `Rank ${node.id}: ` + (node.parent ? `under rank ${node.parent.id}` : 'the root') + (children.length ?
    `, above ${children.length === 1 ? 'rank' : 'ranks'} ${children.join(', ')}` : ', a leaf');
}

/* Returns the argument `next` of rove for a tree: the key up goes to the parent, down to the first
 * child, left and right to the siblings. */
function treeKeys(nodes) {
  const number = new Map(nodes.map((node, index) => [node, index]));
  return (index, key) => {
    const node = nodes[index];
    const sisters = node.parent ? node.parent.children : [node];
    const beside = sisters[sisters.indexOf(node) + (key === 'ArrowLeft' ? -1 : 1)];
    const next = { ArrowUp: node.parent, ArrowDown: (node.children || [])[0], ArrowLeft: beside, ArrowRight: beside };
    return key in next ? number.get(next[key] || node) : undefined;
  };
}

function drawTreeNode(node) {
  return draw('g', { class: 'node', role: 'img', 'aria-label': treeText(node), 'data-rank': node.id,
    transform: `translate(${node.at.join(' ')})` },
  draw('circle', { r: 12 }), draw('text', { 'font-size': node.id.length > 3 ? 8 : 11 }, node.id));
}

/* Draws an edge straight from the parent to a point before the child, and from there to the child,
 * perpendicular to the levels. So no edge of a wide fan crosses another node. */
function drawTreeEdge({ source, target }) {
  const before = target.at.map((at, side) => at - (source.root.along === side ? BEND : 0));
  return draw('path', { d: `M${source.at.join(' ')}L${before.join(' ')}L${target.at.join(' ')}` });
}

function startTree() {
  const { tree } = view.picture.data;
  if (!tree || !tree.edges.length) return false;
  const root = growTree(tree.edges);
  const [width, height] = layTree(root);
  const nodes = root.descendants();
  const elements = nodes.map(drawTreeNode);
  get('tree').hidden = false;
  const drawing = draw('g', {}, ...elements);
  get('tree-view').append(draw('svg', { width, height, role: 'group', 'aria-label': `Tree of ${nodes.length} ranks` },
    draw('g', { class: 'edges' }, ...root.links().map(drawTreeEdge)), drawing));
  get('tree-about').textContent = `${count(nodes.length, 'rank', 'ranks')}, rank ${root.id} at the root, ` +
    `${count(root.height, 'level', 'levels')} below it. Enter or a click chooses a rank.`;
  rove(get('tree-view'), elements, { next: treeKeys(nodes), readout: get('tree-readout'), describe: index => treeText(nodes[index]),
    choose: index => chooseRank(Number(nodes[index].id)) });
  const mark = () => elements.forEach((element, i) => element.classList.toggle('chosen', Number(nodes[i].id) === view.rank));
  changed.on('rank.tree', mark);
  mark();
  return true;
}
