// Runs the search of a built site: node search.js FOLDER QUERY... prints the places that each query finds.
const { readFileSync } = require('fs');
const { createContext, runInContext } = require('vm');
const [folder, ...queries] = process.argv.slice(2);
const read = name => readFileSync(`${folder}/${name}`, 'utf8');
const worker = createContext({
  console,
  importScripts: name => runInContext(read(name), worker),
  fetch: async name => ({ json: () => JSON.parse(read(name)) }),
  postMessage: message => {
    if (message.allowSearch) {
      queries.forEach(query => worker.onmessage({ data: { query } }));
    } else if (message.results) {
      console.log(JSON.stringify(message.results.map(page => page.location)));
    }
  },
});
worker.importScripts('worker.js');
worker.onmessage({ data: { init: true } });
