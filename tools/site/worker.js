// Runs Python for the page of An hour, apart from the page, so that it never freezes.
import { loadPyodide } from "./pyodide.mjs";

let answer;

/** Tell the page how many bytes have come. */
function counted(fetch, sizes) {
  const total = Object.values(sizes).reduce((sum, size) => sum + size, 0);
  let loaded = 0;
  return async (...request) => {
    const response = await fetch(...request);
    if (!response.ok || !response.body) return response;
    const count = new TransformStream({transform(chunk, out) {
      loaded += chunk.byteLength;
      postMessage({loaded, total});
      out.enqueue(chunk);
    }});
    return new Response(response.body.pipeThrough(count), response);
  };
}

async function start(kept) {
  const sizes = await (await fetch("sizes.json")).json();
  self.fetch = counted(self.fetch.bind(self), sizes);
  const archive = fetch("agent.zip").then(response => response.arrayBuffer());
  const python = await loadPyodide({indexURL: new URL("./", import.meta.url).href});
  postMessage({step: "Unpacking"});
  python.unpackArchive(await archive, "zip", {extractDir: "/lib/python3.14/site-packages"});
  postMessage({step: "Starting the agent"});
  python.runPython("import left_out\nleft_out.install()");
  answer = python.runPython(
    "from course import in_page\nin_page.answering('/home/pyodide/workbook')");
  answer(JSON.stringify({begin: kept}));
}

self.onmessage = async ({data: {number, kept, message}}) => {
  try {
    const reply = kept ? await start(kept) : JSON.parse(answer(JSON.stringify(message)));
    postMessage({number, reply: reply ?? {}});
  } catch (error) {
    postMessage({number, error: String(error.message ?? error).trim().split("\n").at(-1)});
  }
};
