// The search of the documentation, in place of the worker of mkdocs: it finds Chinese too.
// Chinese has no blanks between words, so each pair of neighbouring characters is a word, in pages and in queries.
importScripts('lunr.js');

const HAN = /[\u4e00-\u9fff]+/g;
const EDGES = /^[^\w\u4e00-\u9fff]+|[^\w\u4e00-\u9fff]+$/g;
const pages = {};
let index;

function pairs(characters) {
  return characters.length < 2 ? [characters] : [...characters].slice(1).map((next, at) => characters[at] + next);
}

function words(text) {
  return text.replace(HAN, characters => ` ${pairs(characters).join(' ')} `);
}

// All pairs of a Chinese word must be on a page: +备用 +用服 +服务 +务器.
function queryOf(text) {
  return text.replace(HAN, characters => ` ${pairs(characters).map(pair => `+${pair}`).join(' ')} `);
}

// As lunr.trimmer, which takes Chinese for punctuation.
function trimmer(token) {
  return token.update(text => text.replace(EDGES, ''));
}

function search(query) {
  return index.search(queryOf(query)).map(({ ref }) => ({ ...pages[ref], summary: pages[ref].text.substring(0, 200) }));
}

async function start() {
  const data = await (await fetch('search_index.json')).json();
  lunr.Pipeline.registerFunction(trimmer, 'trimmerOfBothLanguages');
  index = lunr(function () {
    this.pipeline.before(lunr.trimmer, trimmer);
    this.pipeline.remove(lunr.trimmer);
    this.field('title', { boost: 10 });
    this.field('text');
    this.ref('location');
    for (const page of data.docs) {
      pages[page.location] = page;
      this.add({ location: page.location, title: words(page.title), text: words(page.text) });
    }
  });
  postMessage({ config: data.config });
  postMessage({ allowSearch: true });
}

onmessage = ({ data }) => {
  if (data.init) {
    start();
  } else if (data.query && index) {
    postMessage({ results: search(data.query) });
  }
};
